/** What tests of clients and controllers take for a server behaves as the server does: the same cases, on it and on the real one. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Deployment, deployments } from '../api/gen/apps-v1.ts';
import { type ConfigMap, configMaps, namespaces, type Pod, pods, serviceAccounts } from '../api/gen/core-v1.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import { messageOf, StatusError } from '../apimachinery/status.ts';
import type { Client, WatchOptions } from '../client/client.ts';
import { eventually } from './eventually.ts';
import { FakeClock } from './fake-clock.ts';
import { type EmbeddedControlPlane, startControlPlane } from './index.ts';
import { MemoryApi } from './memory-api.ts';

interface Server {
  readonly client: Client;
  stop(): Promise<void>;
}

const namespace = 'contract';

async function realServer(): Promise<Server> {
  const cluster: EmbeddedControlPlane = await startControlPlane({
    controllers: ['serviceaccount-controller'],
    scheduler: false,
  });
  await cluster.client.create(namespaces, { metadata: { name: namespace }, spec: {} });
  // Pods need it; a controller makes it.
  await eventually(() => cluster.client.get(serviceAccounts, { namespace, name: 'default' }));
  return cluster;
}

async function memoryServer(): Promise<Server> {
  const api = new MemoryApi({ clock: new FakeClock() });
  await api.client.create(namespaces, { metadata: { name: namespace }, spec: {} });
  return { client: api.client, stop: () => api.close() };
}

const configMap = (name: string, more: Partial<ConfigMap> = {}): ConfigMap => ({
  ...more,
  metadata: { namespace, name, ...more.metadata },
});
const pod = (name: string, nodeName?: string): Pod => ({
  metadata: { namespace, name },
  spec: { containers: [{ name: 'main', image: 'one' }], ...(nodeName && { nodeName }) },
});
const labels = { app: 'web' };
const deployment = (name: string): Deployment => ({
  metadata: { namespace, name },
  spec: {
    replicas: 1,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'one' }] } },
  },
});
const at = (name: string) => ({ namespace, name });
const refusedWith = (code: number, message: string | RegExp) => (error: unknown) => {
  assert.ok(error instanceof StatusError, String(error));
  assert.equal(error.code, code);
  if (typeof message === 'string') assert.equal(messageOf(error), message);
  else assert.match(messageOf(error), message);
  return true;
};
const isThere = (client: Client, name: string) =>
  client.list(pods, { namespace }).then(({ items }) => items.some(({ metadata }) => metadata.name === name));

for (const { name, start } of [
  { name: 'the memory API', start: memoryServer },
  { name: 'the real API server', start: realServer },
])
  describe(`what ${name} does`, () => {
    let server: Server;
    let client: Client;
    before(async () => {
      server = await start();
      client = server.client;
    });
    after(() => server.stop());

    testWrites(() => client);
    testPatches(() => client);
    testDeletions(() => client);
    testReads(() => client);
  });

function testWrites(use: () => Client): void {
  it('gives what is created its identity, and keeps a name for one', async () => {
    const client = use();
    const made = await client.create(configMaps, configMap('one', { data: { a: '1' } }));
    assert.match(made.metadata.uid ?? '', /^[0-9a-f-]{36}$/);
    assert.match(made.metadata.creationTimestamp ?? '', /Z$/);
    assert.match(made.metadata.resourceVersion ?? '', /^\d+$/);
    assert.deepEqual(await client.get(configMaps, at('one')), made);
    const taken = refusedWith(409, 'configmaps "one" already exists');
    await assert.rejects(client.create(configMaps, configMap('one')), taken);
    const generated = await client.create(configMaps, { metadata: { namespace, generateName: 'some-' } });
    assert.match(generated.metadata.name ?? '', /^some-[a-z0-9]{5}$/);
    await assert.rejects(client.get(configMaps, at('none')), refusedWith(404, 'configmaps "none" not found'));
  });

  it('keeps spec and status apart, and counts generations of the one', async () => {
    const client = use();
    const told = { ...deployment('web'), status: { replicas: 7 } };
    const made = await client.create(deployments, told);
    assert.deepEqual([made.metadata.generation, made.status?.replicas], [1, undefined]);
    const replicas = (count: number, object: Deployment) => ({ ...object, spec: { ...object.spec!, replicas: count } });
    const scaled = await client.update(deployments, { ...replicas(2, made), status: { replicas: 7 } });
    assert.deepEqual([scaled.metadata.generation, scaled.spec?.replicas, scaled.status?.replicas], [2, 2, undefined]);
    const reported = await client.updateStatus(deployments, { ...replicas(5, scaled), status: { replicas: 2 } });
    assert.deepEqual([reported.metadata.generation, reported.spec?.replicas, reported.status?.replicas], [2, 2, 2]);
    assert.equal((await client.create(pods, pod('fresh'))).status?.phase, 'Pending');
  });

  it('takes an update of the version that is there or of none, and writes only what changed', async () => {
    const client = use();
    const first = await client.create(configMaps, configMap('versioned', { data: { a: '1' } }));
    const second = await client.update(configMaps, { ...first, data: { a: '2' } });
    await assert.rejects(
      client.update(configMaps, { ...first, data: { a: '3' } }),
      refusedWith(
        409,
        'Operation cannot be fulfilled on configmaps "versioned": the object has been modified; please apply your changes to the latest version and try again',
      ),
    );
    const third = await client.update(configMaps, configMap('versioned', { data: { a: '4' } }));
    assert.equal(third.metadata.uid, first.metadata.uid);
    assert.notEqual(third.metadata.resourceVersion, second.metadata.resourceVersion);
    const same = await client.update(configMaps, third);
    assert.equal(same.metadata.resourceVersion, third.metadata.resourceVersion);
    await assert.rejects(client.update(configMaps, configMap('none')), refusedWith(404, 'configmaps "none" not found'));
  });

  it('makes nothing new in a Namespace that ends', async () => {
    const client = use();
    await client.create(namespaces, { metadata: { name: 'ending' }, spec: {} });
    await client.delete(namespaces, { name: 'ending' });
    const { status, metadata } = await client.get(namespaces, { name: 'ending' });
    assert.equal(status?.phase, 'Terminating');
    assert.ok(metadata.deletionTimestamp);
    await assert.rejects(
      client.create(configMaps, { metadata: { namespace: 'ending', name: 'late' } }),
      refusedWith(
        403,
        'configmaps "late" is forbidden: unable to create new content in namespace ending because it is being terminated',
      ),
    );
  });
}

function testPatches(use: () => Client): void {
  it('merges patches as their type says', async () => {
    const client = use();
    await client.create(pods, pod('patched'));
    const images = async (patch: Parameters<Client['patch']>[2]) =>
      (await client.patch(pods, at('patched'), patch)).spec.containers.map(({ image }) => image);
    const containers = [{ name: 'main', image: 'two' }];
    assert.deepEqual(await images({ type: 'strategic', body: { spec: { containers } } }), ['two']);
    const replaced = [{ op: 'replace', path: '/spec/containers/0/image', value: 'three' }];
    assert.deepEqual(await images({ type: 'json', body: replaced }), ['three']);
    const annotated = { metadata: { annotations: { a: '1', b: '2' } } };
    assert.deepEqual(await images({ type: 'merge', body: annotated }), ['three']);
    const lessened = await client.patch(pods, at('patched'), {
      type: 'merge',
      body: { metadata: { annotations: { b: null } } },
    });
    assert.deepEqual(lessened.metadata.annotations, { a: '1' });
  });

  it('refuses a patch of another version', async () => {
    const client = use();
    await client.create(configMaps, configMap('held'));
    const body = { metadata: { resourceVersion: '1' }, data: { a: '1' } };
    await assert.rejects(
      client.patch(configMaps, at('held'), { type: 'merge', body }),
      refusedWith(409, /^Operation cannot be fulfilled on configmaps "held": the object has been modified/),
    );
  });
}

function testDeletions(use: () => Client): void {
  it('keeps what has finalizers until the last is gone', async () => {
    const client = use();
    const finalizers = ['example.com/a'];
    await client.create(configMaps, configMap('kept', { metadata: { finalizers } }));
    await client.delete(configMaps, at('kept'));
    const ending = await client.get(configMaps, at('kept'));
    assert.ok(ending.metadata.deletionTimestamp);
    const restored = { ...ending, metadata: { ...ending.metadata, deletionTimestamp: undefined } };
    const updated = await client.update(configMaps, restored as ConfigMap);
    assert.equal(updated.metadata.deletionTimestamp, ending.metadata.deletionTimestamp, 'nobody takes it back');
    await client.update(configMaps, { ...updated, metadata: { ...updated.metadata, finalizers: [] } });
    await assert.rejects(client.get(configMaps, at('kept')), refusedWith(404, /not found/));
  });

  it('adds the finalizer of a policy of propagation', async () => {
    const client = use();
    for (const [propagationPolicy, finalizer] of [
      ['Orphan', 'orphan'],
      ['Foreground', 'foregroundDeletion'],
    ] as const) {
      const ref = at(`owner-${finalizer.toLowerCase()}`);
      await client.create(configMaps, configMap(ref.name));
      await client.delete(configMaps, ref, { propagationPolicy });
      assert.deepEqual((await client.get(configMaps, ref)).metadata.finalizers, [finalizer]);
    }
  });

  it('deletes only the object that is meant', async () => {
    const client = use();
    const { metadata } = await client.create(configMaps, configMap('meant'));
    const uid = '00000000-0000-0000-0000-000000000000';
    await assert.rejects(
      client.delete(configMaps, at('meant'), { preconditions: { uid } }),
      refusedWith(
        409,
        `Operation cannot be fulfilled on ConfigMap "meant": the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
      ),
    );
    await client.delete(configMaps, at('meant'), { preconditions: { uid: metadata.uid! } });
  });

  it('gives a Pod on a node its time, and others none', async () => {
    const client = use();
    await client.create(pods, pod('waiting'));
    await client.delete(pods, at('waiting'));
    assert.equal(await isThere(client, 'waiting'), false);

    await client.create(pods, pod('running', 'node-a'));
    await client.delete(pods, at('running'), { gracePeriodSeconds: 20 });
    const { metadata } = await client.get(pods, at('running'));
    assert.equal(metadata.deletionGracePeriodSeconds, 20);
    const lifeMs = Date.parse(metadata.deletionTimestamp!) - Date.parse(metadata.creationTimestamp!);
    assert.ok(lifeMs >= 20_000, `${lifeMs} ms`);
    await client.delete(pods, at('running'), { gracePeriodSeconds: 0 });
    assert.equal(await isThere(client, 'running'), false);
  });

  it('evicts a Pod', async () => {
    const client = use();
    await client.create(pods, pod('evicted'));
    await client.raw({
      ...{ method: 'POST', path: `/api/v1/namespaces/${namespace}/pods/evicted/eviction` },
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: at('evicted') },
    });
    assert.equal(await isThere(client, 'evicted'), false);
  });
}

function testReads(use: () => Client): void {
  it('lists what selectors ask for, in the order of names', async () => {
    const client = use();
    for (const [name, colour] of [
      ['z', 'red'],
      ['a', 'red'],
      ['m', 'blue'],
    ] as const)
      await client.create(configMaps, configMap(`listed-${name}`, { metadata: { labels: { colour } } }));
    const names = async (selection: Parameters<Client['list']>[1]) =>
      (await client.list(configMaps, { namespace, ...selection })).items.map(({ metadata }) => metadata.name);
    assert.deepEqual(await names({ labelSelector: 'colour=red' }), ['listed-a', 'listed-z']);
    assert.deepEqual(await names({ labelSelector: 'colour in (blue)' }), ['listed-m']);
    assert.deepEqual(await names({ fieldSelector: 'metadata.name=listed-z' }), ['listed-z']);
    const others = { labelSelector: 'colour', fieldSelector: 'metadata.name!=listed-z' };
    assert.deepEqual(await names(others), ['listed-a', 'listed-m']);
    await client.deleteCollection(configMaps, { namespace, labelSelector: 'colour=red' });
    assert.deepEqual(await names({ labelSelector: 'colour' }), ['listed-m']);
  });

  it('tells a watcher what comes into its selection, changes and leaves', async () => {
    const client = use();
    const { resourceVersion } = await client.list(configMaps, { namespace });
    const seen = eventsOf(client, { labelSelector: 'seen=yes', resourceVersion }, 4);
    const labelled = (value: string) => ({ metadata: { labels: { seen: value } } });
    await client.create(configMaps, configMap('watched'));
    for (const patch of [labelled('yes'), { data: { a: '1' } }, labelled('no'), labelled('yes')])
      await client.patch(configMaps, at('watched'), { type: 'merge', body: patch });
    await client.delete(configMaps, at('watched'));
    assert.deepEqual(await seen, ['ADDED watched', 'MODIFIED watched', 'DELETED watched', 'ADDED watched']);
  });

  it('tells a watcher without a version of all that is there', async () => {
    const client = use();
    await client.create(configMaps, configMap('present', { metadata: { labels: { here: 'yes' } } }));
    assert.deepEqual(await eventsOf(client, { labelSelector: 'here=yes' }, 1), ['ADDED present']);
  });
}

/** The first so many. */
async function eventsOf(client: Client, options: WatchOptions, count: number): Promise<readonly string[]> {
  const stop = new AbortController();
  const events: string[] = [];
  for await (const { type, object } of client.watch<KubeObject>(configMaps, {
    ...{ namespace, ...options },
    signal: stop.signal,
  })) {
    events.push(`${type} ${object.metadata.name}`);
    if (events.length === count) break;
  }
  stop.abort();
  return events;
}
