/**
 * Stores as they are named on the command line, and how their objects are got at:
 *
 *     lmdb:/var/lib/coracle              the store of a cluster's data directory, or a folder that is itself a store
 *     etcd:https://10.0.0.1:2379,...     the members of an etcd cluster
 */
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { FlagError } from '../../serving/flags.ts';
import { bufferCodec } from '../../storage/codec.ts';
import { type EtcdStore, openEtcdStore, registryRoot } from '../../storage/etcd/index.ts';
import { DataDirectoryLockedError } from '../../storage/lmdb/directory-lock.ts';
import { prefixEnd } from '../../storage/store.ts';
import { storeSource } from '../../storage/transfer/store-source.ts';
import { TransferError, type TransferSource } from '../../storage/transfer/transfer.ts';
import { readOptionalPem } from '../certificates/pem-files.ts';
import { CommandError } from '../command-error.ts';
import { layOut } from './data-directory.ts';
import { type EtcdOverride, parseOverrides } from './etcd-overrides.ts';

export type StoreAddress = { readonly kind: 'lmdb'; readonly path: string } | EtcdAddress;

export interface EtcdAddress {
  readonly kind: 'etcd';
  readonly endpoints: readonly string[];
  /** What the cluster keeps elsewhere. */
  readonly overrides: readonly EtcdOverride[];
}

/** Flags of upstream's API server, for the side that is etcd. */
export interface EtcdAccess {
  readonly etcdPrefix?: string | undefined;
  readonly etcdCafile?: string | undefined;
  readonly etcdCertfile?: string | undefined;
  readonly etcdKeyfile?: string | undefined;
}

/** What the objects of a cluster lie under; what else is in a store is its owner's. */
export const registryPrefix = '/registry/';
const eventsPrefix = `${registryPrefix}events/`;
/** Upstream's default of `--event-ttl`: etcd does not tell how long an object still lives. */
const eventTtlMs = 3_600_000;
/** Of this server and of upstream's. */
const identityPrefixes = ['kube-apiserver-', 'apiserver-'].map((name) => `${registryPrefix}leases/kube-system/${name}`);
/** API servers renew their Leases every ten seconds. */
const defaultListenMs = 12_000;

/**
 * Throws a `CommandError`; `flag` is where the text was given. `overrides` goes with it for an etcd, in the words of
 * `--etcd-servers-overrides`.
 */
export function parseStoreAddress(text: string, flag: string, overrides?: string | undefined): StoreAddress {
  const [, kind, place = ''] = /^(lmdb|etcd):(.+)$/.exec(text) ?? [];
  if (kind === 'lmdb' && overrides !== undefined)
    throw new CommandError(`${flag}-overrides is for etcd.`, 'A folder has all of a cluster: leave it out.');
  if (kind === 'lmdb') return { kind, path: storeFolder(place) };
  const endpoints = place.split(',');
  if (kind === 'etcd' && endpoints.every(isServerUrl))
    return { kind, endpoints, overrides: overridesFrom(`${flag}-overrides`, overrides, endpoints) };
  throw new CommandError(
    `${flag} ${text} names no store.`,
    'Write it as lmdb:DIRECTORY, or as etcd:https://HOST:2379 (several members: separated by commas).',
  );
}

/** Those that name the cluster's own servers say nothing. */
function overridesFrom(flag: string, text: string | undefined, endpoints: readonly string[]): readonly EtcdOverride[] {
  if (text === undefined) return [];
  const advice = "Give it as to the API server: '/events#https://10.0.0.4:2379;https://10.0.0.5:2379'.";
  try {
    const overrides = parseOverrides(text.split(','));
    const strange = overrides.flatMap(({ servers }) => servers).find((server) => !isServerUrl(server));
    if (strange !== undefined) throw new CommandError(`${flag}: ${strange} is no URL of an etcd server.`, advice);
    return overrides.filter(({ servers }) => !isSameEtcd(servers, endpoints));
  } catch (error) {
    throw error instanceof FlagError ? new CommandError(`${flag} ${text}: ${error.message}`, advice) : error;
  }
}

/** Whether two stores have a place in common. */
export function overlap(a: StoreAddress, b: StoreAddress): boolean {
  if (a.kind === 'lmdb' || b.kind === 'lmdb') return a.kind === 'lmdb' && b.kind === 'lmdb' && a.path === b.path;
  const placesOf = ({ endpoints, overrides }: EtcdAddress) => [endpoints, ...overrides.map(({ servers }) => servers)];
  return placesOf(a).some((one) => placesOf(b).some((other) => isSameEtcd(one, other)));
}

function isSameEtcd(a: readonly string[], b: readonly string[]): boolean {
  return a.some((server) => b.includes(server));
}

function storeFolder(folder: string): string {
  return existsSync(join(folder, 'format')) ? layOut(folder).store : resolve(folder);
}

function isServerUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}

export async function openEtcdAt(
  endpoints: readonly string[],
  access: EtcdAccess,
  clock: Clock,
): Promise<EtcdStore<Buffer>> {
  const pem = (flag: string, path: string | undefined) => readOptionalPem(flag, path ?? '');
  try {
    return await openEtcdStore({
      endpoints,
      clock,
      codec: bufferCodec,
      root: registryRoot(access.etcdPrefix ?? registryPrefix),
      tls: {
        caPem: pem('--etcd-cafile', access.etcdCafile),
        certificatePem: pem('--etcd-certfile', access.etcdCertfile),
        keyPem: pem('--etcd-keyfile', access.etcdKeyfile),
      },
    });
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(
      `no etcd server answers at ${endpoints.join(', ')}: ${messageOf(error)}.`,
      'Check the address, and --etcd-cafile, --etcd-certfile and --etcd-keyfile if it asks for certificates.',
    );
  }
}

/** What it holds of the cluster. The store stays its owner's. */
export function etcdSource(
  store: EtcdStore<Buffer>,
  { clock, keeps }: { readonly clock: Clock; keeps(key: string): boolean },
): Promise<TransferSource> {
  return storeSource(store, {
    start: registryPrefix,
    end: prefixEnd(registryPrefix),
    keeps,
    expiresAtMs: (key) => (key.startsWith(eventsPrefix) ? clock.now() + eventTtlMs : 0),
  });
}

/** Rejects when an API server works on this etcd: where one ever did, it is listened whether anything changes. */
export async function checkIdle(
  store: EtcdStore<Buffer>,
  { clock, listenMs = defaultListenMs }: { readonly clock: Clock; readonly listenMs?: number | undefined },
): Promise<void> {
  const before = await store.currentRevision();
  const found = identityPrefixes.map((start) => store.range({ start, end: prefixEnd(start), limit: 1 }));
  if ((await Promise.all(found)).every(({ count }) => count === 0)) return;
  await sleep(clock, listenMs);
  if ((await store.currentRevision()) !== before) throw new TransferError('somebody is writing to etcd');
}

/** To what name a store in this folder is moved that shall make room for another; undefined where there is none, or it shall not. */
export function asideName(
  folder: string,
  { replace, nowMs }: { readonly replace: boolean | undefined; readonly nowMs: number },
): string | undefined {
  if (!replace || !existsSync(join(folder, 'data.mdb'))) return undefined;
  return `${basename(folder)}.before-${new Date(nowMs).toISOString().replaceAll(':', '')}`;
}

/** A failure as a person is to be told it; what nobody expected stays what it was. */
export function toldAsCommand(error: unknown, advice: string): unknown {
  if (error instanceof DataDirectoryLockedError) {
    const stop = 'Stop the cluster first: coracle down --data-dir DIRECTORY.';
    return new CommandError(`the store in ${error.path} is in use by process ${error.pid}.`, stop);
  }
  const known = ['TransferError', 'DataDirectoryError', 'StorageUnavailableError'].includes((error as Error).name);
  const { code } = error as NodeJS.ErrnoException;
  const ofFiles = code !== undefined && ['ENOENT', 'EACCES', 'EPERM', 'ENOSPC', 'EROFS', 'ENOTDIR'].includes(code);
  return known || ofFiles ? new CommandError(`${(error as Error).message}.`, advice) : error;
}
