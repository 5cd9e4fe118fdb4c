/**
 * The sizes that costs at run time are made of. What a call costs is said where the function is declared
 * (`functions.ts`); what a select, a literal or a loop costs, where it is compiled.
 */
import { costs } from './ranges.ts';
import { codePointCount } from './strings.ts';
import { CelList, CelMap, CelOpaque, CelOptional, type CelResult } from './values.ts';

/** Code points of a string, bytes, elements, entries; 1 for whatever has no size. */
export function sizeForCost(value: CelResult): number {
  if (typeof value === 'string') return codePointCount(value);
  if (value instanceof CelList || value instanceof CelMap) return value.size;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof CelOptional && value.value !== undefined) return sizeForCost(value.value);
  if (value instanceof CelOpaque) return value.sizeForCost?.() ?? 1;
  return 1;
}

/** One walk over a value. */
export const traversalCost = (value: CelResult): number => Math.ceil(sizeForCost(value) * costs.traversal);
