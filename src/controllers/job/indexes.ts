/**
 * Completion indexes of an Indexed Job, and the text that a status keeps them in.
 *
 *     {1, 3, 4, 5, 7}  <->  "1,3-5,7"
 */
import type { Pod } from '../../api/gen/core-v1.ts';

export const completionIndexAnnotation = 'batch.kubernetes.io/job-completion-index';

/** Indexes of the text that are below `completions`; what is malformed is skipped. */
export function parseIndexes(text: string | undefined, completions: number): Set<number> {
  const indexes = new Set<number>();
  for (const part of (text ?? '').split(',')) {
    const found = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (!found) continue;
    const last = Math.min(Number(found[2] ?? found[1]), completions - 1);
    for (let index = Number(found[1]); index <= last; index++) indexes.add(index);
  }
  return indexes;
}

/** Two neighbours are written `3,4`, three or more `3-5`, as upstream does. */
export function formatIndexes(indexes: Iterable<number>): string {
  const sorted = [...indexes].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let start = 0; start < sorted.length; ) {
    let end = start;
    while (end + 1 < sorted.length && sorted[end + 1] === sorted[end]! + 1) end++;
    const [first, last] = [sorted[start]!, sorted[end]!];
    if (end === start) parts.push(`${first}`);
    else parts.push(end === start + 1 ? `${first},${last}` : `${first}-${last}`);
    start = end + 1;
  }
  return parts.join(',');
}

/** The index the Pod works on; undefined when it has none. */
export function completionIndexOf({ metadata }: Pod): number | undefined {
  const text = metadata.annotations?.[completionIndexAnnotation];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** The first `count` indexes that nobody works on and that are neither done nor given up. */
export function firstPending(count: number, completions: number, taken: readonly ReadonlySet<number>[]): number[] {
  const pending: number[] = [];
  for (let index = 0; index < completions && pending.length < count; index++) {
    if (!taken.some((set) => set.has(index))) pending.push(index);
  }
  return pending;
}
