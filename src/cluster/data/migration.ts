/**
 * `coracle migrate`: all objects of one store into another, of the same kind or not, with nobody at work on either. Into a folder it happens
 * whole or not at all; into etcd it can be interrupted and done again.
 */
import type { Clock } from '../../base/clock.ts';
import { lockDirectory } from '../../storage/lmdb/directory-lock.ts';
import { lmdbSource } from '../../storage/transfer/lmdb-source.ts';
import { fillLmdb } from '../../storage/transfer/lmdb-target.ts';
import { checkTarget, fillStore } from '../../storage/transfer/store-target.ts';
import type { TransferSource } from '../../storage/transfer/transfer.ts';
import { CommandError } from '../command-error.ts';
import { type Report, reportStep } from '../processes/progress.ts';
import { closePlaces, type EtcdPlace, openPlaces, sourceOfPlaces } from './etcd-places.ts';
import {
  asideName,
  checkIdle,
  type EtcdAccess,
  overlap,
  parseStoreAddress,
  registryPrefix,
  type StoreAddress,
  toldAsCommand,
} from './store-address.ts';

export interface MigrateCommand extends EtcdAccess {
  readonly from: string;
  readonly to: string;
  /** What the API servers of a source or target in etcd are given as `--etcd-servers-overrides`. */
  readonly fromOverrides?: string | undefined;
  readonly toOverrides?: string | undefined;
  readonly replace?: boolean | undefined;
  /** Leave etcd's revisions where they are, though they are lower than those that clients know. */
  readonly lowerRevisions?: boolean | undefined;
}

export interface MigrateSurroundings {
  readonly clock: Clock;
  readonly report: Report;
  /** How long it is listened whether somebody is at work on etcd. */
  readonly listenMs?: number | undefined;
}

export interface Migrated {
  readonly objects: number;
  /** Where the store went that was there before. */
  readonly setAside: string | undefined;
}

export async function migrate(command: MigrateCommand, surroundings: MigrateSurroundings): Promise<Migrated> {
  const from = parseStoreAddress(command.from, '--from', command.fromOverrides);
  const to = parseStoreAddress(command.to, '--to', command.toOverrides);
  if (overlap(from, to)) throw new CommandError('--from and --to are the same store.', 'Name another one with --to.');
  try {
    await using source = await openExclusively(from, command, surroundings);
    return await fill(to, source, { command, surroundings });
  } catch (error) {
    throw toldAsCommand(error, adviceFor(to));
  }
}

/** What is read from it ends with an error when somebody has written meanwhile: what was copied is then not what there is. */
async function openExclusively(
  address: StoreAddress,
  access: EtcdAccess,
  { clock, report, listenMs }: MigrateSurroundings,
): Promise<TransferSource> {
  if (address.kind === 'lmdb') {
    const source = await lmdbSource(address.path);
    const lock = await lockDirectory(address.path, process.pid).catch(async (error: unknown) => {
      await source[Symbol.asyncDispose]();
      throw error;
    });
    return {
      ...source,
      async [Symbol.asyncDispose]() {
        await source[Symbol.asyncDispose]();
        await lock.release();
      },
    };
  }
  const places = await openPlaces(address, access, clock);
  try {
    await idle(places, 'source', { clock, report, listenMs });
  } catch (error) {
    await closePlaces(places);
    throw error;
  }
  return sourceOfPlaces(places, { clock, alone: true });
}

/** Rejects when an API server works on one of them. */
async function idle(
  places: readonly EtcdPlace[],
  side: 'source' | 'target',
  { clock, report, listenMs }: MigrateSurroundings,
): Promise<void> {
  await reportStep(report, clock)(`nobody is at work on the ${side}`, async () => {
    await Promise.all(places.map(({ store }) => checkIdle(store, { clock, listenMs })));
  });
}

interface Filling {
  readonly command: MigrateCommand;
  readonly surroundings: MigrateSurroundings;
}

async function fill(to: StoreAddress, source: TransferSource, { command, surroundings }: Filling): Promise<Migrated> {
  const { clock, report } = surroundings;
  const { replace = false } = command;
  const step = reportStep(report, clock);
  const nowMs = clock.now();
  if (to.kind === 'lmdb') {
    const setAside = asideName(to.path, { replace, nowMs });
    const options = { revision: source.revision, nowMs, setAside };
    const objects = await step('copied and compared', (told) => fillLmdb(to.path, source, { ...options, told }));
    return { objects, setAside };
  }
  const places = await openPlaces(to, command, clock);
  try {
    await idle(places, 'target', surroundings);
    const revision = command.lowerRevisions ? 0 : source.revision;
    const options = { prefix: registryPrefix, replace, revision, nowMs };
    const toldRaising = (done: number, all: number) =>
      report({ kind: 'note', text: `raising the revision, ${done} of ${all}` });
    const optionsFor = ({ keeps }: EtcdPlace) => (places.length > 1 ? { ...options, keeps } : options);
    for (const place of places) await checkTarget(place.store, source, optionsFor(place));
    let objects = 0;
    for (const place of places) {
      const where = places.length > 1 ? ` at ${place.endpoints.join(', ')}` : '';
      objects += await step(`copied and compared${where}`, (told) =>
        fillStore(place.store, source, { ...optionsFor(place), told, toldRaising }),
      );
    }
    return { objects, setAside: undefined };
  } finally {
    await closePlaces(places);
  }
}

function adviceFor(to: StoreAddress): string {
  return to.kind === 'lmdb'
    ? 'Stop what works on the stores, and name a new folder; or give --replace, and the store that is there is moved aside.'
    : 'Stop every API server of both stores. With --replace, whatever the target holds becomes what the source holds, and what was ' +
        'copied before is not copied again; with --lower-revisions its revisions may be lower than those that clients know, and ' +
        'every client has to be started anew.';
}
