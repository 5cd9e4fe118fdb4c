/**
 * The durable store of one machine, on LMDB. Which key stands at which revision is known in memory and rebuilt at start; values
 * are read from the database's memory map.
 *
 * A write is decided at once, against the newest head of its key, be that durable or still pending; then it waits in the commit
 * queue for its sync. Invariant: the index holds durable changes only, and readers, watchers and answers come from the index;
 * pending heads serve to decide the next write and nothing else. When a commit fails, all pending heads are dropped.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { pid } from 'node:process';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Codec } from '../codec.ts';
import { Expiry, expiryTime, type Mortal } from '../expiry.ts';
import { checkKey, RevisionIndex, type Version, versionAfter } from '../revision-index.ts';
import { RevisionTimes } from '../revision-times.ts';
import {
  type CommitResult,
  type Entry,
  type ExpectedRevision,
  FutureRevisionError,
  type PutOptions,
  type RangeOptions,
  type RangeResult,
  type Store,
  StoreClosedError,
  type StoreHistory,
  type Subscription,
  type Watcher,
  type WatchOptions,
} from '../store.ts';
import { entryOf, WatchHub } from '../watch-hub.ts';
import { CommitQueue } from './commit-queue.ts';
import { DataDirectoryError, LmdbDatabase, type ScannedRecord, type Snapshot } from './database.ts';
import { type DirectoryLock, lockDirectory } from './directory-lock.ts';
import { longestKeyBytes, type RecordHeader, recordLength } from './record.ts';

export { bufferCodec, type Codec } from '../codec.ts';

export interface LmdbStoreOptions<V> {
  /** The data directory; made if it does not exist. */
  readonly path: string;
  readonly codec: Codec<V>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Rejects with `DataDirectoryLockedError` or `DataDirectoryError`, whose messages say what the user can do. */
export async function openLmdbStore<V>(options: LmdbStoreOptions<V>): Promise<Store<V>> {
  const { path } = options;
  let lock: DirectoryLock;
  try {
    makeDirectory(path);
    lock = await lockDirectory(path, pid);
  } catch (error) {
    if (!(error as NodeJS.ErrnoException).code) throw error;
    throw new DataDirectoryError(
      path,
      'unusable',
      `the data directory ${path} cannot be written: ${(error as Error).message}: ${adviceFor(error)}`,
      { cause: error },
    );
  }
  let database: LmdbDatabase | undefined;
  try {
    database = await LmdbDatabase.open(path);
    return new LmdbStore(options, database, lock);
  } catch (error) {
    await database?.close();
    await lock.release();
    throw error;
  }
}

/** Changes that compaction looks at per macrotask. */
const forgetSlice = 1000;
/** Values and bytes that a range reads per macrotask, some milliseconds' worth. */
const rangeSliceValues = 500;
const rangeSliceBytes = 4 << 20;
/** How long after a failed removal of an expired key the next is tried. */
const expiryRetryMs = 10_000;

class LmdbStore<V> implements Store<V> {
  readonly #codec: Codec<V>;
  readonly #clock: Clock;
  readonly #database: LmdbDatabase;
  readonly #lock: DirectoryLock;
  readonly #index = new RevisionIndex<V>();
  readonly #times = new RevisionTimes();
  readonly #queue: CommitQueue;
  readonly #hub: WatchHub<V>;
  readonly #expiry: Expiry;
  /** The newest undecided change of each key that has one. */
  readonly #pendingHeads = new Map<string, Version<V>>();
  #nextRevision: number;
  /** Versions whose values are held in memory while a commit is being told. */
  #held: Version<V>[] = [];
  #forgetting = false;
  #closing: Promise<void> | undefined;

  constructor({ codec, clock, log }: LmdbStoreOptions<V>, database: LmdbDatabase, lock: DirectoryLock) {
    this.#codec = codec;
    this.#clock = clock;
    this.#database = database;
    this.#lock = lock;
    const leftOver = this.#index.restore(versionsOf<V>(database.scan(), this.#times), database.compactedRevision);
    this.#times.trim(this.#index.compactedRevision);
    this.#nextRevision = this.#index.revision + 1;
    this.#queue = new CommitQueue({
      clock,
      log,
      database,
      onCommitted: () => this.#tellWatchers(),
      onFailed: () => this.#dropPending(),
    });
    this.#hub = new WatchHub<V>({ clock, log, index: this.#index, load: (version) => this.#load(version) });
    this.#expiry = new Expiry({ clock, expire: (mortal) => this.#expire(mortal) });
    for (const version of this.#index.expiring()) this.#expiry.track(version, version.expiresAtMs);
    if (leftOver.length > 0) this.#queue.removeLater(leftOver);
  }

  get revision(): number {
    return this.#index.revision;
  }

  get compactedRevision(): number {
    return this.#index.compactedRevision;
  }

  async get(key: string, options: { readonly revision?: number | undefined } = {}): Promise<Entry<V> | undefined> {
    this.#checkOpen();
    return this.#entry(this.#index.at(key, options.revision));
  }

  async range(options: RangeOptions): Promise<RangeResult<V>> {
    this.#checkOpen();
    const { versions, count, more, revision } = this.#index.select(options);
    const small = versions.length <= rangeSliceValues;
    const entries = small ? versions.map((version) => this.#entry(version)!) : await this.#readSlowly(versions);
    return { entries, count, more, revision };
  }

  async put(key: string, value: V, { expected, ttlSeconds }: PutOptions = {}): Promise<CommitResult<V>> {
    this.#checkOpen();
    checkKey(key);
    if (key.length * 3 > longestKeyBytes && Buffer.byteLength(key) > longestKeyBytes)
      throw new TypeError('key too long');
    return this.#commit(
      key,
      expected,
      { value, bytes: this.#codec.encode(value) },
      expiryTime(this.#clock, ttlSeconds),
    );
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
    if (revision > this.#index.revision) throw new FutureRevisionError(revision);
    if (revision <= this.#index.compactedRevision) return;
    await new Promise<void>((resolve, reject) => {
      this.#queue.add({
        compactedRevision: revision,
        apply: () => {
          if (!this.#index.compact(revision)) return;
          this.#times.trim(revision);
          this.#forgetSoon();
        },
        settle: (error) => (error ? reject(error) : resolve()),
      });
    });
  }

  readonly history: StoreHistory = {
    timeOf: (revision) => this.#database.timeOf(revision),
    revisionAt: (timeMs) => this.#times.revisionAt(timeMs, this.#index.revision),
    kept: () => ({
      changes: this.#index.historyLength,
      bytes: this.#index.historyBytes,
      sinceMs: this.#times.oldestMs,
    }),
  };

  async size(): Promise<number> {
    this.#checkOpen();
    return this.#database.size();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#expiry.close();
    await this.#queue.close();
    this.#hub.close(new StoreClosedError());
    await this.#database.close();
    await this.#lock.release();
  }

  /** One compare-and-set: `content` undefined removes the key. */
  #commit(
    key: string,
    expected: ExpectedRevision,
    content: { readonly value: V; readonly bytes: Buffer } | undefined,
    expiresAtMs: number,
  ): Promise<CommitResult<V>> {
    const pending = this.#pendingHeads.get(key);
    const newest = pending ?? this.#index.head(key);
    const head = newest?.removed ? undefined : newest;
    const revision = this.#nextRevision;
    const bytes = recordLength(Buffer.byteLength(key), content?.bytes.length ?? 0);
    const version = versionAfter(head, { key, revision, expected, content, expiresAtMs, bytes });
    if (!version) return this.#refuse(head, pending !== undefined);
    this.#nextRevision++;
    const writtenAtMs = this.#clock.now();
    this.#pendingHeads.set(key, version);
    return new Promise((resolve, reject) => {
      let previous: Entry<V> | undefined;
      let unreadable: Error | undefined;
      this.#queue.add({
        put: { revision, header: { ...headerOf(version), writtenAtMs }, value: content?.bytes },
        apply: () => {
          this.#times.note(revision, writtenAtMs);
          this.#apply(version);
          try {
            previous = this.#hold(head);
          } catch (error) {
            unreadable = error as Error;
          }
        },
        settle: (error = unreadable) => (error ? reject(error) : resolve({ ok: true, revision, previous })),
      });
    });
  }

  /** A pending head must not be shown before it is durable, so the answer takes its turn behind it. */
  #refuse(head: Version<V> | undefined, pending: boolean): Promise<CommitResult<V>> {
    return new Promise((resolve, reject) => {
      const answer = () => resolve({ ok: false, current: this.#entry(head) });
      if (pending) this.#queue.add({ settle: (error) => (error ? reject(error) : answer()) });
      else answer();
    });
  }

  #apply(version: Version<V>): void {
    this.#index.apply(version);
    this.#held.push(version);
    if (this.#pendingHeads.get(version.key) === version) this.#pendingHeads.delete(version.key);
    this.#expiry.track(version, version.expiresAtMs);
  }

  /** Reads what stood before a change once, for its answer and its event. */
  #hold(head: Version<V> | undefined): Entry<V> | undefined {
    if (!head) return undefined;
    head.value = this.#load(head);
    this.#held.push(head);
    return entryOf(head, head.value);
  }

  #tellWatchers(): void {
    this.#hub.flush();
    for (const version of this.#held) version.value = undefined;
    this.#held = [];
  }

  #dropPending(): void {
    this.#pendingHeads.clear();
    this.#nextRevision = this.#index.revision + 1;
  }

  #load(version: Version<V>, snapshot?: Snapshot): V {
    return version.value ?? this.#codec.decode(this.#database.read(version.revision, snapshot));
  }

  #entry(version: Version<V> | undefined): Entry<V> | undefined {
    return version && entryOf(version, this.#load(version));
  }

  /** Reads many values with breaks for others, from a snapshot that compaction does not touch. */
  async #readSlowly(versions: readonly Version<V>[]): Promise<Entry<V>[]> {
    const snapshot = this.#database.snapshot();
    try {
      const entries: Entry<V>[] = [];
      let bytes = 0;
      for (const [i, version] of versions.entries()) {
        const record = this.#database.read(version.revision, snapshot);
        entries.push(entryOf(version, this.#codec.decode(record)));
        bytes += record.length;
        if (i % rangeSliceValues !== rangeSliceValues - 1 && bytes < rangeSliceBytes) continue;
        bytes = 0;
        await new Promise<void>((resolve) => this.#clock.soon(resolve));
        this.#checkOpen();
      }
      return entries;
    } finally {
      snapshot.close();
    }
  }

  #forgetSoon(): void {
    if (this.#forgetting) return;
    this.#forgetting = true;
    this.#clock.soon(() => {
      this.#forgetting = false;
      const superseded = this.#closing ? undefined : this.#index.forget(forgetSlice);
      if (!superseded) return;
      this.#queue.removeLater(superseded);
      this.#forgetSoon();
    });
  }

  #expire(mortal: Mortal): void {
    this.#commit(mortal.key, mortal.revision, undefined, 0).catch(() => {
      if (!this.#closing) this.#expiry.track(mortal, this.#clock.now() + expiryRetryMs);
    });
  }

  #checkOpen(): void {
    if (this.#closing) throw new StoreClosedError();
  }
}

function headerOf<V>({ key, createRevision, removed, expiresAtMs }: Version<V>): Omit<RecordHeader, 'writtenAtMs'> {
  return { key, createRevision, removed, expiresAtMs };
}

function* versionsOf<V>(records: Iterable<ScannedRecord>, times: RevisionTimes): Iterable<Version<V>> {
  for (const { key, revision, createRevision, removed, expiresAtMs, writtenAtMs, bytes } of records) {
    if (writtenAtMs > 0) times.note(revision, writtenAtMs);
    yield { key, revision, createRevision, removed, expiresAtMs, bytes, value: undefined, previous: undefined };
  }
}

function adviceFor(error: unknown): string {
  const full = ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
  return full ? 'make room on its disk, or choose another one' : 'choose another one, or change its owner';
}

/** With the folders above it. (The runtime's own recursion never ends where the kernel refuses, as under /proc.) */
function makeDirectory(path: string): void {
  if (existsSync(path) && statSync(path).isDirectory()) return;
  const parent = dirname(path);
  if (!existsSync(parent)) makeDirectory(parent);
  mkdirSync(path, { mode: 0o700 });
}
