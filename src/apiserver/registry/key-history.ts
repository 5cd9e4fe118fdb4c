/** What the store still knows of one key: its newest changes, and what stood there before them. */
import { CompactedError, type Entry, type StoreEvent } from '../../storage/store.ts';
import type { SourceStore } from '../watch-cache/source.ts';

/** Changes of one key, in rising order. */
export interface KeyHistory<V> {
  /** From where on nothing is missing but what `skipped` says. */
  readonly sinceRevision: number;
  /** What stood there at `sinceRevision`, which may have been written long before. */
  readonly base: Entry<V> | undefined;
  readonly events: readonly StoreEvent<V>[];
  /** Older changes than these that the store still knows. */
  readonly skipped: number;
}

/** The newest `limit` changes. Older ones are only counted, so that a key with a long history needs no more memory than one with a short one. */
export async function keyHistory<V>(store: SourceStore<V>, key: string, limit: number): Promise<KeyHistory<V>> {
  const range = { start: key, end: `${key}\0` };
  for (let since = Math.max(1, store.compactedRevision); ; ) {
    try {
      // First, for a watch that comes too late is told by etcd from where on it may begin, and a read is not.
      const { events, skipped } = await changesAfter(store, { ...range, afterRevision: since }, limit);
      const { entries } = await store.range({ ...range, revision: since, limit: 1 });
      return { sinceRevision: since, base: entries[0], events, skipped };
    } catch (error) {
      // Somebody has compacted it meanwhile, or another server long ago.
      if (!(error instanceof CompactedError) || error.compactedRevision <= since) throw error;
      since = error.compactedRevision;
    }
  }
}

function changesAfter<V>(
  store: SourceStore<V>,
  range: { readonly start: string; readonly end: string; readonly afterRevision: number },
  limit: number,
): Promise<{ readonly events: readonly StoreEvent<V>[]; readonly skipped: number }> {
  const upTo = store.revision;
  if (upTo <= range.afterRevision) return Promise.resolve({ events: [], skipped: 0 });
  return new Promise((resolve, reject) => {
    let events: StoreEvent<V>[] = [];
    let skipped = 0;
    const finish = () => {
      subscription.close();
      resolve({ events, skipped });
    };
    const subscription = store.watch(range, {
      onEvents(batch) {
        events.push(...batch.filter(({ revision }) => revision <= upTo));
        const surplus = Math.max(0, events.length - limit);
        skipped += surplus;
        events = events.slice(surplus);
        if (batch.at(-1)!.revision >= upTo) finish();
      },
      onProgress(revision) {
        if (revision >= upTo) finish();
      },
      onError: reject,
    });
  });
}
