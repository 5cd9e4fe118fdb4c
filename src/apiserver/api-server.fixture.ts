/** API servers for tests: over memory or LMDB, with a client that calls them directly and one that comes over HTTPS. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { namespaces } from '../api/gen/core-v1.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { type Log, silentLog } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import type { Client } from '../client/client.ts';
import { createHttpTransport } from '../client/http-transport.ts';
import { createClient } from '../client/typed-client.ts';
import { createCertificateAuthority, issueCertificate } from '../pki/authority.ts';
import { systemKeys } from '../pki/keys.ts';
import { bufferCodec, openLmdbStore } from '../storage/lmdb/lmdb-store.ts';
import { memoryStore } from '../storage/memory/memory-store.ts';
import { type ListeningServer, startHttpServer } from './http/http-server.ts';
import { type ApiServer, type ApiServerOptions, type ApiStore, createApiServer } from './server.ts';

export type StoreName = 'memory' | 'LMDB';

export interface OpenServer {
  readonly server: ApiServer;
  /** Calls the server directly, as `admin` of `system:masters`. */
  readonly client: Client;
  readonly store: ApiStore;
  readonly clock: Clock;
  close(): Promise<void>;
}

export interface OpenServerOptions extends Partial<Omit<ApiServerOptions, 'store'>> {
  readonly storeName?: StoreName;
  /** Used as it is and left open. */
  readonly store?: ApiStore;
}

const admin = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };

export async function openServer({ storeName = 'memory', ...options }: OpenServerOptions = {}): Promise<OpenServer> {
  const clock = options.clock ?? systemClock;
  const log = options.log ?? silentLog;
  const opened = options.store
    ? { store: options.store, close: async () => {} }
    : await openStore(storeName, clock, log);
  const server = createApiServer({ compactionIntervalMs: 0, ...options, clock, log, store: opened.store });
  await server.ready();
  const client = server.client(admin);
  return {
    server,
    client,
    store: opened.store,
    clock,
    async close() {
      await server.close();
      await opened.close();
    },
  };
}

/** With the namespace `default`, which most tests write into. */
export async function openServerWithDefault(options: OpenServerOptions = {}): Promise<OpenServer> {
  const opened = await openServer(options);
  await opened.client.create(namespaces, { metadata: { name: 'default' }, spec: {} });
  return opened;
}

async function openStore(
  name: StoreName,
  clock: Clock,
  log: Log,
): Promise<{ store: ApiStore; close(): Promise<void> }> {
  if (name === 'memory') {
    const store = memoryStore<KubeObject>({ clock });
    return { store: { kind: 'objects', store }, close: () => store.close() };
  }
  const path = mkdtempSync(join(tmpdir(), 'coracle-apiserver-'));
  const store = await openLmdbStore({ path, codec: bufferCodec, clock, log });
  return {
    store: { kind: 'bytes', store },
    async close() {
      await store.close();
      rmSync(path, { recursive: true, force: true });
    },
  };
}

export interface OpenHttps {
  readonly http: ListeningServer;
  readonly port: number;
  readonly url: string;
  readonly ca: string;
  readonly client: Client;
  close(): Promise<void>;
}

/** Puts a server on a free port of the loopback. */
export async function serveHttps(
  server: Pick<ApiServer, 'handle'>,
  options: { readonly bodyTimeoutMs?: number; readonly goawayChance?: number; readonly log?: Log } = {},
): Promise<OpenHttps> {
  const sources = { clock: systemClock, random: systemRandom, keys: systemKeys };
  const authority = createCertificateAuthority({ commonName: 'test-ca' }, sources);
  const pair = issueCertificate(authority, {
    commonName: 'kube-apiserver',
    usages: ['server auth'],
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
  });
  const http = await startHttpServer({
    handle: (request) => server.handle(request),
    listen: [{ host: '127.0.0.1', port: 0 }],
    certificate: pair.certificatePem,
    key: pair.keyPem,
    log: silentLog,
    ...options,
  });
  const { port } = http.addresses[0]!;
  const url = `https://127.0.0.1:${port}`;
  const ca = authority.certificatePem;
  const transport = createHttpTransport({ server: url, clock: systemClock, tls: { ca } });
  return {
    http,
    port,
    url,
    ca,
    client: createClient(transport),
    async close() {
      await transport.close();
      await http.close({ graceMs: 100 });
    },
  };
}
