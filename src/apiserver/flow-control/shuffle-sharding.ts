/**
 * Which queues a flow may use: a hand of cards dealt from the deck of queues by the flow's hash. Two flows rarely get the same hand, so
 * that a loud one fills few of a quiet one's queues. Dealt as upstream deals, so that equal flows get equal queues.
 */
import { createHash } from 'node:crypto';

/** The first 8 bytes of SHA-256 over `SCHEMA\0DISTINGUISHER`, little endian. */
export function flowHash(schema: string, distinguisher: string): bigint {
  return createHash('sha256').update(`${schema}\0${distinguisher}`).digest().readBigUInt64LE(0);
}

/** `handSize` different numbers below `deckSize`. */
export function dealHand(hash: bigint, deckSize: number, handSize: number): readonly number[] {
  // The hash in a mixed radix: digit i picks among the deckSize - i cards that are left by then.
  const digits: number[] = [];
  let left = hash;
  for (let dealt = 0; dealt < handSize; dealt++) {
    const radix = BigInt(deckSize - dealt);
    digits.push(Number(left % radix));
    left /= radix;
  }
  return digits.map((digit, place) => {
    let card = digit;
    for (let before = place - 1; before >= 0; before--) if (card >= digits[before]!) card++;
    return card;
  });
}
