/** A control plane in its whole composition on a free port, over memory, LMDB or etcd, whose keys the test holds in its hands. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configMaps, serviceAccounts } from '../../src/api/gen/core-v1.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import type { ApiStore, BytesStore } from '../../src/apiserver/index.ts';
import { systemClock } from '../../src/base/clock.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type KeyFiles, keysInMemory } from '../../src/cluster/certificates/cluster-pki.ts';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from '../../src/cluster/control-plane/control-plane.ts';
import { type CertificateAuthority, issueCertificate } from '../../src/pki/authority.ts';
import { systemKeys } from '../../src/pki/keys.ts';
import { openEtcdStore, registryRoot } from '../../src/storage/etcd/index.ts';
import { startEtcd } from '../../src/storage/etcd/process.fixture.ts';
import { bufferCodec, openLmdbStore } from '../../src/storage/lmdb/lmdb-store.ts';
import { memoryStore } from '../../src/storage/memory/memory-store.ts';
import { eventually } from '../../src/testing/eventually.ts';
import type { Endpoint } from './wire.ts';

export type StoreName = 'memory' | 'LMDB' | 'etcd';

/** What the suites that do not care run over; `scripts/test.ts` runs some of them over etcd too. */
const usualStore = (process.env.CORACLE_TEST_STORE ?? 'memory') as StoreName;

/** What outlives a control plane over LMDB. */
export interface ClusterData {
  readonly path: string;
  readonly keyFiles: KeyFiles;
  remove(): void;
}

export interface OpenClusterOptions {
  readonly storeName?: StoreName;
  /** Of an etcd that is the test's own: then nothing else is asked about the store. */
  readonly endpoints?: readonly string[];
  /** Kept when the control plane is closed. Only with LMDB. */
  readonly data?: ClusterData;
  readonly requestTimeoutMs?: number;
  readonly port?: number;
  readonly log?: Log;
  /** What the server is to do beyond that. */
  readonly apiServer?: ControlPlaneOptions['apiServer'];
  readonly controllerManager?: ControlPlaneOptions['controllerManager'];
}

export interface OpenCluster {
  readonly controlPlane: ControlPlane;
  readonly store: ApiStore;
  readonly url: string;
  readonly port: number;
  /** PEM of the cluster's authority. */
  readonly ca: string;
  /** The server as the administrator reaches it. */
  readonly admin: Endpoint & { readonly cert: string; readonly key: string };
  /** The server as this user reaches it. */
  as(user: string, options?: CertificateOptions): Endpoint & { readonly cert: string; readonly key: string };
  close(): Promise<void>;
}

export interface CertificateOptions {
  readonly groups?: readonly string[];
  /** Whose signature it bears; default the cluster's own authority. */
  readonly authority?: CertificateAuthority;
  readonly usages?: readonly ('client auth' | 'server auth')[];
  /** When it is made, in days from now; it is valid for one. */
  readonly madeInDays?: number;
}

export function clusterData(): ClusterData {
  const path = mkdtempSync(join(tmpdir(), 'coracle-api-test-'));
  return { path, keyFiles: keysInMemory(), remove: () => rmSync(path, { recursive: true, force: true }) };
}

export async function openCluster(options: OpenClusterOptions = {}): Promise<OpenCluster> {
  const { storeName = usualStore, data = clusterData(), requestTimeoutMs, port = 0, log = silentLog } = options;
  const { store, close: closeStore } = await openStore(options.endpoints ?? storeName, data.path);
  const controlPlane = await startControlPlane({
    store,
    clock: systemClock,
    random: systemRandom,
    keys: systemKeys,
    keyFiles: data.keyFiles,
    log,
    listen: [{ host: '127.0.0.1', port }],
    apiServer: options.apiServer,
    controllerManager: options.controllerManager,
    serviceCidrs: ['10.96.0.0/16'],
    clusterCidrs: ['10.244.0.0/16'],
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
  });
  const { url, pki } = controlPlane;
  // What controllers make of a new namespace is there before a test makes a Pod in it, or counts what it holds.
  const client = controlPlane.client({ name: 'admin', groups: ['system:masters'] });
  await eventually(async () => {
    await client.get(serviceAccounts, { namespace: 'default', name: 'default' });
    await client.get(configMaps, { namespace: 'default', name: 'kube-root-ca.crt' });
  });
  const ca = pki.authority.certificatePem;
  const as: OpenCluster['as'] = (commonName, { groups, authority = pki.authority, usages, madeInDays = 0 } = {}) => {
    const clock = { ...systemClock, now: () => systemClock.now() + madeInDays * 86_400_000 };
    const { certificatePem: cert, keyPem: key } = issueCertificate(
      { ...authority, sources: { ...authority.sources, clock } },
      { commonName, organizations: groups ?? [], usages: usages ?? ['client auth'], days: 1 },
    );
    return { url, ca, cert, key };
  };
  return {
    controlPlane,
    store,
    url,
    port: Number(new URL(url).port),
    ca,
    admin: as('admin', { groups: ['system:masters'] }),
    as,
    async close() {
      await controlPlane.close();
      await closeStore();
      if (!options.data) data.remove();
    },
  };
}

interface OpenedStore {
  readonly store: ApiStore;
  close(): Promise<void>;
}

async function openStore(name: StoreName | readonly string[], path: string): Promise<OpenedStore> {
  const clock = systemClock;
  if (typeof name !== 'string') {
    const store = await openOverEtcd(name);
    return { store, close: () => store.store.close() };
  }
  if (name === 'memory') {
    const store = memoryStore<KubeObject>({ clock });
    return { store: { kind: 'objects', store }, close: () => store.close() };
  }
  if (name === 'LMDB') {
    const store = await openLmdbStore({ path, codec: bufferCodec, clock, log: silentLog });
    return { store: { kind: 'bytes', store }, close: () => store.close() };
  }
  const etcd = await startEtcd();
  const store = await openOverEtcd(etcd.endpoints);
  return {
    store,
    async close() {
      await store.store.close();
      await etcd.stop();
    },
  };
}

/** The store as `kube-apiserver` opens it. */
export async function openOverEtcd(endpoints: readonly string[], { prefix = '/registry' } = {}): Promise<BytesStore> {
  const root = registryRoot(prefix);
  const store = await openEtcdStore({ endpoints, root, codec: bufferCodec, clock: systemClock });
  return { kind: 'bytes', store, mediaType: 'application/vnd.kubernetes.protobuf', shared: true };
}
