/** What is asked for more often than it changes. */
import type { Clock } from './clock.ts';

/** What `compute` gives until it is older than `keepMs`. */
export function keptFor<T>(clock: Clock, keepMs: number, compute: () => T): () => T {
  let kept: { readonly value: T; readonly atMs: number } | undefined;
  return () => {
    const nowMs = clock.monotonic();
    if (!kept || nowMs - kept.atMs > keepMs) kept = { value: compute(), atMs: nowMs };
    return kept.value;
  };
}
