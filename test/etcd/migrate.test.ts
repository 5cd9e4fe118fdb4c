/** `coracle migrate`, from a folder to a real etcd and back: the same cluster on either side, and refusals where it would not be. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { deployments } from '../../src/api/gen/apps-v1.ts';
import { leases } from '../../src/api/gen/coordination-v1.ts';
import { configMaps, namespaces, pods, secrets, serviceAccounts, services } from '../../src/api/gen/core-v1.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import { StatusError } from '../../src/apimachinery/status.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Client } from '../../src/client/client.ts';
import { type MigrateCommand, migrate } from '../../src/cluster/data/migration.ts';
import type { ProgressEvent } from '../../src/cluster/processes/progress.ts';
import { bufferCodec } from '../../src/storage/codec.ts';
import { openEtcdStore } from '../../src/storage/etcd/index.ts';
import { type Etcd, startEtcd } from '../../src/storage/etcd/process.fixture.ts';
import { needs } from '../../src/testing/needs.ts';
import { type ClusterData, clusterData, type OpenCluster, openCluster } from '../api/cluster.ts';

const clock = systemClock;

describe('a cluster moved between stores', needs('etcd'), () => {
  let etcd: Etcd;
  let data: ClusterData;
  let folder = '';
  before(async () => {
    etcd = await startEtcd();
    data = clusterData();
    folder = mkdtempSync(join(tmpdir(), 'coracle-migrate-'));
  });
  after(async () => {
    await etcd.stop();
    data.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const told: ProgressEvent[] = [];
  const run = (command: Partial<MigrateCommand>) =>
    migrate(
      { from: `lmdb:${data.path}`, to: `etcd:${etcd.endpoints.join(',')}`, ...command },
      { clock, report: (event) => told.push(event), listenMs: 300 },
    );
  let objects: Record<string, unknown> = {};
  let lastVersion = '';

  test('is refused while the source is in use', async () => {
    const cluster = await openCluster({ storeName: 'LMDB', data });
    try {
      await fill(cluster.controlPlane.admin);
      await assert.rejects(run({}), { name: 'CommandError', message: /^the store in .* is in use by process \d+\.$/ });
    } finally {
      await cluster.close();
    }
  });

  test('arrives in etcd whole, with every object compared, and newer than all that was known', async () => {
    ({ objects, lastVersion } = await seenIn({ storeName: 'LMDB', data }));
    const { objects: count } = await run({});
    assert.ok(count >= Object.keys(objects).length);
    assert.ok(told.some((event) => event.kind === 'done' && event.step === 'copied and compared'));
    const cluster = await openCluster({ endpoints: etcd.endpoints, data });
    try {
      assert.deepEqual(await objectsOf(cluster.controlPlane.admin), objects);
      const { resourceVersion } = await cluster.controlPlane.admin.list(configMaps);
      assert.ok(Number(resourceVersion) > Number(lastVersion));
      await assert.rejects(
        firstEvent(cluster, lastVersion),
        (error) => error instanceof StatusError && error.code === 410,
      );
      // Written here, and so in etcd's form: protobuf.
      const metadata = { name: 'made-over-etcd', namespace: 'default' };
      await cluster.controlPlane.admin.create(configMaps, { metadata, data: { made: 'over etcd' } });
      await whileWriting(cluster.controlPlane.admin, () =>
        assert.rejects(run({ from: `etcd:${etcd.endpoints}`, to: `lmdb:${join(folder, 'busy')}` }), {
          name: 'CommandError',
          message: /^somebody (is writing to etcd|has written to the source meanwhile)\.$/,
        }),
      );
    } finally {
      await cluster.close();
    }
  });

  test('is not put over what is there, unless that is asked for', async () => {
    await assert.rejects(run({}), { name: 'CommandError', message: /^the target holds \d+ objects already\.$/ });
    await assert.rejects(run({ to: `lmdb:${data.path}` }), { message: '--from and --to are the same store.' });
    await assert.rejects(run({ to: 'sqlite:x' }), { message: '--to sqlite:x names no store.' });
    await assert.rejects(run({ from: `lmdb:${join(folder, 'none')}` }), { message: /^there is no store in / });
  });

  test('is spread over the etcds that its servers are told of, and comes together again', async (t) => {
    const [home, apart] = await Promise.all([startEtcd(), startEtcd()]);
    t.after(() => Promise.all([home.stop(), apart.stop()]));
    const [endpoint] = apart.endpoints;
    const overrides = `/secrets#${endpoint},/leases#${home.endpoints},apps/*#${endpoint}`;
    const { objects: count } = await run({ to: `etcd:${home.endpoints}`, toOverrides: overrides });
    const [atHome, there] = await Promise.all([keysIn(home), keysIn(apart)]);
    assert.equal(atHome.length + there.length, count);
    assert.ok(there.length > 0);
    const isApart = (key: string) => /^\/registry\/(secrets|deployments|replicasets)\//.test(key);
    assert.deepEqual([atHome.filter(isApart), there.filter((key) => !isApart(key))], [[], []]);

    // What no server reads there stays there.
    const stray = await openEtcdStore({ endpoints: home.endpoints, codec: bufferCodec, clock });
    await stray.put('/registry/secrets/default/stray', Buffer.from('k8s\0of another time'));
    await stray.close();
    const together = join(folder, 'together');
    const back = { from: `etcd:${home.endpoints}`, fromOverrides: overrides, to: `lmdb:${together}` };
    assert.equal((await run(back)).objects, count);
    const { objects: after, lastVersion: now } = await seenIn({ storeName: 'LMDB', data: { ...data, path: together } });
    assert.deepEqual(after, (await seenIn({ storeName: 'LMDB', data })).objects);
    assert.ok(Number(now) > Number(lastVersion));
    rmSync(together, { recursive: true });
    await assert.rejects(run({ ...back, to: `etcd:${endpoint}` }), { message: '--from and --to are the same store.' });
    await assert.rejects(run({ toOverrides: 'secrets' }), {
      name: 'CommandError',
      message: /^--to-overrides secrets: /,
    });
  });

  test('comes back from etcd with what was made there', async () => {
    const back = join(folder, 'back');
    const before = await seenIn({ endpoints: etcd.endpoints, data });
    await run({ from: `etcd:${etcd.endpoints.join(',')}`, to: `lmdb:${back}` });
    assert.deepEqual(readdirSync(folder), ['back']);
    const { objects: after } = await seenIn({ storeName: 'LMDB', data: { ...data, path: back } });
    assert.deepEqual(after, before.objects);
    assert.ok('ConfigMap default/made-over-etcd' in after);
    await assert.rejects(run({ from: `etcd:${etcd.endpoints.join(',')}`, to: `lmdb:${back}` }), {
      message: /^there is a store in .* already\.$/,
    });
  });
});

async function fill(admin: Client): Promise<void> {
  const namespace = 'default';
  for (let i = 0; i < 20; i++)
    await admin.create(configMaps, { metadata: { name: `c-${i}`, namespace }, data: { i: `${i}` } });
  await admin.create(secrets, { metadata: { name: 's', namespace }, data: { key: 'AAEC' } });
  await admin.create(services, { metadata: { name: 'web', namespace }, spec: { ports: [{ port: 80 }] } });
}

async function keysIn({ endpoints }: Etcd): Promise<string[]> {
  const store = await openEtcdStore({ endpoints, codec: bufferCodec, clock });
  const { entries } = await store.range({ start: '/registry/', end: '/registry0' });
  await store.close();
  return entries.map(({ key }) => key);
}

async function whileWriting(admin: Client, work: () => Promise<void>): Promise<void> {
  let isOver = false;
  const working = work().finally(() => (isOver = true));
  for (let i = 0; !isOver; i++)
    await admin.patch(
      configMaps,
      { namespace: 'default', name: 'c-0' },
      { type: 'merge', body: { data: { i: `${i}` } } },
    );
  await working;
}

async function seenIn(options: Parameters<typeof openCluster>[0]) {
  const cluster = await openCluster(options);
  try {
    const { admin } = cluster.controlPlane;
    const { resourceVersion } = await admin.list(configMaps);
    return { objects: await objectsOf(admin), lastVersion: resourceVersion };
  } finally {
    await cluster.close();
  }
}

/** All but their resourceVersions, and but Leases, which whoever runs renews. */
async function objectsOf(admin: Client): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const type of [namespaces, configMaps, secrets, services, serviceAccounts, pods, deployments]) {
    for (const object of (await admin.list<KubeObject>(type)).items) {
      const { resourceVersion: _, ...metadata } = object.metadata;
      found[`${type.kind} ${metadata.namespace ?? ''}/${metadata.name}`] = { ...object, metadata };
    }
  }
  assert.ok(Object.keys(found).length > 20);
  return found;
}

async function firstEvent({ controlPlane }: OpenCluster, resourceVersion: string): Promise<unknown> {
  for await (const event of controlPlane.admin.watch(leases, { resourceVersion })) return event;
  return undefined;
}
