/**
 * Group commit: while one transaction is on its way to the disk, the writes that arrive wait, and then go together in the next.
 * Invariants: one transaction at a time, in the order of arrival; a write is reported only when its transaction is on disk;
 * if one fails, everything behind it fails too, for it was decided on the strength of what failed.
 *
 * Removals of compacted records ride along in small portions; without writes they go by themselves.
 */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { LmdbDatabase } from './database.ts';
import type { WrittenRecord } from './record.ts';

/** Something that waits for its turn: a record, a new compacted revision, or an answer that depends on the writes before it. */
export interface QueuedCommit {
  readonly put?: WrittenRecord;
  readonly compactedRevision?: number;
  /** Called in order, all of a transaction in one turn, before any `settle`. Not called after a failure. */
  apply?(): void;
  /** The outcome. */
  settle(error: Error | undefined): void;
}

export interface CommitQueueOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly database: Pick<LmdbDatabase, 'write'>;
  /** Between the `apply`s and the `settle`s of a transaction; must not throw, nor may those. */
  readonly onCommitted: () => void;
  /** Everything queued has failed or is about to; what was assumed of it must be forgotten now. */
  readonly onFailed: () => void;
}

const largestTransactionCommits = 2048;
const largestTransactionBytes = 16 << 20;
const removalsPerTransaction = 256;
const slowCommitMs = 1000;
const hangingCommitMs = 10_000;

export class CommitQueue {
  readonly #options: CommitQueueOptions;
  #waiting: QueuedCommit[] = [];
  #removals: number[] = [];
  #busy = false;
  #flushIsDue = false;
  #closed = false;
  #onIdle: (() => void)[] = [];

  constructor(options: CommitQueueOptions) {
    this.#options = options;
  }

  add(commit: QueuedCommit): void {
    this.#waiting.push(commit);
    this.#flushSoon();
  }

  /** Takes the records of these revisions out of the database when there is time. */
  removeLater(revisions: readonly number[]): void {
    for (const revision of revisions) this.#removals.push(revision);
    this.#flushSoon();
  }

  /** Resolves when all that was added is settled; removals are left for another time. */
  close(): Promise<void> {
    this.#closed = true;
    if (!this.#busy && this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  #flushSoon(): void {
    if (this.#busy || this.#flushIsDue) return;
    this.#flushIsDue = true;
    this.#options.clock.soon(() => {
      this.#flushIsDue = false;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    if (this.#busy) return;
    const commits = this.#takeTransaction();
    const puts = commits.flatMap(({ put }) => put ?? []);
    const compactedRevision = Math.max(0, ...commits.map((commit) => commit.compactedRevision ?? 0));
    // More than come in by these writes, or a load that never pauses would let the file grow for ever.
    const portion = Math.max(removalsPerTransaction, 2 * puts.length);
    const removals = this.#closed ? [] : this.#removals.slice(0, portion);
    this.#busy = true;
    try {
      if (puts.length > 0 || removals.length > 0 || compactedRevision > 0) {
        await this.#timed(this.#options.database.write({ puts, removals, compactedRevision }), puts.length);
      }
      this.#removals.splice(0, removals.length);
      this.#succeed(commits);
    } catch (error) {
      this.#fail(commits, error as Error);
      // Removals wait for the next write that gets through.
      if (this.#waiting.length === 0) return this.#rest();
    } finally {
      this.#busy = false;
    }
    if (this.#waiting.length > 0 || (this.#removals.length > 0 && !this.#closed)) this.#flushSoon();
    if (this.#waiting.length === 0) this.#rest();
  }

  #takeTransaction(): QueuedCommit[] {
    let bytes = 0;
    let count = 0;
    while (count < Math.min(this.#waiting.length, largestTransactionCommits) && bytes < largestTransactionBytes) {
      bytes += this.#waiting[count++]!.put?.value?.length ?? 0;
    }
    return this.#waiting.splice(0, count);
  }

  #succeed(commits: readonly QueuedCommit[]): void {
    for (const commit of commits) commit.apply?.();
    this.#options.onCommitted();
    for (const commit of commits) commit.settle(undefined);
  }

  #fail(commits: readonly QueuedCommit[], error: Error): void {
    const behind = this.#waiting;
    this.#waiting = [];
    this.#options.log.error('a commit failed', { error, writes: commits.length + behind.length });
    this.#options.onFailed();
    for (const commit of [...commits, ...behind]) commit.settle(error);
  }

  #rest(): void {
    const resolvers = this.#onIdle;
    this.#onIdle = [];
    for (const resolve of resolvers) resolve();
  }

  async #timed(commit: Promise<void>, writes: number): Promise<void> {
    const { clock, log } = this.#options;
    const startMs = clock.monotonic();
    const alarm = clock.after(hangingCommitMs, () => {
      log.error('the disk does not finish a commit; writes wait', { waitedMs: hangingCommitMs, writes });
    });
    try {
      await commit;
    } finally {
      alarm.cancel();
    }
    const tookMs = clock.monotonic() - startMs;
    if (tookMs > slowCommitMs) log.warn('the disk is slow: a commit took long', { tookMs, writes });
  }
}
