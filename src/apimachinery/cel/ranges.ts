/**
 * Arithmetic on ranges of sizes and costs. Nothing overflows: whatever passes 2^64 stays there and means "unbounded".
 * Figures above 2^53 are approximate, which no limit comes near.
 */
import type { SizeRange } from './types.ts';

/** "As large as can be": the largest size upstream's estimates know. */
export const unbounded = 2 ** 64;

export const unknownRange: SizeRange = { min: 0, max: unbounded };

const saturate = (n: number) => Math.min(n, unbounded);

export const fixed = (n: number): SizeRange => ({ min: n, max: n });

export const plus = (left: SizeRange, right: SizeRange): SizeRange => ({
  min: saturate(left.min + right.min),
  max: saturate(left.max + right.max),
});

export const times = (left: SizeRange, right: SizeRange): SizeRange => ({
  min: saturate(left.min * right.min),
  max: saturate(left.max * right.max),
});

/** Scaled by a cost per unit, and rounded up. */
export const scaled = (range: SizeRange, factor: number): SizeRange => ({
  min: saturate(Math.ceil(range.min * factor)),
  max: saturate(Math.ceil(range.max * factor)),
});

/** The smallest range that holds both. */
export const union = (left: SizeRange, right: SizeRange): SizeRange => ({
  min: Math.min(left.min, right.min),
  max: Math.max(left.max, right.max),
});

/** What a unit of work costs; one unit is about 50 ns of upstream's time. */
export const costs = {
  selectOrIdentifier: 1,
  constant: 0,
  list: 10,
  map: 30,
  object: 40,
  /** Per code point or byte that is walked over. */
  traversal: 0.1,
  /** Per code point of a regular expression. */
  regex: 0.25,
} as const;
