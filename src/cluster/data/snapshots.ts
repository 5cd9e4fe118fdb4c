/**
 * `coracle snapshot`: all objects of a cluster in one file, taken while it runs; a new store made of such a file; and whether a file is
 * whole. Keys and certificates (`pki/`) are no part of it.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { lmdbSource, type SalvagedSource, salvageSource } from '../../storage/transfer/lmdb-source.ts';
import { fillLmdb } from '../../storage/transfer/lmdb-target.ts';
import { openSnapshot, type SnapshotHead, saveSnapshot, verifySnapshot } from '../../storage/transfer/snapshot-file.ts';
import type { Told, TransferSource } from '../../storage/transfer/transfer.ts';
import { CommandError } from '../command-error.ts';
import { type Report, reportStep } from '../processes/progress.ts';
import { versions } from '../versions.ts';
import { layOut, openDataDirectory } from './data-directory.ts';
import { openPlaces, sourceOfPlaces } from './etcd-places.ts';
import { asideName, type EtcdAccess, parseStoreAddress, type StoreAddress, toldAsCommand } from './store-address.ts';

export interface SnapshotSurroundings {
  readonly clock: Clock;
  readonly report: Report;
}

export interface SaveCommand extends EtcdAccess {
  /** A store; default: that of the cluster in `dataDir`. */
  readonly from?: string | undefined;
  /** What the API servers of a store in etcd are given as `--etcd-servers-overrides`. */
  readonly fromOverrides?: string | undefined;
  readonly dataDir: string;
  readonly replace?: boolean | undefined;
  /** Of a damaged store: what can still be read. */
  readonly salvage?: boolean | undefined;
}

export interface SavedSnapshot {
  readonly head: SnapshotHead;
  readonly bytes: number;
  /** Pages and records that could not be read; only of a store that was salvaged. */
  readonly lost: number;
}

export async function saveSnapshotOf(
  file: string,
  command: SaveCommand,
  { clock, report }: SnapshotSurroundings,
): Promise<SavedSnapshot> {
  const { from, replace = false } = command;
  const address: StoreAddress = from
    ? parseStoreAddress(from, '--from', command.fromOverrides)
    : { kind: 'lmdb', path: layOut(command.dataDir).store };
  try {
    const salvaged = command.salvage ? await openSalvage(address) : undefined;
    await using source = salvaged ?? (await openSource(address, command, clock));
    const head = {
      takenAt: new Date(clock.now()).toISOString(),
      program: `coracle ${versions.coracle}`,
      from: address.kind === 'lmdb' ? `lmdb:${address.path}` : `etcd:${address.endpoints.join(',')}`,
    };
    const step = reportStep(report, clock);
    const bytes = await step(`saved to ${file}`, (told) => saveSnapshot(file, source, { head, replace, told }));
    const saved = await step('read again and found whole', (told) => verifySnapshot(file, told));
    return { bytes, head: saved, lost: salvaged?.lost ?? 0 };
  } catch (error) {
    throw toldAsCommand(error, saveAdvice(file));
  }
}

export interface RestoreCommand {
  /** A folder that becomes a store (`lmdb:DIRECTORY`); default: the cluster in `dataDir`. */
  readonly to?: string | undefined;
  readonly dataDir: string;
  readonly replace?: boolean | undefined;
  /** By how much the new store's revision is above the snapshot's. */
  readonly bumpRevision?: number | undefined;
}

export interface RestoredSnapshot {
  readonly head: SnapshotHead;
  readonly path: string;
  readonly revision: number;
  /** Where the store went that was there before. */
  readonly setAside: string | undefined;
  /** The cluster will make keys of its own: those of before are not there. */
  readonly lacksKeys: boolean;
}

/** As etcd's documents recommend it: more than can have been written after the snapshot was taken. */
const defaultBump = 1_000_000_000;

export async function restoreSnapshot(
  file: string,
  command: RestoreCommand,
  { clock, report }: SnapshotSurroundings,
): Promise<RestoredSnapshot> {
  const { bumpRevision = defaultBump, replace } = command;
  try {
    await using snapshot = await openSnapshot(file);
    const path = restoreTarget(command);
    const revision = snapshot.revision + bumpRevision;
    const nowMs = clock.now();
    const setAside = asideName(path, { replace, nowMs });
    const step = reportStep(report, clock);
    await step(`restored to ${path}`, (told) => fillLmdb(path, snapshot, { revision, nowMs, setAside, told }));
    const lacksKeys = command.to === undefined && !existsSync(join(layOut(command.dataDir).pki, 'ca.crt'));
    return { head: snapshot.head, path, revision, setAside, lacksKeys };
  } catch (error) {
    throw toldAsCommand(error, restoreAdvice);
  }
}

export async function checkSnapshot(file: string, { clock, report }: SnapshotSurroundings): Promise<SnapshotHead> {
  try {
    return await reportStep(report, clock)('read', (told: Told) => verifySnapshot(file, told));
  } catch (error) {
    throw toldAsCommand(error, 'Use another snapshot.');
  }
}

async function openSource(address: StoreAddress, access: EtcdAccess, clock: Clock): Promise<TransferSource> {
  if (address.kind === 'lmdb') return lmdbSource(address.path);
  return sourceOfPlaces(await openPlaces(address, access, clock), { clock });
}

function openSalvage(address: StoreAddress): Promise<SalvagedSource> {
  if (address.kind === 'lmdb') return salvageSource(address.path);
  throw new CommandError('--salvage is for stores in a folder.', 'Name one with --from lmdb:DIRECTORY.');
}

function restoreTarget({ to, dataDir }: RestoreCommand): string {
  if (to === undefined) return openDataDirectory(dataDir).store;
  const address = parseStoreAddress(to, '--to');
  if (address.kind === 'lmdb') return address.path;
  throw new CommandError(
    'a snapshot is not restored into etcd.',
    'Restore it into a folder (--to lmdb:DIRECTORY), then: coracle migrate --from lmdb:DIRECTORY --to etcd:URL.',
  );
}

function saveAdvice(file: string): string {
  return existsSync(file)
    ? 'Choose another name, or give --replace.'
    : 'Give the data directory of the cluster with --data-dir, or a store with --from, and a file in a folder with room.';
}

const restoreAdvice =
  'Choose a new --data-dir; or give --replace, and the store that is there is moved aside. A damaged file cannot be restored.';
