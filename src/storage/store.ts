/**
 * The storage contract: a revisioned key-value store, the model of etcd. Implementations: `memory/` (keeps values as they are),
 * `lmdb/` (durable, one machine), `etcd/` (several machines and servers). `store.contract.ts` holds the behaviours that every one of
 * them must show.
 *
 * Guarantees:
 * - Revisions are positive, strictly rising integers over the whole store; each successful put or remove takes the next one.
 * - A write is acknowledged only once it is as durable as the backend can make it, and no reader or watcher sees it before.
 * - A watch delivers every change after its start revision, in order, without gaps, or ends with `CompactedError`.
 * - An expected compare-and-set failure is a value, never an exception.
 */

/** One key at one revision. */
export interface Entry<V> {
  readonly key: string;
  readonly value: V;
  /** Revision of the write that made this value: the object's resourceVersion. */
  readonly revision: number;
  /** Revision of the write that first created the key in its present life. */
  readonly createRevision: number;
}

/** What a writer demands of the key's present revision: 0 = must not exist, undefined = do not care. */
export type ExpectedRevision = number | undefined;

export type CommitResult<V> =
  | { readonly ok: true; readonly revision: number; readonly previous: Entry<V> | undefined }
  /** The key is not at the expected revision; `current` is what stands there (undefined: absent). */
  | { readonly ok: false; readonly current: Entry<V> | undefined };

export interface PutOptions {
  readonly expected?: ExpectedRevision;
  /**
   * The key disappears (as a removal with a revision of its own) this long after the write: not earlier, and within a second
   * after. A later write to the key, with or without a lifetime of its own, puts an end to this one.
   */
  readonly ttlSeconds?: number | undefined;
}

export interface RangeOptions {
  /** Keys >= start (inclusive) and < end (exclusive), in byte order of their UTF-8 form. */
  readonly start: string;
  readonly end: string;
  /** 0 or absent: all. */
  readonly limit?: number | undefined;
  /** Read as of this revision; absent: the newest durable one. */
  readonly revision?: number | undefined;
}

export interface RangeResult<V> {
  readonly entries: readonly Entry<V>[];
  /** The store's revision that the answer is consistent with. */
  readonly revision: number;
  /** Whether keys of the range were cut off by `limit`. */
  readonly more: boolean;
  /** Keys in the whole range, those cut off included. */
  readonly count: number;
}

export interface StoreEvent<V> {
  readonly type: 'put' | 'remove';
  readonly key: string;
  /** Revision of this change. */
  readonly revision: number;
  /** The new value; for a removal, undefined. */
  readonly value: V | undefined;
  /** What stood there before; undefined for a creation. */
  readonly previous: Entry<V> | undefined;
}

export interface WatchOptions {
  readonly start: string;
  readonly end: string;
  /** Deliver changes with a revision greater than this one. */
  readonly afterRevision: number;
}

export interface Watcher<V> {
  /** Called with a non-empty batch of changes in revision order; never re-entered. */
  onEvents(events: readonly StoreEvent<V>[]): void;
  /**
   * Everything up to `revision` has been delivered (sent after each commit that touched other ranges, coalesced): lets a
   * cache know how new it is although nothing of its own changed.
   */
  onProgress?(revision: number): void;
  /** The watch has ended for this reason and delivers nothing more. */
  onError(error: Error): void;
}

export interface Subscription {
  close(): void;
}

/** When changes were made, and what it costs to keep them. */
export interface StoreHistory {
  /** When the change of this revision was made; undefined: not known, or no longer. */
  timeOf(revision: number): number | undefined;
  /** The newest revision there was at this time, to the second; undefined: the time lies before all that is known. */
  revisionAt(timeMs: number): number | undefined;
  kept(): KeptHistory;
}

export interface KeptHistory {
  /** Since the compacted revision. */
  readonly changes: number;
  /** Of superseded values and of removals; those that stand are not counted. */
  readonly bytes: number;
  readonly sinceMs: number | undefined;
}

export interface Store<V> {
  /** The newest durable revision. An empty store is at 1, as etcd is, for the API gives 0 a meaning of its own. */
  readonly revision: number;
  /** Where other processes write too: the newest revision there is, which `revision` only learns with time. */
  currentRevision?(): Promise<number>;
  /** Everything before this revision may be forgotten; reads and watches below it fail with `CompactedError`. */
  readonly compactedRevision: number;
  get(key: string, options?: { readonly revision?: number | undefined }): Promise<Entry<V> | undefined>;
  range(options: RangeOptions): Promise<RangeResult<V>>;
  put(key: string, value: V, options?: PutOptions): Promise<CommitResult<V>>;
  /** Removing an absent key changes nothing: it answers `ok: false` with no `current`, whatever was expected. */
  remove(key: string, options?: { readonly expected?: ExpectedRevision }): Promise<CommitResult<V>>;
  /**
   * Fails (through `onError`) with `CompactedError` when `afterRevision` lies before the compacted revision; one in the future
   * is waited for. The watcher is first called after `watch` has returned. A watcher that throws is ended with its own error.
   */
  watch(options: WatchOptions, watcher: Watcher<V>): Subscription;
  /** Forgets history before `revision`; an already compacted one changes nothing, one in the future is refused. */
  compact(revision: number): Promise<void>;
  /** Absent: this backend does not know when something was written. */
  readonly history?: StoreHistory | undefined;
  /** Bytes on disk or in memory, as the backend can tell. */
  size(): Promise<number>;
  /** Finishes the writes under way, ends all watches with `StoreClosedError`; what is called later fails with it. */
  close(): Promise<void>;
}

/** The asked revision has been compacted away: etcd's `ErrCompacted`, which the API server answers with 410 Gone. */
export class CompactedError extends Error {
  override readonly name = 'CompactedError';
  readonly compactedRevision: number;
  constructor(compactedRevision: number) {
    super('mvcc: required revision has been compacted');
    this.compactedRevision = compactedRevision;
  }
}

/** The asked revision lies in the future of this store: etcd's `ErrFutureRev`. */
export class FutureRevisionError extends Error {
  override readonly name = 'FutureRevisionError';
  readonly revision: number;
  constructor(revision: number) {
    super('mvcc: required revision is a future revision');
    this.revision = revision;
  }
}

/** The backend cannot take writes now (full disk, failing disk, lost quorum); nothing of the failed write stays. Reads go on. */
export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
  constructor(reason: string, options?: ErrorOptions) {
    super(`storage is unavailable: ${reason}`, options);
  }
}

/** A backend of its own process refused a call or did not answer; the message is what it says, and is told to clients as it is. */
export class BackendError extends Error {
  override readonly name: string = 'BackendError';

  /** Whether a write was refused for its size; it has left nothing. */
  get tooLarge(): boolean {
    return false;
  }
}

/** The store has been closed: what every later call and every open watch ends with. */
export class StoreClosedError extends Error {
  override readonly name = 'StoreClosedError';
  constructor() {
    super('the store is closed');
  }
}

/** The first key after all that start with `prefix`: `prefixEnd('/registry/pods/')` is `/registry/pods0`. */
export function prefixEnd(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}
