/** Three API servers over one etcd are one cluster: what one is told the others know, and no client notices that one goes. */
import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { customResourceDefinitions } from '../../src/api/gen/apiextensions-v1.ts';
import { apiServices } from '../../src/api/gen/apiregistration-v1.ts';
import { leases } from '../../src/api/gen/coordination-v1.ts';
import {
  type ConfigMap,
  configMaps,
  endpoints,
  namespaces,
  type Service,
  serviceAccounts,
  services,
} from '../../src/api/gen/core-v1.ts';
import { endpointSlices } from '../../src/api/gen/discovery-v1.ts';
import { isNotFound } from '../../src/apimachinery/status.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createHttpTransport } from '../../src/client/http-transport.ts';
import { type Client, createClient } from '../../src/client/index.ts';
import { bufferCodec } from '../../src/storage/codec.ts';
import { openEtcdStore } from '../../src/storage/etcd/index.ts';
import { type Etcd, startEtcd } from '../../src/storage/etcd/process.fixture.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { needs } from '../../src/testing/needs.ts';
import { type ServerProcess, type Servers, startServers } from './servers.fixture.ts';

const namespace = 'default';

interface ListOf<O> {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly O[];
}

describe('three API servers over one etcd', needs('etcd'), () => {
  let etcd: Etcd;
  let servers: Servers;
  let clients: readonly [Client, Client, Client];
  before(async () => {
    etcd = await startEtcd();
    // The largest chance there may be: in all that follows clients are sent to other servers now and then.
    const flags = ['--shutdown-delay-duration=1s', '--goaway-chance=0.02'];
    servers = await startServers({ count: 3, endpoints: etcd.endpoints, flags });
    clients = servers.all.map(({ client }) => client) as unknown as typeof clients;
  });
  after(async () => {
    await servers.stop();
    await etcd.stop();
  });

  const configMap = (name: string, value = '0'): ConfigMap => ({ metadata: { name, namespace }, data: { value } });

  test('each has the Lease of its own host, and all are endpoints of the Service kubernetes', async () => {
    const label = 'apiserver.kubernetes.io/identity=kube-apiserver';
    await eventually(async () => {
      const { items } = await clients[0].list(leases, { namespace: 'kube-system', labelSelector: label });
      const hosts = items.map(({ metadata }) => metadata.labels?.['kubernetes.io/hostname']).sort();
      assert.deepEqual(hosts, ['server-0', 'server-1', 'server-2']);
    });
    await eventually(() => assertAddresses(clients[0], ['10.0.0.1', '10.0.0.2', '10.0.0.3']));
  });

  test('a write that one has acknowledged is read from each other at once', async () => {
    const { metadata } = await clients[0].create(configMaps, configMap('seen'));
    let current: ConfigMap = { ...configMap('seen'), metadata };
    for (let i = 1; i <= 60; i++) {
      const writer = clients[i % 3]!;
      current = await writer.update(configMaps, { ...current, data: { value: String(i) } });
      const seen = await Promise.all(clients.map((client) => client.get(configMaps, { namespace, name: 'seen' })));
      assert.deepEqual(
        seen.map(({ data }) => data?.value),
        [i, i, i].map(String),
      );
    }
  });

  test('writers at different servers lose no update', async () => {
    await clients[0].create(configMaps, configMap('counter'));
    const increment = async (client: Client): Promise<void> => {
      const present = await client.get(configMaps, { namespace, name: 'counter' });
      const value = String(Number(present.data?.value) + 1);
      await client.update(configMaps, { ...present, data: { value } }).catch((error) => {
        if (error.code !== 409) throw error;
        return increment(client);
      });
    };
    await Promise.all(Array.from({ length: 30 }, (_, i) => increment(clients[i % 3]!)));
    assert.equal((await clients[1].get(configMaps, { namespace, name: 'counter' })).data?.value, '30');
  });

  test('a watch goes on at another server where it was, in order and without a gap', async () => {
    const { resourceVersion } = await clients[0].list(configMaps, { namespace });
    const written: string[] = [];
    for (let i = 0; i < 30; i++) {
      const { metadata } = await clients[i % 3]!.create(configMaps, configMap(`watched-${i}`));
      written.push(metadata.resourceVersion ?? '');
    }
    const half = written[14];
    for (const [client, from, expected] of [
      [clients[1], resourceVersion, written],
      [clients[2], half, written.slice(15)],
    ] as const) {
      const seen: string[] = [];
      for await (const event of client.watch(configMaps, { namespace, resourceVersion: from })) {
        seen.push(event.object.metadata.resourceVersion ?? '');
        if (seen.length === expected.length) break;
      }
      assert.deepEqual(seen, expected);
    }
  });

  test('the pages of a list may come from different servers', async () => {
    const whole = await clients[0].list(configMaps, { namespace });
    const names: string[] = [];
    let token: string | undefined;
    for (let page = 0; page === 0 || token; page++) {
      const list = await clients[page % 3]!.list(configMaps, { namespace, limit: 7, continue: token });
      // What comes in meanwhile belongs to no page.
      if (page === 0) await clients[1].create(configMaps, configMap('a-late-one'));
      names.push(...list.items.map(({ metadata }) => metadata.name ?? ''));
      token = list.continue;
    }
    assert.deepEqual(
      names,
      whole.items.map(({ metadata }) => metadata.name),
    );
  });

  test('addresses and node ports are given once', async () => {
    const service = (i: number): Service => ({
      metadata: { name: `service-${i}`, namespace },
      spec: { type: 'NodePort', ports: [{ port: 80 }] },
    });
    const made = await Promise.all(Array.from({ length: 30 }, (_, i) => clients[i % 3]!.create(services, service(i))));
    assert.equal(new Set(made.map(({ spec }) => spec.clusterIP)).size, 30);
    assert.equal(new Set(made.map(({ spec }) => spec.ports?.[0]?.nodePort)).size, 30);
  });

  test('a definition that one was given is served by all', async () => {
    const names = { plural: 'boats', singular: 'boat', kind: 'Boat', listKind: 'BoatList' };
    const schema = { openAPIV3Schema: { type: 'object' as const } };
    await clients[0].create(customResourceDefinitions, {
      metadata: { name: 'boats.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names,
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    });
    const path = `/apis/example.com/v1/namespaces/${namespace}/boats`;
    for (const client of clients) {
      await eventually(async () => void (await client.raw({ method: 'GET', path })));
    }
    const boat = { apiVersion: 'example.com/v1', kind: 'Boat', metadata: { name: 'coracle' } };
    await clients[1].raw({ method: 'POST', path, body: boat });
    await clients[2].raw({ method: 'GET', path: `${path}/coracle` });
  });

  test('an APIService that one was given is followed by all, and forgotten by all', async () => {
    const name = 'v1.fleet.example.com';
    const service = { namespace, name: 'nobody' };
    await clients[0].create(apiServices, {
      metadata: { name },
      spec: { group: 'fleet.example.com', version: 'v1', groupPriorityMinimum: 100, versionPriority: 100, service },
    });
    const answers = (code: number) =>
      Promise.all(
        clients.map((client) =>
          eventually(() =>
            assert.rejects(client.raw({ method: 'GET', path: '/apis/fleet.example.com/v1/ships' }), { code }),
          ),
        ),
      );
    await answers(503);
    for (const client of clients) {
      await eventually(async () => {
        const { status } = await client.get(apiServices, { name });
        assert.equal(status?.conditions?.find(({ type }) => type === 'Available')?.reason, 'ServiceNotFound');
      });
    }
    await clients[2].delete(apiServices, { name });
    await answers(404);
  });

  test('what was compacted can be listed at no server, whichever it was read from before', async () => {
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const page = (client: Client, query: Record<string, string>) =>
      client.raw({ method: 'GET', path, query: new Map(Object.entries(query)) }) as Promise<ListOf<ConfigMap>>;
    await Promise.all(['one', 'two', 'three'].map((name) => clients[0].create(configMaps, configMap(`paged-${name}`))));
    const first = await page(clients[0], { limit: '1' });
    const { resourceVersion = '', continue: token = '' } = first.metadata;
    const exact = { resourceVersion, resourceVersionMatch: 'Exact' };
    for (const client of clients) assert.equal((await page(client, exact)).metadata.resourceVersion, resourceVersion);
    await clients[1].create(configMaps, configMap('after-the-page'));

    const store = await openEtcdStore({ endpoints: etcd.endpoints, codec: bufferCodec, clock: systemClock });
    await store.compact(await store.currentRevision());
    await store.close();
    for (const client of clients) {
      await assert.rejects(page(client, exact), {
        code: 410,
        reason: 'Expired',
        message: 'The resourceVersion for the provided list is too old.',
      });
      const refused = await page(client, { limit: '1', continue: token }).catch((error) => error);
      assert.deepEqual([refused.code, refused.reason], [410, 'Expired']);
      const rest = await page(client, { continue: refused.status.metadata.continue });
      const now = await page(client, {});
      assert.deepEqual(
        rest.items.map(({ metadata }) => metadata.name),
        now.items.slice(1).map(({ metadata }) => metadata.name),
      );
    }
  });

  test('a client that is sent away still gets its answers and its watch, and goes on at another server', async () => {
    const [{ port }] = servers.all as [ServerProcess];
    const { resourceVersion } = await clients[0].list(configMaps, { namespace });
    const session = connect(`https://127.0.0.1:${port}`, servers.tls);
    try {
      let sentAway = false;
      session.once('goaway', () => {
        sentAway = true;
      });
      const path = `/api/v1/namespaces/${namespace}/configmaps`;
      const watch = session.request({ ':path': `${path}?watch=1&resourceVersion=${resourceVersion}` });
      const event = textOf(watch, '\n');
      // One of fifty, as chance will have it.
      for (let i = 0; !sentAway && i < 5000; i++)
        assert.equal(JSON.parse(await textOf(session.request({ ':path': '/version' }))).major, '1');
      assert.ok(sentAway, 'no connection was ever sent away');
      await clients[1].create(configMaps, configMap('after-the-goaway'));
      assert.equal(JSON.parse(await event).object.metadata.name, 'after-the-goaway');
    } finally {
      session.destroy();
    }
  });

  test('a token that one has signed is believed by the others', async () => {
    await clients[0].create(namespaces, { metadata: { name: 'accounts' }, spec: {} });
    await clients[0].create(serviceAccounts, { metadata: { name: 'robot', namespace: 'accounts' } });
    const ref = { namespace: 'accounts', name: 'robot' };
    const answer = await clients[0].createSubresource<{ status: { token: string } }>(serviceAccounts, ref, 'token', {
      spec: {},
    });
    const { port } = servers.all[1]!;
    const transport = createHttpTransport({
      server: `https://127.0.0.1:${port}`,
      clock: systemClock,
      tls: { insecureSkipVerify: true },
      token: async () => answer.status.token,
    });
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const review = (await createClient(transport).raw({ method: 'POST', path, body: {} })) as {
      status: { userInfo: { username: string } };
    };
    await transport.close();
    assert.equal(review.status.userInfo.username, 'system:serviceaccount:accounts:robot');
  });

  test('all three are replaced one after the other under load, and no request of a retrying client fails', async () => {
    const { client, close } = servers.connect();
    const load = startLoad(client);
    for (const server of servers.all) {
      await server.signal('SIGTERM');
      await server.start();
      await load.untilFurther(50);
    }
    await load.stop();
    await close();
    assert.deepEqual(load.failures, []);
    assert.ok(load.done > 150, `only ${load.done} requests`);
    await eventually(() => assertAddresses(clients[0], ['10.0.0.1', '10.0.0.2', '10.0.0.3']));
  });

  test('one that is killed is no endpoint any more once its time is up, and one that leaves at once', async () => {
    const [first, second, third] = servers.all as [ServerProcess, ServerProcess, ServerProcess];
    await second.signal('SIGTERM');
    await assertAddresses(first.client, ['10.0.0.1', '10.0.0.3']);
    await third.signal('SIGKILL');
    await eventually(() => assertAddresses(first.client, ['10.0.0.1']));
    await first.client.create(configMaps, configMap('alone'));
  });
});

/** Up to this text; without one, to the end. */
async function textOf(stream: AsyncIterable<Buffer>, end?: string): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += chunk;
    if (end !== undefined && text.includes(end)) break;
  }
  return text;
}

async function assertAddresses(client: Client, expected: readonly string[]): Promise<void> {
  const ref = { namespace, name: 'kubernetes' };
  const { subsets } = await client.get(endpoints, ref);
  const slice = await client.get(endpointSlices, ref);
  assert.deepEqual(subsets?.[0]?.addresses?.map(({ ip }) => ip) ?? [], expected);
  assert.deepEqual(
    slice.endpoints?.flatMap(({ addresses }) => addresses),
    expected,
  );
}

/** Writers, readers and a watcher that all go on until they are told to stop. */
function startLoad(client: Client) {
  const failures: string[] = [];
  const stopping = new AbortController();
  const waiting: { readonly at: number; readonly resolve: () => void }[] = [];
  let done = 0;
  const count = () => {
    done++;
    for (const { at, resolve } of waiting) if (done >= at) resolve();
  };
  const again = async (what: string, step: (i: number) => Promise<unknown>) => {
    for (let i = 0; !stopping.signal.aborted; i++) {
      await step(i).catch((error: Error) => failures.push(`${what}: ${error.message}`));
      count();
    }
  };
  const write = async (writer: number, i: number) => {
    const name = `load-${writer}-${i}`;
    await client.create(configMaps, { metadata: { name, namespace }, data: {} });
    await client.get(configMaps, { namespace, name });
    await client.delete(configMaps, { namespace, name });
    const gone = await client.get(configMaps, { namespace, name }).catch((error) => isNotFound(error));
    assert.equal(gone, true);
  };
  const work = [
    ...[1, 2, 3, 4].map((writer) => again(`writer ${writer}`, (i) => write(writer, i))),
    again('list', () => client.list(configMaps, { namespace, limit: 5 })),
  ];
  return {
    failures,
    get done() {
      return done;
    },
    untilFurther: (more: number) => new Promise<void>((resolve) => waiting.push({ at: done + more, resolve })),
    async stop() {
      stopping.abort();
      await Promise.all(work);
    },
  };
}
