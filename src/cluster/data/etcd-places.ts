/**
 * The etcds of one cluster, as its API servers are told of them by `--etcd-servers` and `--etcd-servers-overrides`: one that has most of
 * it, and another for each set of servers that some resources have to themselves. Every key belongs to one of them. What lies where no
 * server would look for it, such as Events of the time before they had an etcd of their own, is nobody's and is not taken along.
 */
import { serverLeases } from '../../apiserver/bootstrap/server-leases.ts';
import { resourceOfKey } from '../../apiserver/encryption/resource-of-key.ts';
import type { Clock } from '../../base/clock.ts';
import type { EtcdStore } from '../../storage/etcd/index.ts';
import { mergedSource } from '../../storage/transfer/merged-source.ts';
import { TransferError, type TransferSource } from '../../storage/transfer/transfer.ts';
import type { EtcdOverride } from './etcd-overrides.ts';
import { type EtcdAccess, type EtcdAddress, etcdSource, openEtcdAt } from './store-address.ts';
import { builtinPlaces } from './stored-resources.ts';

export interface EtcdPlace {
  readonly endpoints: readonly string[];
  readonly store: EtcdStore<Buffer>;
  /** Whether a key of the cluster belongs here. */
  keeps(key: string): boolean;
}

/** The cluster's own etcd stands first. */
export async function openPlaces(
  { endpoints, overrides }: EtcdAddress,
  access: EtcdAccess,
  clock: Clock,
): Promise<readonly EtcdPlace[]> {
  const ownerOf = ownerOfKey(overrides);
  const places: EtcdPlace[] = [];
  try {
    for (const owner of [undefined, ...overrides]) {
      const servers = owner?.servers ?? endpoints;
      const store = await openEtcdAt(servers, access, clock);
      places.push({ endpoints: servers, store, keeps: (key) => ownerOf(key) === owner });
    }
    return places;
  } catch (error) {
    await closePlaces(places);
    throw error;
  }
}

export async function closePlaces(places: readonly EtcdPlace[]): Promise<void> {
  await Promise.all(places.map(({ store }) => store.close()));
}

/**
 * What the cluster has in all of them. `alone`: reading it ends with an error when somebody has written meanwhile. The places are closed
 * with it, and where there is none because one could not be read.
 */
export async function sourceOfPlaces(
  places: readonly EtcdPlace[],
  { clock, alone = false }: { readonly clock: Clock; readonly alone?: boolean },
): Promise<TransferSource> {
  try {
    const sources: TransferSource[] = [];
    for (const { store, keeps } of places) {
      const source = await etcdSource(store, { clock, keeps });
      sources.push(alone ? unchanged(source, store) : source);
    }
    return { ...mergedSource(sources), [Symbol.asyncDispose]: () => closePlaces(places) };
  } catch (error) {
    await closePlaces(places);
    throw error;
  }
}

function unchanged(source: TransferSource, store: EtcdPlace['store']): TransferSource {
  return {
    ...source,
    async *read() {
      yield* source.read();
      if ((await store.currentRevision()) !== source.revision)
        throw new TransferError('somebody has written to the source meanwhile');
    },
  };
}

/** Undefined: the cluster's own. Custom resources are at home there, whatever is said of their group. */
function ownerOfKey(overrides: readonly EtcdOverride[]): (key: string) => EtcdOverride | undefined {
  const records = [
    { prefix: '/registry/masterleases/', name: serverLeases },
    { prefix: '/registry/ranges/', name: 'services' },
  ];
  const known = [...builtinPlaces(), ...records];
  const names = new Set(known.map(({ name }) => name));
  const resourceOf = resourceOfKey(known);
  return (key) => {
    const resource = resourceOf(key);
    return resource !== undefined && names.has(resource) ? overrides.find(({ keeps }) => keeps(resource)) : undefined;
  };
}
