/**
 * The store on an etcd v3 cluster. Reads are linearizable; each write is one transaction that compares the key's revision, and says
 * what stood there. A write whose connection broke has failed for its caller, though etcd may have carried it out: nobody can know.
 *
 * Writes of one key are sent one after another, for etcd may take requests of one connection in any order. Lifetimes end on the
 * second by this process's clock; a lease that lasts a little longer sees to it when this process is gone.
 */
import type { Clock } from '../../base/clock.ts';
import { type Log, silentLog } from '../../base/log.ts';
import type { Codec } from '../codec.ts';
import { Expiry, expiryTime } from '../expiry.ts';
import { checkKey } from '../revision-index.ts';
import {
  type CommitResult,
  CompactedError,
  type Entry,
  type ExpectedRevision,
  FutureRevisionError,
  type PutOptions,
  type RangeOptions,
  type RangeResult,
  type Store,
  StoreClosedError,
  type Subscription,
  type Watcher,
  type WatchOptions,
} from '../store.ts';
import { EtcdConnection, type EtcdConnectionOptions, EtcdError } from './connection.ts';
import { EtcdWatch } from './etcd-watch.ts';
import { type KeyRoot, KeySpace } from './key-space.ts';
import { Leases } from './leases.ts';
import { compareTargets, type KeyValue, methods, type RequestOp } from './messages.ts';

export interface EtcdStoreOptions<V> extends EtcdConnectionOptions {
  readonly codec: Codec<V>;
  /** Where in etcd the store's keys lie; default: etcd's keys are the store's. */
  readonly root?: KeyRoot | undefined;
  /** `--lease-reuse-duration-seconds`: see `Leases`. */
  readonly leaseReuseSeconds?: number | undefined;
  /** Told of every request for keys of the store, once it is answered. */
  readonly observe?: ((request: EtcdRequest) => void) | undefined;
  readonly log?: Log | undefined;
}

export interface EtcdRequest {
  readonly operation: 'get' | 'list' | 'create' | 'update' | 'delete';
  /** The key, or where the range begins. */
  readonly key: string;
  readonly durationMs: number;
  readonly failed: boolean;
}

/** Connects, and fails with an `EtcdError` if no member answers in time. */
export async function openEtcdStore<V>(options: EtcdStoreOptions<V>): Promise<EtcdStore<V>> {
  const store = new EtcdStore(options);
  try {
    await store.currentRevision();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface Change {
  readonly key: string;
  readonly expected: ExpectedRevision;
  /** Absent: remove. */
  readonly content?: { readonly bytes: Uint8Array; readonly ttlSeconds: number | undefined };
}

export interface Claim {
  readonly won: boolean;
  readonly version: number;
  readonly value: string;
  /** The newest of all at that moment. */
  readonly revision: number;
}

/** Entries per call: a long range is read in pieces of one revision. */
const pageLength = 5_000;
const closingTimeoutMs = 2_000;
const memberTimeoutMs = 2_000;
const leaseNotFound = 'etcdserver: requested lease not found';
const compacted = 'etcdserver: mvcc: required revision has been compacted';
const future = 'etcdserver: mvcc: required revision is a future revision';

export class EtcdStore<V> implements Store<V> {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #codec: Codec<V>;
  readonly #connection: EtcdConnection;
  readonly #observe: EtcdStoreOptions<V>['observe'];
  readonly #keys: KeySpace;
  readonly #leases: Leases;
  readonly #expiry: Expiry;
  readonly #watches = new Set<EtcdWatch<V>>();
  /** The last write under way of each key. */
  readonly #writes = new Map<string, Promise<unknown>>();
  #revision = 0;
  #compactedRevision = 0;
  #expectationIsDue = false;
  #closing: Promise<void> | undefined;

  constructor(options: EtcdStoreOptions<V>) {
    const { clock, log = silentLog, codec, leaseReuseSeconds } = options;
    this.#clock = clock;
    this.#log = log;
    this.#codec = codec;
    this.#connection = new EtcdConnection(options);
    this.#observe = options.observe;
    this.#keys = new KeySpace(options.root);
    const grant = (ttlSeconds: number) => this.#grant(ttlSeconds);
    this.#leases = new Leases({ clock, grant, longestSpareSeconds: leaseReuseSeconds });
    this.#expiry = new Expiry({ clock, expire: ({ key, revision }) => this.#expire(key, revision) });
  }

  /** The newest revision that this process has heard of; `currentRevision` asks etcd. */
  get revision(): number {
    return this.#revision;
  }

  /** As far as this process knows, for others compact too. */
  get compactedRevision(): number {
    return this.#compactedRevision;
  }

  /** The cluster's newest revision, agreed upon by a majority now. */
  async currentRevision(): Promise<number> {
    const request = { key: Uint8Array.of(0), countOnly: true };
    const { header } = await this.#connection.call(methods.range, request, { repeatable: true });
    const revision = header?.revision ?? 0;
    this.#noteRevision(revision);
    // Whoever asks wants to see it.
    for (const watch of this.#watches) watch.want(revision);
    return revision;
  }

  async get(key: string, options: { readonly revision?: number | undefined } = {}): Promise<Entry<V> | undefined> {
    this.#checkOpen();
    const request = { key: this.#keys.toEtcd(key), revision: options.revision };
    const { kvs } = await this.#observed('get', key, () => this.#range(request));
    return kvs[0] && this.#toEntry(kvs[0]);
  }

  async range(options: RangeOptions): Promise<RangeResult<V>> {
    this.#checkOpen();
    return this.#observed('list', options.start, () => this.#pages(options));
  }

  async #pages({ start, end, limit = 0, revision: asked }: RangeOptions): Promise<RangeResult<V>> {
    const { key: firstKey, rangeEnd } = this.#keys.bounds(start, end);
    const first = await this.#range({
      key: firstKey,
      rangeEnd,
      revision: asked,
      limit: limit > 0 ? Math.min(limit, pageLength) : pageLength,
    });
    const revision = asked ?? first.header?.revision ?? 0;
    const entries = first.kvs.map((kv) => this.#toEntry(kv));
    const wanted = limit > 0 ? Math.min(limit, first.count) : first.count;
    while (entries.length < wanted) {
      const key = this.#keys.toEtcd(`${entries.at(-1)!.key}\0`);
      const page = await this.#range({ key, rangeEnd, revision, limit: Math.min(wanted - entries.length, pageLength) });
      for (const kv of page.kvs) entries.push(this.#toEntry(kv));
    }
    return { entries, revision, more: entries.length < first.count, count: first.count };
  }

  async put(key: string, value: V, { expected, ttlSeconds }: PutOptions = {}): Promise<CommitResult<V>> {
    this.#checkOpen();
    checkKey(key);
    const expiresAtMs = expiryTime(this.#clock, ttlSeconds);
    const bytes = this.#codec.encode(value);
    const result = await this.#commit({ key, expected, content: { bytes, ttlSeconds } });
    if (result.ok) this.#expiry.track({ key, revision: result.revision }, expiresAtMs);
    return result;
  }

  async remove(key: string, options: { readonly expected?: ExpectedRevision } = {}): Promise<CommitResult<V>> {
    this.#checkOpen();
    checkKey(key);
    return this.#commit({ key, expected: options.expected });
  }

  watch(options: WatchOptions, watcher: Watcher<V>): Subscription {
    const refusal = this.#closing
      ? new StoreClosedError()
      : options.afterRevision < this.#compactedRevision
        ? new CompactedError(this.#compactedRevision)
        : undefined;
    if (refusal) {
      let closed = false;
      this.#clock.soon(() => {
        if (!closed) watcher.onError(refusal);
      });
      return {
        close() {
          closed = true;
        },
      };
    }
    const watch = new EtcdWatch<V>(options, watcher, {
      connection: this.#connection,
      clock: this.#clock,
      log: this.#log,
      keys: this.#keys,
      toEntry: (kv) => this.#toEntry(kv),
      compactedRevision: () => this.#compactedRevision,
      knownRevision: () => this.#revision,
      onRevision: (revision) => this.#noteRevision(revision),
      onCompacted: (revision) => this.noteCompacted(revision),
      onEnd: (ended) => this.#watches.delete(ended),
    });
    this.#watches.add(watch);
    return { close: () => watch.close() };
  }

  async compact(revision: number): Promise<void> {
    this.#checkOpen();
    if (revision <= this.#compactedRevision) return;
    try {
      await this.#connection.call(methods.compact, { revision }, { repeatable: true });
    } catch (error) {
      if (isEtcdError(error, future)) throw new FutureRevisionError(revision);
      if (!isEtcdError(error, compacted)) throw error;
    }
    this.noteCompacted(revision);
  }

  async size(): Promise<number> {
    this.#checkOpen();
    return (await this.#connection.call(methods.status, {}, { repeatable: true })).dbSize;
  }

  /** Bytes of each member's file, by endpoint; -1 for one that does not answer. */
  async sizes(): Promise<ReadonlyMap<string, number>> {
    this.#checkOpen();
    const members = await this.#connection.callEach(methods.status, {}, { timeoutMs: memberTimeoutMs });
    return new Map([...members].map(([endpoint, answer]) => [endpoint, answer?.dbSize ?? -1]));
  }

  /** Rejects if a majority of the members does not answer in time. */
  async probe(timeoutMs: number): Promise<void> {
    this.#checkOpen();
    const key = this.#keys.toEtcd(`${this.#keys.root}health`);
    await this.#connection.call(methods.range, { key }, { repeatable: true, timeoutMs });
  }

  /**
   * Writes `value` at a key of etcd's own if that has been written `version` times: how several servers agree who does what any could
   * do. Says how often it has been written now, and what stands there.
   */
  async claim(name: string, { version, value }: { readonly version: number; readonly value: string }): Promise<Claim> {
    this.#checkOpen();
    const key = Buffer.from(name);
    const { header, succeeded, responses } = await this.#connection.call(
      methods.txn,
      {
        compare: [{ key, target: compareTargets.version, version }],
        success: [{ put: { key, value: Buffer.from(value) } }],
        failure: [{ range: { key } }],
      },
      { repeatable: false },
    );
    const revision = header?.revision ?? 0;
    this.#noteRevision(revision);
    if (succeeded) return { won: true, version: version + 1, value, revision };
    const current = responses[0]?.range?.kvs[0];
    return {
      won: false,
      version: current?.version ?? 0,
      value: Buffer.from(current?.value ?? []).toString(),
      revision,
    };
  }

  /** What another process has compacted, from its own word. */
  noteCompacted(revision: number): void {
    if (revision > this.#compactedRevision) this.#compactedRevision = revision;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#expiry.close();
    await Promise.allSettled(this.#writes.values());
    const late = Promise.withResolvers<void>();
    const timer = this.#clock.after(closingTimeoutMs, late.resolve);
    await Promise.race([late.promise, Promise.all([...this.#watches].map((watch) => watch.reach(this.#revision)))]);
    timer.cancel();
    for (const watch of [...this.#watches]) watch.fail(new StoreClosedError());
    this.#connection.close();
  }

  #commit(change: Change): Promise<CommitResult<V>> {
    const before = this.#writes.get(change.key);
    const write = before ? before.then(() => this.#send(change)) : this.#send(change);
    const settled = write
      .catch(() => {})
      .then(() => {
        if (this.#writes.get(change.key) === settled) this.#writes.delete(change.key);
      });
    this.#writes.set(change.key, settled);
    return write;
  }

  async #send(change: Change): Promise<CommitResult<V>> {
    const ttlSeconds = change.content?.ttlSeconds;
    if (!ttlSeconds) return this.#transact(change);
    try {
      return await this.#transact(change, await this.#leases.leaseFor(ttlSeconds));
    } catch (error) {
      if (!isEtcdError(error, leaseNotFound)) throw error;
      this.#leases.forget();
      return this.#transact(change, await this.#leases.leaseFor(ttlSeconds));
    }
  }

  #transact(change: Change, lease?: bigint): Promise<CommitResult<V>> {
    const operation = !change.content ? 'delete' : change.expected === 0 ? 'create' : 'update';
    return this.#observed(operation, change.key, () => this.#compareAndSet(change, lease));
  }

  async #observed<T>(operation: EtcdRequest['operation'], key: string, request: () => Promise<T>): Promise<T> {
    const startedMs = this.#clock.monotonic();
    let failed = true;
    try {
      const result = await request();
      failed = false;
      return result;
    } finally {
      this.#observe?.({ operation, key, durationMs: this.#clock.monotonic() - startedMs, failed });
    }
  }

  async #compareAndSet({ key: name, expected, content }: Change, lease?: bigint): Promise<CommitResult<V>> {
    const key = this.#keys.toEtcd(name);
    const success: RequestOp = content
      ? { put: { key, value: content.bytes, lease, prevKv: true } }
      : { delete: { key, prevKv: true } };
    const { header, succeeded, responses } = await this.#connection.call(
      methods.txn,
      {
        compare: expected === undefined ? [] : [{ key, target: compareTargets.modRevision, modRevision: expected }],
        success: [success],
        failure: [{ range: { key } }],
      },
      { repeatable: false },
    );
    const revision = header?.revision ?? 0;
    this.#noteRevision(revision);
    this.#expectSoon();
    const [response] = responses;
    const entry = (kv: KeyValue | undefined) => kv && this.#toEntry(kv);
    if (!succeeded) return { ok: false, current: entry(response?.range?.kvs[0]) };
    if (content) return { ok: true, revision, previous: entry(response?.put?.previous) };
    if (!response?.delete?.deleted) return { ok: false, current: undefined };
    return { ok: true, revision, previous: entry(response.delete.previous[0]) };
  }

  /** Quiet watches hear of a write too, once for all writes of a turn. */
  #expectSoon(): void {
    if (this.#expectationIsDue) return;
    this.#expectationIsDue = true;
    this.#clock.soon(() => {
      this.#expectationIsDue = false;
      for (const watch of this.#watches) watch.expect(this.#revision);
    });
  }

  async #range(request: { key: Uint8Array; rangeEnd?: Uint8Array; limit?: number; revision: number | undefined }) {
    const { revision = 0 } = request;
    // etcd reads at what was compacted last, and so do we; before it nothing may be read.
    if (revision > 0 && revision < this.#compactedRevision) throw new CompactedError(this.#compactedRevision);
    try {
      const response = await this.#connection.call(methods.range, request, { repeatable: true });
      this.#noteRevision(response.header?.revision ?? 0);
      return response;
    } catch (error) {
      if (isEtcdError(error, future)) throw new FutureRevisionError(revision);
      if (isEtcdError(error, compacted)) throw new CompactedError(Math.max(this.#compactedRevision, revision + 1));
      throw error;
    }
  }

  async #grant(ttlSeconds: number): Promise<bigint> {
    return (await this.#connection.call(methods.leaseGrant, { ttlSeconds }, { repeatable: true })).id;
  }

  #expire(key: string, revision: number): void {
    this.#commit({ key, expected: revision }).catch((error: unknown) =>
      this.#log.warn('a key outlives its lifetime until its lease ends', { key, error: String(error) }),
    );
  }

  #toEntry(kv: KeyValue): Entry<V> {
    return {
      key: this.#keys.fromEtcd(kv.key)!,
      // A copy, or one small value would keep the whole answer in memory.
      value: this.#codec.decode(Buffer.from(kv.value)),
      revision: kv.modRevision,
      createRevision: kv.createRevision,
    };
  }

  #noteRevision(revision: number): void {
    if (revision > this.#revision) this.#revision = revision;
  }

  #checkOpen(): void {
    if (this.#closing) throw new StoreClosedError();
  }
}

function isEtcdError(error: unknown, details: string): boolean {
  return error instanceof EtcdError && error.details === details;
}
