/**
 * Chance and keys of a simulation. Every part has a sequence of its own, made from the seed and the part's name, so that what one
 * part draws changes nothing for the others.
 */
import { createPrivateKey } from 'node:crypto';
import { fnv1a } from '../base/fnv.ts';
import { type Random, seededRandom } from '../base/random.ts';
import type { KeySource } from '../pki/keys.ts';

/** The sequence of the part `name`. */
export function chanceOf(seed: number, name: string): Random {
  const hash = fnv1a(name, 0x811c9dc5 ^ seed);
  return seededRandom(hash ^ (hash >>> 15));
}

/** Uniform in [from, to). */
export function between(random: Random, from: number, to: number): number {
  return from + random.next() * (to - from);
}

export function oneOf<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random.next() * items.length)]!;
}

/** Ed25519, whose signatures hold no chance: certificates are the same for the same seed, byte for byte. */
export function seededKeys(random: Random): KeySource {
  const header = Buffer.from('302e020100300506032b657004220420', 'hex');
  return {
    generate: () => createPrivateKey({ key: Buffer.concat([header, random.bytes(32)]), format: 'der', type: 'pkcs8' }),
  };
}
