/**
 * Chance as an argument: names, uids, jitter and key material come from a `Random`, so that a simulation is replayed by its seed.
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto';

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A version 4 UUID. */
  uuid(): string;
  bytes(length: number): Uint8Array;
}

/** Letters of generated names: no vowels and no look-alikes, so that no word and no confusion arises (upstream's alphabet). */
const nameAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** A random suffix as in `web-7d4b9c-x2x4z`. */
export function randomSuffix(random: Random, length = 5): string {
  let suffix = '';
  for (let i = 0; i < length; i++) suffix += nameAlphabet[Math.floor(random.next() * nameAlphabet.length)];
  return suffix;
}

/** `base` lengthened by a random share of it: uniform in [base, base * (1 + factor)). */
export function jitter(random: Random, base: number, factor: number): number {
  return base * (1 + random.next() * factor);
}

/** As large as `randomInt` takes; unlike `randomBytes` that asks the system for many numbers at a time. */
const steps = 2 ** 48 - 1;

/** The operating system's randomness. */
export const systemRandom: Random = {
  next: () => randomInt(steps) / steps,
  uuid: () => randomUUID(),
  bytes: (length) => randomBytes(length),
};

/** Reproducible chance for tests and simulations (mulberry32): equal seeds give equal sequences. Never use it for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const bytes = (length: number) => Uint8Array.from({ length }, () => Math.floor(next() * 256));
  return {
    next,
    bytes,
    uuid() {
      const b = bytes(16);
      b[6] = (b[6]! & 0x0f) | 0x40;
      b[8] = (b[8]! & 0x3f) | 0x80;
      const hex = Buffer.from(b).toString('hex');
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    },
  };
}
