/**
 * Changes of one resource that happened before its cache was filled, read from the store's own history: a client who watched a server
 * that has since begun anew goes on where it was, as far as the store remembers.
 */
import { CompactedError, prefixEnd, type StoreEvent } from '../../storage/store.ts';
import type { SourceStore } from './source.ts';

export interface PastChanges<V> {
  readonly prefix: string;
  readonly afterRevision: number;
  /** The last revision of interest; the store must have reached it. */
  readonly upToRevision: number;
  /** What a change costs... */
  readonly bytesOf: (change: StoreEvent<V>) => number;
  /** ...and what all may cost together; more is not worth remembering. */
  readonly maxBytes: number;
}

/** In revision order; undefined when the store has forgotten some or there are too many. */
export function pastChanges<V>(
  store: Pick<SourceStore<V>, 'watch'>,
  past: PastChanges<V>,
): Promise<readonly StoreEvent<V>[] | undefined> {
  const { prefix, afterRevision, upToRevision, bytesOf, maxBytes } = past;
  return new Promise((resolve, reject) => {
    const found: StoreEvent<V>[] = [];
    let bytes = 0;
    const finish = (changes: readonly StoreEvent<V>[] | undefined) => {
      subscription.close();
      resolve(changes);
    };
    const subscription = store.watch(
      { start: prefix, end: prefixEnd(prefix), afterRevision },
      {
        onEvents(events) {
          for (const event of events) {
            if (event.revision > upToRevision) break;
            found.push(event);
            bytes += bytesOf(event);
          }
          if (bytes > maxBytes) finish(undefined);
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
