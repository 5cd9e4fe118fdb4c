/**
 * The LMDB database under the store: one table from revision to record, with a format record at 0. This file alone knows
 * the library and its ways; `page-check.ts` looks at the file before the library gets it.
 *
 * Invariants: a transaction is whole or not at all, and on disk when its promise resolves (`overlappingSync: false`); at most
 * one is under way (the commit queue sees to that); records are only ever added at the end of the table.
 */
import { closeSync, existsSync, openSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Transaction as ReadTransaction } from 'lmdb';
import { StorageUnavailableError } from '../store.ts';
import { findPageProblem } from './page-check.ts';
import {
  isWhole,
  type RecordHeader,
  readHeader,
  readValue,
  recordLength,
  type WrittenRecord,
  writeRecord,
} from './record.ts';

export interface Transaction {
  /** In rising order of revision, and above all that the table holds. */
  readonly puts: readonly WrittenRecord[];
  /** Revisions whose records go. */
  readonly removals: readonly number[];
  /** Written into the format record if it is higher than what stands there. */
  readonly compactedRevision: number;
}

export interface ScannedRecord extends RecordHeader {
  readonly revision: number;
  /** Length of the record. */
  readonly bytes: number;
}

export type DataDirectoryProblem = 'foreign' | 'newer' | 'damaged' | 'unusable';

/** The directory holds something that this program cannot take for its own data. The message says what to do. */
export class DataDirectoryError extends Error {
  override readonly name = 'DataDirectoryError';
  readonly path: string;
  readonly reason: DataDirectoryProblem;
  constructor(path: string, reason: DataDirectoryProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.path = path;
    this.reason = reason;
  }
}

/** What is used of the library's database, with the options that its own typings leave out. */
interface Table {
  put(key: number, value: Buffer, options?: { readonly append: boolean }): Promise<boolean>;
  remove(key: number): Promise<boolean>;
  batch(write: () => void): Promise<boolean>;
  transactionSync(run: () => void): void;
  getBinary(key: number): Buffer | undefined;
  /** The buffer is valid until the next read; of its properties, only `length` tells how long the record is. */
  getBinaryFast(key: number, options?: { readonly transaction: ReadTransaction }): Buffer | undefined;
  getKeys(range: { readonly start?: number; readonly limit?: number }): Iterable<number>;
  useReadTransaction(): ReadTransaction;
  /** Forgets readers of other processes that have died; what they read could not be given back. */
  readerCheck(): number;
  close(): Promise<void>;
}

interface FormatRecord {
  readonly format: string;
  readonly version: number;
  readonly compactedRevision: number;
}

const databaseFile = 'data.mdb';
const formatName = 'coracle-store';
/** 1 knew neither the time of a change nor checksums; it is read, and raised by the first write. */
const formatVersion = 2;
/**
 * Of new databases; others keep theirs. A record of more than half a page takes whole pages for itself, and most objects of a cluster have 1 to
 * 4 kB: with the library's 4096 one of 2 kB would take 4.
 */
const pageBytes = 8192;
/** LMDB writes many pages at once, so a disk with less room than this may have none for them. */
const fullDiskBytes = 1 << 20;
/** Where the format record lies: before every revision. */
const formatKey = 0;

export class LmdbDatabase {
  readonly #path: string;
  readonly #root: Table;
  #format: Pick<FormatRecord, 'version' | 'compactedRevision'> = { version: formatVersion, compactedRevision: 0 };
  #broken: Error | undefined;

  /** `readOnly`: beside the process that writes, whose database must exist. */
  static async open(path: string, { readOnly = false } = {}): Promise<LmdbDatabase> {
    // Pages that somebody is writing would look damaged.
    if (!readOnly) checkFile(path);
    // Loaded here so that programs which keep everything in memory do not pay for it.
    const { open } = await import('lmdb').catch((cause: unknown) => {
      throw new StorageUnavailableError('the npm package lmdb, an optional dependency, is not installed', { cause });
    });
    let root: Table;
    try {
      root = open({
        path,
        noSubdir: false,
        encoding: 'binary',
        overlappingSync: false,
        readOnly,
        pageSize: pageBytes,
        // The commit queue makes the batches; the library's own would end in a promise that nobody can catch.
        eventTurnBatching: false,
      }) as unknown as Table;
    } catch (error) {
      throw unusable(path, error);
    }
    const database = new LmdbDatabase(path, root);
    try {
      await database.#checkFormat(readOnly);
    } catch (error) {
      await root.close();
      throw error;
    }
    return database;
  }

  private constructor(path: string, root: Table) {
    this.#path = path;
    this.#root = root;
  }

  get compactedRevision(): number {
    return this.#format.compactedRevision;
  }

  /** Resolves when all of it is on disk; rejects with `StorageUnavailableError`, and then none of it happened. */
  async write({ puts, removals, compactedRevision }: Transaction): Promise<void> {
    if (this.#broken) throw new StorageUnavailableError(this.#broken.message, { cause: this.#broken });
    const records = encodeRecords(puts);
    const format = this.#formatAfter(puts.length, compactedRevision);
    let appended: Promise<boolean> = Promise.resolve(true);
    const committed = this.#root.batch(() => {
      for (const [i, record] of records.entries()) {
        const done = this.#root.put(puts[i]!.revision, record, { append: true });
        // Since revisions rise, the others have their place at the end of the table if the first one has.
        if (i === 0) appended = done;
        else done.catch(ignore);
      }
      for (const revision of removals) this.#root.remove(revision).catch(ignore);
      if (format !== this.#format) this.#root.put(formatKey, encodeFormat(format)).catch(ignore);
    });
    try {
      const [, inPlace] = await Promise.all([committed, appended]);
      if (!inPlace) throw new Error('another program has written to the database');
    } catch (error) {
      throw this.#explain(await causeOf(error as Error));
    }
    if (format.compactedRevision > this.#format.compactedRevision) this.#root.readerCheck();
    this.#format = format;
  }

  /** The value under a revision. A snapshot sees records that have been removed since it was taken. */
  read(revision: number, snapshot?: Snapshot): Buffer {
    return readValue(this.#record(revision, snapshot));
  }

  /** When the change of this revision was made; undefined: not known, or no longer. */
  timeOf(revision: number): number | undefined {
    const record = this.#root.getBinaryFast(revision);
    return record ? readHeader(record).writtenAtMs || undefined : undefined;
  }

  snapshot(): Snapshot {
    const transaction = this.#root.useReadTransaction();
    return { transaction, close: () => transaction.done() };
  }

  /** All changes in rising order of revision, without their values, which are proved whole on the way. */
  *scan(snapshot?: Snapshot): Iterable<ScannedRecord> {
    for (const revision of this.#root.getKeys({
      start: formatKey + 1,
      ...(snapshot ? { transaction: snapshot.transaction } : {}),
    })) {
      const record = this.#record(revision, snapshot);
      yield { revision, bytes: record.length, ...readHeader(record) };
    }
  }

  size(): number {
    return statSync(join(this.#path, databaseFile)).size;
  }

  close(): Promise<void> {
    return this.#root.close();
  }

  /** The buffer is valid until the next read. */
  #record(revision: number, snapshot: Snapshot | undefined): Buffer {
    const record = this.#root.getBinaryFast(revision, snapshot);
    if (!record || !isWhole(record, revision))
      throw damaged(this.#path, `the record of revision ${revision} is ${record ? 'not what was written' : 'missing'}`);
    return record;
  }

  #formatAfter(puts: number, compactedRevision: number): Pick<FormatRecord, 'version' | 'compactedRevision'> {
    const version = puts > 0 ? formatVersion : this.#format.version;
    if (version === this.#format.version && compactedRevision <= this.#format.compactedRevision) return this.#format;
    return { version, compactedRevision: Math.max(compactedRevision, this.#format.compactedRevision) };
  }

  async #checkFormat(readOnly: boolean): Promise<void> {
    const bytes = this.#root.getBinary(formatKey);
    if (!bytes) {
      for (const _ of this.#root.getKeys({ limit: 1 })) throw foreign(this.#path);
      if (readOnly) return;
      try {
        await this.#root.put(formatKey, encodeFormat(this.#format));
      } catch (error) {
        throw this.#explain(await causeOf(error as Error));
      }
      return;
    }
    const record = decodeFormat(bytes);
    if (!record) throw foreign(this.#path);
    if (record.version > formatVersion) {
      throw new DataDirectoryError(
        this.#path,
        'newer',
        `the data directory ${this.#path} was written by a newer release (format ${record.version}, this one reads up to ` +
          `${formatVersion}): run that release, or choose another data directory`,
      );
    }
    this.#format = record;
  }

  /** After a failed commit LMDB may take no further one; its next would then hang, so an empty transaction tries first. */
  #explain(cause: Error): StorageUnavailableError {
    try {
      this.#root.transactionSync(() => {});
    } catch (error) {
      this.#broken = new Error(
        `${this.#path} takes no more writes after an error, restart: ${(error as Error).message}`,
      );
    }
    const { bavail, bsize } = statfsSync(this.#path);
    const freeBytes = bavail * bsize;
    // The end of a disk shows itself as a write that came out shorter than asked for, which LMDB takes for a failure of the disk.
    const reason = freeBytes < fullDiskBytes ? 'No space left on device' : cause.message;
    const freeMegabytes = Math.floor(freeBytes / 1e6);
    return new StorageUnavailableError(
      `cannot write to ${this.#path}: ${reason} (${freeMegabytes} MB free on this disk)`,
      { cause },
    );
  }
}

/** How the library writes revisions as keys, for those who read pages by themselves. */
export async function revisionReader(): Promise<(key: Buffer) => number> {
  const { bufferToKeyValue } = (await import('lmdb')) as unknown as { bufferToKeyValue(key: Buffer): number };
  return bufferToKeyValue;
}

export interface Snapshot {
  readonly transaction: ReadTransaction;
  close(): void;
}

/** All records in one block of memory: the library has to look up the address of each block. */
function encodeRecords(puts: readonly WrittenRecord[]): Buffer[] {
  const lengths = puts.map(({ header, value }) => recordLength(Buffer.byteLength(header.key), value?.length ?? 0));
  const block = Buffer.allocUnsafeSlow(lengths.reduce((sum, length) => sum + length, 0));
  let start = 0;
  return puts.map((put) => {
    const end = writeRecord(block, start, put);
    const record = block.subarray(start, end);
    start = end;
    return record;
  });
}

function encodeFormat({ version, compactedRevision }: Pick<FormatRecord, 'version' | 'compactedRevision'>): Buffer {
  const record: FormatRecord = { format: formatName, version, compactedRevision };
  return Buffer.from(JSON.stringify(record));
}

function decodeFormat(bytes: Buffer): FormatRecord | undefined {
  try {
    const record = JSON.parse(bytes.toString()) as FormatRecord;
    return record.format === formatName && record.version >= 1 ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Throws a `DataDirectoryError` about a file that is not a whole database. Nobody may be writing to it. */
export function checkFile(path: string): void {
  const file = join(path, databaseFile);
  if (!existsSync(file)) return;
  let problem: ReturnType<typeof findPageProblem>;
  try {
    closeSync(openSync(file, 'r+'));
    problem = findPageProblem(file);
  } catch (error) {
    throw unusable(path, error);
  }
  if (problem?.is === 'foreign') throw foreign(path);
  if (problem) throw damaged(path, problem.detail);
}

function damaged(path: string, detail: string): DataDirectoryError {
  return new DataDirectoryError(
    path,
    'damaged',
    `the data directory ${path} is damaged: ${detail}: restore the last snapshot into a new directory ` +
      '(coracle snapshot restore FILE --data-dir NEW), or keep what can still be read ' +
      `(coracle snapshot save FILE --salvage --from lmdb:${path})`,
  );
}

function foreign(path: string): DataDirectoryError {
  return new DataDirectoryError(
    path,
    'foreign',
    `the data directory ${path} holds another program's data: choose another data directory, or move data.mdb out of it`,
  );
}

function unusable(path: string, error: unknown): DataDirectoryError {
  const reason = (error as Error).message;
  return new DataDirectoryError(
    path,
    'unusable',
    `the data directory ${path} cannot be used: ${reason}: give this user the right to write there, or choose another one`,
    { cause: error },
  );
}

/** A failed commit hides its cause in a promise of its own, which must be caught even where nobody asks. */
async function causeOf(error: Error & { readonly commitError?: Promise<never> }): Promise<Error> {
  if (!error.commitError) return error;
  return error.commitError.catch((cause: Error) => cause);
}

function ignore(): void {}
