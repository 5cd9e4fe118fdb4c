import type { Clock } from './clock.ts';

/** What `compute` gives, for as long as it is not older than `keepMs`: for what is asked for more often than it changes. */
export function keptFor<T>(clock: Clock, keepMs: number, compute: () => T): () => T {
  let kept: { readonly value: T; readonly atMs: number } | undefined;
  return () => {
    const nowMs = clock.monotonic();
    if (!kept || nowMs - kept.atMs > keepMs) kept = { value: compute(), atMs: nowMs };
    return kept.value;
  };
}
