/**
 * Changes of one resource that happened before its cache was filled, read from the store's own history: a client who watched a server
 * that has since begun anew goes on where it was, as far as the store remembers.
 */
import { CompactedError, prefixEnd, type StoreEvent } from '../../storage/store.ts';
import type { SourceStore } from './source.ts';

export interface PastChanges {
  readonly prefix: string;
  readonly afterRevision: number;
  /** The last revision of interest; the store must have reached it. */
  readonly upToRevision: number;
  /** More changes than this are not worth remembering. */
  readonly limit: number;
}

/** In revision order; undefined when the store has forgotten some or there are too many. */
export function pastChanges<V>(
  store: Pick<SourceStore<V>, 'watch'>,
  past: PastChanges,
): Promise<readonly StoreEvent<V>[] | undefined> {
  const { prefix, afterRevision, upToRevision, limit } = past;
  return new Promise((resolve, reject) => {
    const found: StoreEvent<V>[] = [];
    const finish = (changes: readonly StoreEvent<V>[] | undefined) => {
      subscription.close();
      resolve(changes);
    };
    const subscription = store.watch(
      { start: prefix, end: prefixEnd(prefix), afterRevision },
      {
        onEvents(events) {
          for (const event of events) if (event.revision <= upToRevision) found.push(event);
          if (found.length > limit) finish(undefined);
          else if (events.at(-1)!.revision >= upToRevision) finish(found);
        },
        onProgress(revision) {
          if (revision >= upToRevision) finish(found);
        },
        onError(error) {
          if (error instanceof CompactedError) resolve(undefined);
          else reject(error);
        },
      },
    );
  });
}
