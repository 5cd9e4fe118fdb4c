/**
 * Reads the objects of an LMDB store as they stand at one moment, beside the process that may be writing to it: one read transaction
 * from beginning to end, so that nothing is torn and nobody waits.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pid } from 'node:process';
import { checkFile, LmdbDatabase, revisionReader } from '../lmdb/database.ts';
import { DataDirectoryLockedError, lockDirectory } from '../lmdb/directory-lock.ts';
import { salvagePages } from '../lmdb/page-check.ts';
import { isWhole, readHeader, readValue } from '../lmdb/record.ts';
import { type StoredObject, TransferError, type TransferSource } from './transfer.ts';

/** Rejects with what `openLmdbStore` rejects with. */
export async function lmdbSource(path: string): Promise<TransferSource> {
  if (!existsSync(join(path, 'data.mdb'))) throw new TransferError(`there is no store in ${path}`);
  await checkWhole(path);
  const database = await LmdbDatabase.open(path, { readOnly: true });
  const snapshot = database.snapshot();
  const heads = new Map<string, Omit<StoredObject, 'value'>>();
  let revision = database.compactedRevision;
  try {
    for (const { removed, bytes: _bytes, writtenAtMs: _writtenAtMs, ...head } of database.scan(snapshot)) {
      if (removed) heads.delete(head.key);
      else heads.set(head.key, head);
      revision = Math.max(revision, head.revision);
    }
  } catch (error) {
    snapshot.close();
    await database.close();
    throw error;
  }
  return {
    revision,
    count: heads.size,
    async *read() {
      const rising = [...heads.values()].sort((a, b) => a.revision - b.revision);
      for (const head of rising) yield { ...head, value: database.read(head.revision, snapshot) };
    },
    async [Symbol.asyncDispose]() {
      snapshot.close();
      await database.close();
    },
  };
}

export interface SalvagedSource extends TransferSource {
  /** Pages of the database that could not be read, and records on others that are not what was written. */
  readonly lost: number;
}

/**
 * The objects that a damaged database still leads to, each in the newest form that is left. What was removed on a lost page comes back, and
 * what changed there is as it was before. Nobody may be writing to it.
 */
export async function salvageSource(path: string): Promise<SalvagedSource> {
  const file = join(path, 'data.mdb');
  if (!existsSync(file)) throw new TransferError(`there is no store in ${path}`);
  const lock = await lockDirectory(path, pid);
  const objects = new Map<string, StoredObject>();
  let revision = 1;
  let lostRecords = 0;
  try {
    const revisionOf = await revisionReader();
    const { lostPages } = salvagePages(file, (key, record) => {
      const number = revisionOf(key);
      if (number === 0) return;
      if (!isWhole(record, number)) {
        lostRecords++;
        return;
      }
      revision = Math.max(revision, number);
      const { removed, writtenAtMs: _writtenAtMs, ...head } = readHeader(record);
      if (removed) objects.delete(head.key);
      else objects.set(head.key, { ...head, revision: number, value: readValue(record) });
    });
    return {
      revision,
      count: objects.size,
      lost: lostPages + lostRecords,
      async *read() {
        yield* [...objects.values()].sort((a, b) => a.revision - b.revision);
      },
      async [Symbol.asyncDispose]() {},
    };
  } finally {
    await lock.release();
  }
}

/** Unless somebody has the store open, who has looked already. */
async function checkWhole(path: string): Promise<void> {
  try {
    const lock = await lockDirectory(path, pid);
    try {
      checkFile(path);
    } finally {
      await lock.release();
    }
  } catch (error) {
    if (!(error instanceof DataDirectoryLockedError)) throw error;
  }
}
