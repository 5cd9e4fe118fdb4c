/**
 * A store whose values are encrypted on their way in and decrypted on their way out, by the resource that their key names; everything
 * else is the inner store's. Watches keep their order although a provider may take its time. A value that cannot be read fails the
 * read that met it, with its key, and ends a watch that met it.
 */
import type {
  CommitResult,
  Entry,
  PutOptions,
  RangeOptions,
  RangeResult,
  Store,
  StoreEvent,
  StoreHistory,
  Subscription,
  Watcher,
  WatchOptions,
} from '../../storage/store.ts';
import type { ResourceEncryption } from './encryption.ts';
import type { Decrypted } from './provider.ts';

export interface EncryptedStoreOptions {
  /** Of the resource that a key belongs to; undefined: values are kept as they are. */
  encryptionOf(key: string): ResourceEncryption | undefined;
  /** The key that a value is bound to, so that it cannot be read at another: the one it has in the end, if that is another. */
  readonly boundTo?: ((key: string) => string) | undefined;
}

/** A value as it was before it was encrypted here. */
interface Written {
  readonly key: string;
  readonly value: Uint8Array;
  readonly writer: string;
}

export class EncryptedStore implements Store<Uint8Array> {
  readonly #inner: Store<Uint8Array>;
  readonly #options: EncryptedStoreOptions;
  /** Who wrote a value gets its own bytes back. */
  readonly #written = new WeakMap<Uint8Array, Written>();
  /** Who wrote the newest value known of each key that is encrypted. */
  readonly #writers = new Map<string, string>();

  constructor(inner: Store<Uint8Array>, options: EncryptedStoreOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  get revision(): number {
    return this.#inner.revision;
  }

  async currentRevision(): Promise<number> {
    return (await this.#inner.currentRevision?.()) ?? this.#inner.revision;
  }

  get compactedRevision(): number {
    return this.#inner.compactedRevision;
  }

  /** Whether the newest value known of this key should be written anew, though nothing in it has changed. */
  isStale(key: string): boolean {
    return (this.#writers.get(key) ?? '') !== (this.#options.encryptionOf(key)?.writer ?? '');
  }

  async get(key: string, options?: { readonly revision?: number | undefined }): Promise<Entry<Uint8Array> | undefined> {
    const entry = await this.#inner.get(key, options);
    return entry && this.#readable(entry);
  }

  async range(options: RangeOptions): Promise<RangeResult<Uint8Array>> {
    const result = await this.#inner.range(options);
    const entries: Entry<Uint8Array>[] = [];
    for (const entry of result.entries) entries.push(await this.#readable(entry));
    return { ...result, entries };
  }

  put(key: string, value: Uint8Array, options?: PutOptions): Promise<CommitResult<Uint8Array>> {
    try {
      const encryption = this.#options.encryptionOf(key);
      const stored = encryption?.encrypt(value, this.#boundTo(key)) ?? value;
      const written = { key, value, writer: encryption?.writer ?? '' };
      // Without a turn in between where there is nothing to wait for: writes are taken in the order in which they are asked for.
      if (stored instanceof Promise) return stored.then((bytes) => this.#put(bytes, written, options));
      return this.#put(stored, written, options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #put(stored: Uint8Array, written: Written, options?: PutOptions): Promise<CommitResult<Uint8Array>> {
    if (stored !== written.value) this.#written.set(stored, written);
    return this.#committed(await this.#inner.put(written.key, stored, options));
  }

  async remove(key: string, options?: Parameters<Store<Uint8Array>['remove']>[1]): Promise<CommitResult<Uint8Array>> {
    return this.#committed(await this.#inner.remove(key, options));
  }

  watch(options: WatchOptions, watcher: Watcher<Uint8Array>): Subscription {
    // Everything waits for what came before it; most of the time nothing does.
    let last: Promise<void> | undefined;
    let ended = false;
    const inTurn = (step: () => Promise<void> | undefined) => {
      if (ended) return;
      const run = async () => {
        if (!ended) await step();
      };
      const next = last ? last.then(run) : step();
      if (!next) return;
      const settled = next.catch((error: unknown) => {
        if (ended) return;
        ended = true;
        subscription.close();
        watcher.onError(error as Error);
      });
      last = settled;
      void settled.then(() => {
        if (last === settled) last = undefined;
      });
    };
    const subscription = this.#inner.watch(options, {
      onEvents: (events) => inTurn(() => this.#deliver(events, watcher)),
      onProgress: (revision) =>
        inTurn(() => {
          watcher.onProgress?.(revision);
          return undefined;
        }),
      onError: (error) =>
        inTurn(() => {
          ended = true;
          watcher.onError(error);
          return undefined;
        }),
    });
    return {
      close() {
        ended = true;
        subscription.close();
      },
    };
  }

  compact(revision: number): Promise<void> {
    return this.#inner.compact(revision);
  }

  get history(): StoreHistory | undefined {
    return this.#inner.history;
  }

  size(): Promise<number> {
    return this.#inner.size();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** Undefined when the events have been delivered already. */
  #deliver(events: readonly StoreEvent<Uint8Array>[], watcher: Watcher<Uint8Array>): Promise<void> | undefined {
    const readable = events.map((event) => this.#readableEvent(event));
    if (!readable.some((event) => event instanceof Promise)) {
      watcher.onEvents(readable as StoreEvent<Uint8Array>[]);
      return undefined;
    }
    return Promise.all(readable).then((all) => watcher.onEvents(all));
  }

  #readableEvent(event: StoreEvent<Uint8Array>): StoreEvent<Uint8Array> | Promise<StoreEvent<Uint8Array>> {
    const { key, value, previous } = event;
    if (value === undefined) this.#writers.delete(key);
    const now = value && this.#plain(key, value);
    const before = previous && this.#plain(key, previous.value, { old: true });
    const joined = (plain: Uint8Array | undefined, old: Uint8Array | undefined): StoreEvent<Uint8Array> => ({
      ...event,
      value: plain,
      previous: previous && old && { ...previous, value: old },
    });
    if (now instanceof Promise || before instanceof Promise)
      return Promise.all([now, before]).then(([plain, old]) => joined(plain, old));
    return joined(now, before);
  }

  async #committed(result: CommitResult<Uint8Array>): Promise<CommitResult<Uint8Array>> {
    if (!result.ok) return { ...result, current: result.current && (await this.#readable(result.current)) };
    const { previous } = result;
    if (!previous) return result;
    return {
      ...result,
      previous: { ...previous, value: await this.#plain(previous.key, previous.value, { old: true }) },
    };
  }

  async #readable(entry: Entry<Uint8Array>): Promise<Entry<Uint8Array>> {
    return { ...entry, value: await this.#plain(entry.key, entry.value) };
  }

  /** `old`: no longer the key's value, so that it says nothing about whether that should be written anew. */
  #plain(key: string, stored: Uint8Array, { old = false } = {}): Uint8Array | Promise<Uint8Array> {
    const encryption = this.#options.encryptionOf(key);
    if (!encryption) return stored;
    const written = this.#written.get(stored);
    const settled = ({ plain, writer }: Decrypted) => {
      if (!old) this.#note(key, writer);
      return plain;
    };
    if (written?.key === key) return settled({ plain: written.value, writer: written.writer });
    const failed = (error: unknown): never => {
      const message = error instanceof Error ? error.message : String(error);
      throw new Error(`unable to transform key ${JSON.stringify(key)}: ${message}`, { cause: error });
    };
    try {
      const result = encryption.decrypt(stored, this.#boundTo(key));
      return result instanceof Promise ? result.then(settled, failed) : settled(result);
    } catch (error) {
      return failed(error);
    }
  }

  #boundTo(key: string): string {
    return this.#options.boundTo?.(key) ?? key;
  }

  #note(key: string, writer: string): void {
    if (writer === '') this.#writers.delete(key);
    else this.#writers.set(key, writer);
  }
}
