/**
 * Makes an LMDB store of a source's objects, whole or not at all: it is filled and checked beside its place and moved there at the end.
 * Revisions stay what they were, history is not taken along: who watched from before is told that it is gone (410), and lists anew.
 */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pid } from 'node:process';
import { LmdbDatabase } from '../lmdb/database.ts';
import { type DirectoryLock, lockDirectory } from '../lmdb/directory-lock.ts';
import type { WrittenRecord } from '../lmdb/record.ts';
import { Digests } from './digests.ts';
import { type Told, TransferError, type TransferSource, tellEvery } from './transfer.ts';

export interface LmdbTargetOptions {
  /** The new store's revision; at least that of the source. Everything before it counts as compacted. */
  readonly revision: number;
  /** When it is made, for the changes' times. */
  readonly nowMs: number;
  /** A store that is there is moved aside, to this name beside it. */
  readonly setAside?: string | undefined;
  readonly told?: Told | undefined;
}

const transactionObjects = 2000;
const transactionBytes = 8 << 20;

/** Resolves to the number of objects. */
export async function fillLmdb(path: string, source: TransferSource, options: LmdbTargetOptions): Promise<number> {
  const { setAside } = options;
  const lock = await lockExisting(path, setAside);
  const making = join(dirname(path), `${basename(path)}.making-${pid}`);
  try {
    await mkdir(making, { recursive: true, mode: 0o700 });
    const objects = await make(making, source, options);
    await lock?.release();
    if (setAside !== undefined && existsSync(path)) await rename(path, join(dirname(path), setAside));
    await rename(making, path);
    return objects;
  } catch (error) {
    await lock?.release();
    throw error;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

async function make(path: string, source: TransferSource, options: LmdbTargetOptions): Promise<number> {
  const database = await LmdbDatabase.open(path);
  try {
    const digests = await copy(database, source, options);
    await database.write({ puts: [], removals: [], compactedRevision: options.revision });
    check(database, digests);
    return digests.size;
  } finally {
    await database.close();
  }
}

async function copy(
  database: LmdbDatabase,
  source: TransferSource,
  { nowMs, told }: LmdbTargetOptions,
): Promise<Digests> {
  const digests = new Digests();
  let puts: WrittenRecord[] = [];
  let bytes = 0;
  let last = 0;
  const flush = async () => {
    await database.write({ puts, removals: [], compactedRevision: 0 });
    puts = [];
    bytes = 0;
  };
  for await (const { key, value, revision, createRevision, expiresAtMs } of source.read()) {
    if (revision <= last) throw new TransferError(`${key} shares revision ${revision} with another object`);
    last = revision;
    digests.add(key, value);
    const header = { key, createRevision, expiresAtMs, removed: false, writtenAtMs: nowMs };
    puts.push({ revision, header, value });
    bytes += value.length;
    if (puts.length >= transactionObjects || bytes >= transactionBytes) await flush();
    if (digests.size % tellEvery === 0) told?.(digests.size, source.count);
  }
  await flush();
  return digests;
}

/** Object by object, from what lies in the new database. */
function check(database: LmdbDatabase, expected: Digests): void {
  for (const { key, revision } of database.scan()) expected.meet(key, database.read(revision));
  expected.finish();
}

async function lockExisting(path: string, setAside: string | undefined): Promise<DirectoryLock | undefined> {
  if (!existsSync(path)) return undefined;
  const lock = await lockDirectory(path, pid);
  if (setAside !== undefined || !existsSync(join(path, 'data.mdb'))) return lock;
  await lock.release();
  throw new TransferError(`there is a store in ${path} already`);
}
