/** Lists of completion indexes as Jobs write them: `1,3-5,7`. */
import { quote } from '../../../apimachinery/go-text.ts';

export type IndexRange = readonly [first: number, last: number];

/** A list that cannot be read, with upstream's message. */
export class IndexListError extends Error {
  override readonly name: string = 'IndexListError';
}

/** Ranges in ascending order. Throws `IndexListError`, also for an index that is not below `completions`. */
export function parseIndexList(text: string, completions: number): IndexRange[] {
  if (text === '') return [];
  let previous: number | undefined;
  return text.split(',').map((part) => {
    const range = parseRange(part, completions);
    if (previous !== undefined && previous >= range[0]) {
      throw new IndexListError(`non-increasing order, previous: ${previous}, current: ${range[0]}`);
    }
    previous = range[1];
    return range;
  });
}

export function countIndexes(ranges: readonly IndexRange[]): number {
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

function parseRange(text: string, completions: number): IndexRange {
  const parts = text.split('-');
  if (parts.length > 2) {
    const rule = "violates the requirement that an index interval can have at most two parts separated by '-'";
    throw new IndexListError(`the fragment ${quote(text)} ${rule}`);
  }
  const [first, last] = parts.map((part) => {
    if (!/^\+?[0-9]+$/.test(part)) {
      throw new IndexListError(`cannot convert string to integer for index: ${quote(part)}`);
    }
    if (Number(part) >= completions) throw new IndexListError(`too large index: ${quote(part)}`);
    return Number(part);
  });
  if (last === undefined) return [first!, first!];
  if (first! >= last) throw new IndexListError(`non-increasing order, previous: ${first}, current: ${last}`);
  return [first!, last];
}
