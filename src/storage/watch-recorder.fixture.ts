/** A watcher for tests: writes down what it hears, and lets a test wait for it. */
import type { Store, StoreEvent, WatchOptions } from './store.ts';

export interface WatchRecord<V> {
  readonly events: readonly StoreEvent<V>[];
  /** The revisions told, by the last event of each batch or by progress, in order. */
  readonly told: readonly number[];
  readonly error: Error | undefined;
  untilEvents(count: number): Promise<undefined>;
  untilProgress(revision: number): Promise<undefined>;
  untilError(): Promise<Error>;
  close(): void;
}

export function recordWatch<V>(store: Store<V>, options: WatchOptions): WatchRecord<V> {
  const events: StoreEvent<V>[] = [];
  const told: number[] = [];
  let failure: Error | undefined;
  const waiting = new Set<() => void>();
  const changed = () => {
    for (const check of [...waiting]) check();
  };
  const subscription = store.watch(options, {
    onEvents(batch) {
      events.push(...batch);
      told.push(batch.at(-1)!.revision);
      changed();
    },
    onProgress(revision) {
      told.push(revision);
      changed();
    },
    onError(error) {
      failure = error;
      changed();
    },
  });
  const until = <T>(test: () => T | false): Promise<T> =>
    new Promise((resolve) => {
      const check = () => {
        const result = test();
        if (result === false) return;
        waiting.delete(check);
        resolve(result);
      };
      waiting.add(check);
      check();
    });
  return {
    events,
    told,
    get error() {
      return failure;
    },
    untilEvents: (count) => until(() => events.length >= count && undefined),
    untilProgress: (revision) => until(() => (told.at(-1) ?? 0) >= revision && undefined),
    untilError: () => until(() => failure ?? false),
    close: () => subscription.close(),
  };
}
