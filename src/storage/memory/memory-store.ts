/**
 * The store that keeps values as they are, in memory: for embedded control planes, tests and simulations. A write is done
 * when `put` returns its promise; watchers hear of it in a microtask, once for all writes of a turn. Values are shared, never
 * copied: whoever stores one must not change it afterwards.
 */
import type { Clock } from '../../base/clock.ts';
import { type Log, silentLog } from '../../base/log.ts';
import { Expiry, expiryTime } from '../expiry.ts';
import { checkKey, RevisionIndex, type Version, versionAfter } from '../revision-index.ts';
import {
  type CommitResult,
  type Entry,
  type ExpectedRevision,
  type PutOptions,
  type RangeOptions,
  type RangeResult,
  type Store,
  StoreClosedError,
  type Subscription,
  type Watcher,
  type WatchOptions,
} from '../store.ts';
import { entryOf, WatchHub } from '../watch-hub.ts';

export interface MemoryStoreOptions {
  readonly clock: Clock;
  readonly log?: Log | undefined;
}

export function memoryStore<V>(options: MemoryStoreOptions): Store<V> {
  return new MemoryStore<V>(options);
}

/** Changes that compaction looks at per macrotask, so that a long history does not hold up the loop. */
const forgetSlice = 2000;

class MemoryStore<V> implements Store<V> {
  readonly #clock: Clock;
  readonly #index = new RevisionIndex<V>();
  readonly #hub: WatchHub<V>;
  readonly #expiry: Expiry;
  #closed = false;

  constructor({ clock, log = silentLog }: MemoryStoreOptions) {
    this.#clock = clock;
    this.#hub = new WatchHub<V>({ clock, log, index: this.#index, load: heldValue });
    this.#expiry = new Expiry({ clock, expire: ({ key, revision }) => this.#commit(key, revision, undefined, 0) });
  }

  get revision(): number {
    return this.#index.revision;
  }

  get compactedRevision(): number {
    return this.#index.compactedRevision;
  }

  async get(key: string, options: { readonly revision?: number | undefined } = {}): Promise<Entry<V> | undefined> {
    this.#checkOpen();
    return toEntry(this.#index.at(key, options.revision));
  }

  async range(options: RangeOptions): Promise<RangeResult<V>> {
    this.#checkOpen();
    const { versions, count, more, revision } = this.#index.select(options);
    return { entries: versions.map((version) => entryOf(version, heldValue(version))), count, more, revision };
  }

  async put(key: string, value: V, { expected, ttlSeconds }: PutOptions = {}): Promise<CommitResult<V>> {
    this.#checkOpen();
    checkKey(key);
    return this.#commit(key, expected, { value }, expiryTime(this.#clock, ttlSeconds));
  }

  async remove(key: string, options: { readonly expected?: ExpectedRevision } = {}): Promise<CommitResult<V>> {
    this.#checkOpen();
    checkKey(key);
    return this.#commit(key, options.expected, undefined, 0);
  }

  watch(options: WatchOptions, watcher: Watcher<V>): Subscription {
    return this.#hub.watch(options, watcher);
  }

  async compact(revision: number): Promise<void> {
    this.#checkOpen();
    if (this.#index.compact(revision)) this.#clock.soon(() => this.#forget());
  }

  /** Values are not encoded, so nobody knows their size. */
  async size(): Promise<number> {
    this.#checkOpen();
    return 0;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#expiry.close();
    this.#hub.flush();
    this.#hub.close(new StoreClosedError());
  }

  /** One compare-and-set: `content` undefined removes the key. */
  #commit(
    key: string,
    expected: ExpectedRevision,
    content: { readonly value: V } | undefined,
    expiresAtMs: number,
  ): CommitResult<V> {
    const head = this.#index.head(key);
    const revision = this.#index.revision + 1;
    const version = versionAfter(head, { key, revision, expected, content, expiresAtMs, bytes: 0 });
    if (!version) return { ok: false, current: toEntry(head) };
    this.#index.apply(version);
    this.#expiry.track(version, expiresAtMs);
    this.#hub.wake();
    return { ok: true, revision, previous: toEntry(head) };
  }

  #forget(): void {
    if (this.#index.forget(forgetSlice)) this.#clock.soon(() => this.#forget());
  }

  #checkOpen(): void {
    if (this.#closed) throw new StoreClosedError();
  }
}

function heldValue<V>(version: Version<V>): V {
  return version.value as V;
}

function toEntry<V>(version: Version<V> | undefined): Entry<V> | undefined {
  return version && entryOf(version, heldValue(version));
}
