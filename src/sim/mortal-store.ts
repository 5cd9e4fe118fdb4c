/**
 * The store as one life of the API server sees it: once that life has ended, nothing it still does reaches the store, which stays for the next.
 */
import {
  type CommitResult,
  type Entry,
  type PutOptions,
  type RangeOptions,
  type RangeResult,
  type Store,
  StoreClosedError,
  type Subscription,
  type Watcher,
  type WatchOptions,
} from '../storage/store.ts';

export class MortalStore<V> implements Store<V> {
  readonly #store: Store<V>;
  readonly #watches = new Map<Subscription, Watcher<V>>();
  #isOver = false;

  constructor(store: Store<V>) {
    this.#store = store;
  }

  get revision(): number {
    return this.#store.revision;
  }

  get compactedRevision(): number {
    return this.#store.compactedRevision;
  }

  async get(key: string, options?: { readonly revision?: number | undefined }): Promise<Entry<V> | undefined> {
    return this.#living().get(key, options);
  }

  async range(options: RangeOptions): Promise<RangeResult<V>> {
    return this.#living().range(options);
  }

  async put(key: string, value: V, options?: PutOptions): Promise<CommitResult<V>> {
    return this.#living().put(key, value, options);
  }

  async remove(key: string, options?: { readonly expected?: number | undefined }): Promise<CommitResult<V>> {
    return this.#living().remove(key, options);
  }

  watch(options: WatchOptions, watcher: Watcher<V>): Subscription {
    const inner = this.#living().watch(options, watcher);
    const subscription = {
      close: () => {
        this.#watches.delete(subscription);
        inner.close();
      },
    };
    this.#watches.set(subscription, watcher);
    return subscription;
  }

  async compact(revision: number): Promise<void> {
    return this.#living().compact(revision);
  }

  async size(): Promise<number> {
    return this.#living().size();
  }

  /** The end of this life; the store itself stays open. */
  async close(): Promise<void> {
    this.#isOver = true;
    for (const subscription of [...this.#watches.keys()]) subscription.close();
  }

  #living(): Store<V> {
    if (this.#isOver) throw new StoreClosedError();
    return this.#store;
  }
}
