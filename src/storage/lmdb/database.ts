/**
 * The LMDB database under the store: one table from revision to record, with a format record at 0. This file alone knows
 * the library and its ways.
 *
 * Invariants: a transaction is whole or not at all, and on disk when its promise resolves (`overlappingSync: false`); at most
 * one is under way (the commit queue sees to that); records are only ever added at the end of the table.
 */
import { closeSync, existsSync, openSync, readSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Transaction as ReadTransaction } from 'lmdb';
import { StorageUnavailableError } from '../store.ts';
import { type RecordHeader, readHeader, readValue, recordLength, writeRecord } from './record.ts';

export interface PutRecord {
  readonly revision: number;
  readonly header: RecordHeader;
  readonly value: Buffer | undefined;
}

export interface Transaction {
  /** In rising order of revision, and above all that the table holds. */
  readonly puts: readonly PutRecord[];
  /** Revisions whose records go. */
  readonly removals: readonly number[];
  /** Written into the format record if it is higher than what stands there. */
  readonly compactedRevision: number;
}

export interface ScannedRecord extends RecordHeader {
  readonly revision: number;
}

/** The directory holds something that this program cannot take for its own data. */
export class DataDirectoryError extends Error {
  override readonly name = 'DataDirectoryError';
  readonly path: string;
  readonly reason: 'foreign' | 'newer' | 'unusable';
  constructor(path: string, reason: 'foreign' | 'newer' | 'unusable', message: string, options?: ErrorOptions) {
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
  close(): Promise<void>;
}

interface FormatRecord {
  readonly format: string;
  readonly version: number;
  readonly compactedRevision: number;
}

const formatName = 'coracle-store';
const formatVersion = 1;
/** Where the format record lies: before every revision. */
const formatKey = 0;

export class LmdbDatabase {
  readonly #path: string;
  readonly #root: Table;
  #compactedRevision = 0;
  #broken: Error | undefined;

  static async open(path: string): Promise<LmdbDatabase> {
    checkMagic(path);
    // Loaded here so that programs which keep everything in memory do not pay for it.
    const { open } = await import('lmdb');
    let root: Table;
    try {
      root = open({
        path,
        noSubdir: false,
        encoding: 'binary',
        overlappingSync: false,
        // The commit queue makes the batches; the library's own would end in a promise that nobody can catch.
        eventTurnBatching: false,
      }) as unknown as Table;
    } catch (error) {
      throw unusable(path, error);
    }
    const database = new LmdbDatabase(path, root);
    try {
      await database.#checkFormat();
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
    return this.#compactedRevision;
  }

  /** Resolves when all of it is on disk; rejects with `StorageUnavailableError`, and then none of it happened. */
  async write({ puts, removals, compactedRevision }: Transaction): Promise<void> {
    if (this.#broken) throw new StorageUnavailableError(this.#broken.message, { cause: this.#broken });
    const records = encodeRecords(puts);
    let appended: Promise<boolean> = Promise.resolve(true);
    const committed = this.#root.batch(() => {
      for (const [i, record] of records.entries()) {
        const done = this.#root.put(puts[i]!.revision, record, { append: true });
        // Since revisions rise, the others have their place at the end of the table if the first one has.
        if (i === 0) appended = done;
        else done.catch(ignore);
      }
      for (const revision of removals) this.#root.remove(revision).catch(ignore);
      if (compactedRevision > this.#compactedRevision)
        this.#root.put(formatKey, encodeFormat(compactedRevision)).catch(ignore);
    });
    try {
      const [, inPlace] = await Promise.all([committed, appended]);
      if (!inPlace) throw new Error('another program has written to the database');
    } catch (error) {
      throw this.#explain(await causeOf(error as Error));
    }
    this.#compactedRevision = Math.max(this.#compactedRevision, compactedRevision);
  }

  /** The value under a revision. A snapshot sees records that have been removed since it was taken. */
  read(revision: number, snapshot?: Snapshot): Buffer {
    const record = this.#root.getBinaryFast(revision, snapshot);
    if (!record) throw new Error(`the record of revision ${revision} is missing in ${this.#path}`);
    return readValue(record, record.length);
  }

  snapshot(): Snapshot {
    const transaction = this.#root.useReadTransaction();
    return { transaction, close: () => transaction.done() };
  }

  /** All changes in rising order of revision, without their values. */
  *scan(): Iterable<ScannedRecord> {
    for (const revision of this.#root.getKeys({ start: formatKey + 1 })) {
      const record = this.#root.getBinaryFast(revision);
      if (record) yield { revision, ...readHeader(record) };
    }
  }

  size(): number {
    return statSync(join(this.#path, 'data.mdb')).size;
  }

  close(): Promise<void> {
    return this.#root.close();
  }

  async #checkFormat(): Promise<void> {
    const bytes = this.#root.getBinary(formatKey);
    if (!bytes) {
      for (const _ of this.#root.getKeys({ limit: 1 })) throw foreign(this.#path);
      try {
        await this.#root.put(formatKey, encodeFormat(0));
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
    this.#compactedRevision = record.compactedRevision;
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
    const freeMegabytes = Math.floor((bavail * bsize) / 1e6);
    return new StorageUnavailableError(
      `cannot write to ${this.#path}: ${cause.message} (${freeMegabytes} MB free on this disk)`,
      { cause },
    );
  }
}

export interface Snapshot {
  readonly transaction: ReadTransaction;
  close(): void;
}

/** All records in one block of memory: the library has to look up the address of each block. */
function encodeRecords(puts: readonly PutRecord[]): Buffer[] {
  const lengths = puts.map(({ header, value }) => recordLength(Buffer.byteLength(header.key), value?.length ?? 0));
  const block = Buffer.allocUnsafeSlow(lengths.reduce((sum, length) => sum + length, 0));
  let start = 0;
  return puts.map(({ header, value }) => {
    const end = writeRecord(block, start, header, value);
    const record = block.subarray(start, end);
    start = end;
    return record;
  });
}

function encodeFormat(compactedRevision: number): Buffer {
  const record: FormatRecord = { format: formatName, version: formatVersion, compactedRevision };
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

/** The library crashes on a file that is not LMDB's, so its mark is looked for first. */
function checkMagic(path: string): void {
  const file = join(path, 'data.mdb');
  if (!existsSync(file)) return;
  const head = Buffer.alloc(32);
  try {
    const descriptor = openSync(file, 'r+');
    const length = readSync(descriptor, head, 0, head.length, 0);
    closeSync(descriptor);
    // An empty file is what a kill between creating and filling it leaves.
    if (length === 0) return;
  } catch (error) {
    throw unusable(path, error);
  }
  if (head.readUInt32LE(24) !== 0xbeefc0de) throw foreign(path);
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
