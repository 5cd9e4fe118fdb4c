/** What flags say of storage on etcd: where it lies, how it is encrypted, and what the server says when etcd is not there. */
import assert from 'node:assert/strict';
import { createDecipheriv } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { configMaps, events, secrets, services } from '../../src/api/gen/core-v1.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Client } from '../../src/client/index.ts';
import { bufferCodec } from '../../src/storage/codec.ts';
import { openEtcdStore } from '../../src/storage/etcd/index.ts';
import { type Etcd, startEtcd } from '../../src/storage/etcd/process.fixture.ts';
import { CompactedError } from '../../src/storage/store.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { needs } from '../../src/testing/needs.ts';
import { type Servers, startServers } from './servers.fixture.ts';

const namespace = 'default';
const key = Buffer.alloc(32, 7);
const encryption = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'EncryptionConfiguration',
  resources: [
    {
      resources: ['secrets'],
      providers: [{ aesgcm: { keys: [{ name: 'one', secret: key.toString('base64') }] } }, { identity: {} }],
    },
  ],
};

describe('a server with a prefix of its own and encryption', needs('etcd'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-etcd-flags-'));
  let etcd: Etcd;
  let servers: Servers;
  let client: Client;
  before(async () => {
    etcd = await startEtcd();
    const path = join(folder, 'encryption.json');
    writeFileSync(path, JSON.stringify(encryption));
    const flags = [
      '--etcd-prefix=/clusters/one',
      '--storage-media-type=application/json',
      '--event-ttl=1h',
      '--etcd-healthcheck-timeout=500ms',
      '--etcd-readycheck-timeout=500ms',
      `--encryption-provider-config=${path}`,
    ];
    servers = await startServers({ count: 1, endpoints: etcd.endpoints, flags });
    client = servers.all[0]!.client;
  });
  after(async () => {
    await servers.stop();
    await etcd.stop();
    rmSync(folder, { recursive: true });
  });

  const raw = async (name: string) => {
    const store = await openEtcdStore({ endpoints: etcd.endpoints, codec: bufferCodec, clock: systemClock });
    const entry = await store.get(name);
    await store.close();
    return entry?.value ?? assert.fail(`nothing at ${name}`);
  };
  const page = (path: string) => client.raw({ method: 'GET', path }) as Promise<string>;

  test('values lie below the prefix, in the form that was asked for', async () => {
    await client.create(configMaps, { metadata: { name: 'plain', namespace }, data: { a: 'b' } });
    const stored = JSON.parse((await raw('/clusters/one/configmaps/default/plain')).toString());
    assert.deepEqual(stored.data, { a: 'b' });
  });

  test('an encrypted value is bound to the key that it has in etcd, as a real server binds it', async () => {
    await client.create(secrets, { metadata: { name: 'secret', namespace }, stringData: { a: 'b' } });
    const at = '/clusters/one/secrets/default/secret';
    const stored = await raw(at);
    const head = 'k8s:enc:aesgcm:v1:one:';
    assert.equal(stored.toString('latin1', 0, head.length), head);
    const [nonce, rest] = [stored.subarray(head.length, head.length + 12), stored.subarray(head.length + 12)];
    const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(at));
    decipher.setAuthTag(rest.subarray(-16));
    const plain = Buffer.concat([decipher.update(rest.subarray(0, -16)), decipher.final()]);
    assert.deepEqual(JSON.parse(plain.toString()).data, { a: 'Yg==' });
  });

  test('an Event disappears with its lease', async () => {
    const involvedObject = { namespace, kind: 'Pod', name: 'p' };
    await client.create(events, { metadata: { name: 'event', namespace }, involvedObject });
    const ttl = await leaseOf(etcd, '/clusters/one/events/default/event');
    assert.ok(ttl > 3600 && ttl <= 3660, `${ttl} s`);
  });

  test('requests to etcd are measured, and so is its file', async () => {
    const text = await page('/metrics');
    assert.match(text, /etcd_request_duration_seconds_count\{group="",operation="create",resource="secrets"\} 1\n/);
    assert.match(text, /apiserver_storage_db_total_size_in_bytes\{endpoint="http:[^"]*"\} \d+\n/);
  });

  test('without etcd the server is not ready and says why it fails, and is well again with it', async () => {
    const [member] = etcd.members;
    await member!.signal('SIGKILL');
    await eventually(async () => {
      const answer = await page('/readyz?verbose').catch((error: Error) => error.message);
      assert.match(answer, /\[-\]etcd failed: reason withheld/);
    });
    const created = client.create(configMaps, { metadata: { name: 'lost', namespace } });
    await assert.rejects(created, ({ status }) => {
      assert.deepEqual([status.code, status.reason], [500, undefined]);
      assert.match(status.message, /^rpc error: code = Unavailable desc = /);
      return true;
    });
    await member!.start();
    await eventually(async () => assert.equal(await page('/readyz'), 'ok'));
    await client.create(configMaps, { metadata: { name: 'kept', namespace } });
  });
});

describe('resources with an etcd of their own', needs('etcd'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-etcd-overrides-'));
  let home: Etcd;
  let apart: Etcd;
  let servers: Servers;
  let client: Client;
  before(async () => {
    [home, apart] = await Promise.all([startEtcd(), startEtcd()]);
    const path = join(folder, 'encryption.json');
    writeFileSync(path, JSON.stringify(encryption));
    const [endpoint] = apart.endpoints;
    const flags = [
      `--etcd-servers-overrides=${['/events', '/secrets', '/services', '/apiServerIPInfo', 'apps/*'].map((path) => `${path}#${endpoint}`)}`,
      '--etcd-compaction-interval=2s',
      '--etcd-healthcheck-timeout=500ms',
      '--etcd-readycheck-timeout=500ms',
      `--encryption-provider-config=${path}`,
    ];
    servers = await startServers({ count: 2, endpoints: home.endpoints, flags });
    client = servers.all[0]!.client;
  });
  after(async () => {
    await servers.stop();
    await Promise.all([home.stop(), apart.stop()]);
    rmSync(folder, { recursive: true });
  });

  const namesIn = async (etcd: Etcd) => {
    const store = await openEtcdStore({ endpoints: etcd.endpoints, codec: bufferCodec, clock: systemClock });
    const { entries } = await store.range({ start: '/registry/', end: '/registry0' });
    await store.close();
    return new Map(entries.map(({ key: name, value }) => [name, value]));
  };
  const page = (path: string) => client.raw({ method: 'GET', path }) as Promise<string>;

  test('they lie there and nowhere else, encrypted as at home, and everything else lies at home', async () => {
    await client.create(secrets, { metadata: { name: 'apart', namespace }, stringData: { a: 'b' } });
    await client.create(configMaps, { metadata: { name: 'home', namespace } });
    const spec = { type: 'NodePort' as const, ports: [{ port: 80 }] };
    await client.create(services, { metadata: { name: 'apart', namespace }, spec });
    // What servers agree on beside the resources: node ports lie with the Services.
    await eventually(async () => {
      const found = await namesIn(apart);
      for (const name of ['masterleases/10.0.0.1', 'masterleases/10.0.0.2', 'ranges/servicenodeports'])
        assert.ok(found.has(`/registry/${name}`), name);
    });
    const [atHome, there] = await Promise.all([namesIn(home), namesIn(apart)]);
    const secret = '/registry/secrets/default/apart';
    assert.equal(there.get(secret)?.toString('latin1', 0, 22), 'k8s:enc:aesgcm:v1:one:');
    assert.ok(atHome.has('/registry/configmaps/default/home'));
    const moved =
      /^\/registry\/(events|masterleases|ranges|secrets|services\/specs|deployments|daemonsets|replicasets|statefulsets|controllerrevisions)\//;
    assert.deepEqual(
      [...atHome.keys()].filter((name) => moved.test(name)),
      [],
    );
    assert.deepEqual(
      [...there.keys()].filter((name) => !moved.test(name)),
      [],
    );
  });

  test('each server sees at once what the other wrote there, and a watch goes on from its list', async () => {
    const [, second] = servers.all;
    const { resourceVersion } = await second!.client.list(secrets, { namespace });
    await client.create(configMaps, { metadata: { name: 'in-between', namespace } });
    const made = await client.create(secrets, { metadata: { name: 'seen', namespace } });
    const read = await second!.client.get(secrets, { namespace, name: 'seen' });
    assert.equal(read.metadata.resourceVersion, made.metadata.resourceVersion);
    for await (const event of second!.client.watch(secrets, { namespace, resourceVersion })) {
      assert.deepEqual([event.type, event.object.metadata.name], ['ADDED', 'seen']);
      break;
    }
  });

  test('each etcd is compacted by itself', async () => {
    for (const { endpoints } of [home, apart]) {
      const store = await openEtcdStore({ endpoints, codec: bufferCodec, clock: systemClock });
      await eventually(() => assert.rejects(store.get('/registry/a', { revision: 1 }), CompactedError));
      await store.close();
    }
  });

  test('without theirs they fail, the rest goes on, and the checks name it', async () => {
    assert.match(await page('/readyz?verbose'), /\[\+\]etcd-override-0 ok\n\[\+\]etcd-override-readiness-0 ok\n/);
    assert.doesNotMatch(await page('/livez?verbose'), /etcd-override-readiness/);
    const [member] = apart.members;
    await member!.signal('SIGKILL');
    await eventually(async () => {
      const answer = await page('/readyz?verbose').catch((error: Error) => error.message);
      assert.match(answer, /\[\+\]etcd ok[\s\S]*\[-\]etcd-override-0 failed: reason withheld/);
    });
    await client.create(configMaps, { metadata: { name: 'meanwhile', namespace } });
    await assert.rejects(client.create(secrets, { metadata: { name: 'lost', namespace } }));
    await member!.start();
    await eventually(async () => assert.equal(await page('/readyz'), 'ok'));
    await eventually(() => client.get(secrets, { namespace, name: 'seen' }));
  });
});

describe('flags that cannot be', needs('etcd'), () => {
  const cases = [
    { flag: '--etcd-servers=10.0.0.1:2379', problem: /is no URL of an etcd server/ },
    { flag: '--storage-media-type=application/cbor', problem: /--storage-media-type "application\/cbor" invalid/ },
    { flag: '--storage-backend=etcd2', problem: /--storage-backend invalid, allowed values: etcd3/ },
    {
      flag: '--etcd-servers-overrides=events#http://127.0.0.1:1',
      problem: /must be of format: group\/resource#servers/,
    },
    { flag: '--etcd-servers-overrides=/events#127.0.0.1:1', problem: /is no URL of an etcd server/ },
    { flag: '--etcd-cafile=/nowhere/ca.crt', problem: /--etcd-cafile \/nowhere\/ca.crt cannot be read/ },
    { flag: '--endpoint-reconciler-type=master-count', problem: /must be lease or none/ },
    { flag: '--storage-initialization-timeout=1s', problem: /no etcd server answers at http:\/\/127.0.0.1:1/ },
  ];
  for (const { flag, problem } of cases) {
    test(`${flag} is refused in words`, async () => {
      const endpoints = ['http://127.0.0.1:1'];
      await assert.rejects(startServers({ count: 1, endpoints, flags: [flag] }), problem);
    });
  }
});

async function leaseOf(etcd: Etcd, name: string): Promise<number> {
  const response = await fetch(`${etcd.endpoints[0]}/v3/kv/range`, {
    method: 'POST',
    body: JSON.stringify({ key: Buffer.from(name).toString('base64') }),
  });
  const { kvs } = (await response.json()) as { kvs: readonly { readonly lease: string }[] };
  const answer = await fetch(`${etcd.endpoints[0]}/v3/lease/timetolive`, {
    method: 'POST',
    body: JSON.stringify({ ID: kvs[0]!.lease }),
  });
  return Number(((await answer.json()) as { TTL: string }).TTL);
}
