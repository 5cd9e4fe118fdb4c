/** Lists and watches: versions, pages, selectors, bookmarks. Over both stores. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ConfigMap, configMaps, type Pod, pods } from '../../api/gen/core-v1.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { Client, WatchEvent, WatchOptions } from '../../client/client.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { type OpenServer, openServerWithDefault, type StoreName } from '../api-server.fixture.ts';

interface List {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly KubeObject[];
}

for (const storeName of ['memory', 'LMDB'] satisfies StoreName[]) {
  describe(`lists and watches over a ${storeName} store`, () => {
    let opened: OpenServer;
    const clock = new FakeClock();
    before(async () => {
      opened = await openServerWithDefault({ storeName, clock });
    });
    after(() => opened.close());
    describeLists(() => opened);
    describeWatches(() => opened);
    describeClockedWatches(() => opened, clock);
  });
}

const configMap = (namespace: string, name: string, labels: Record<string, string> = {}): ConfigMap => ({
  metadata: { name, namespace, labels },
});

async function listRaw({ client }: OpenServer, namespace: string, query: Record<string, string> = {}): Promise<List> {
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  return (await client.raw({ method: 'GET', path, query: new Map(Object.entries(query)) })) as List;
}

function names(list: List): (string | undefined)[] {
  return list.items.map(({ metadata }) => metadata.name);
}

function describeLists(server: () => OpenServer): void {
  test('pages together are the list as it was when the first was read', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await server().client.create(configMaps, configMap('paged', name));
    const first = await listRaw(server(), 'paged', { limit: '2' });
    assert.deepEqual(names(first), ['a', 'b']);
    assert.equal(first.metadata.remainingItemCount, 3);
    await server().client.delete(configMaps, { namespace: 'paged', name: 'd' });
    await server().client.create(configMaps, configMap('paged', 'cc'));
    const second = await listRaw(server(), 'paged', { limit: '2', continue: first.metadata.continue! });
    assert.deepEqual(names(second), ['c', 'd']);
    assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
    const third = await listRaw(server(), 'paged', { limit: '2', continue: second.metadata.continue! });
    assert.deepEqual(names(third), ['e']);
    assert.equal(third.metadata.continue, undefined);
  });

  test('a page whose state is forgotten says how to go on', async () => {
    for (const name of ['a', 'b', 'c']) await server().client.create(configMaps, configMap('compacted', name));
    const first = await listRaw(server(), 'compacted', { limit: '1' });
    await server().client.create(configMaps, configMap('compacted', 'bb'));
    const { store } = server().store;
    await store.compact(store.revision);
    const failure = await listRaw(server(), 'compacted', { continue: first.metadata.continue! }).then(
      () => assert.fail('the page was read'),
      (error: { status: { code: number; reason: string; metadata: { continue: string } } }) => error.status,
    );
    assert.equal(failure.code, 410);
    assert.equal(failure.reason, 'Expired');
    const rest = await listRaw(server(), 'compacted', { continue: failure.metadata.continue });
    assert.deepEqual(names(rest), ['b', 'bb', 'c']);
    const version = first.metadata.resourceVersion;
    await assert.rejects(listRaw(server(), 'compacted', { resourceVersion: version, resourceVersionMatch: 'Exact' }), {
      code: 410,
      message: 'The resourceVersion for the provided list is too old.',
    });
  });

  test('an exact version shows the past, a minimal one the present', async () => {
    await server().client.create(configMaps, configMap('versions', 'a'));
    const before = await listRaw(server(), 'versions');
    await server().client.create(configMaps, configMap('versions', 'b'));
    const { resourceVersion } = before.metadata;
    const exact = await listRaw(server(), 'versions', { resourceVersion, resourceVersionMatch: 'Exact' });
    assert.deepEqual(names(exact), ['a']);
    const minimal = await listRaw(server(), 'versions', { resourceVersion, resourceVersionMatch: 'NotOlderThan' });
    assert.deepEqual(names(minimal), ['a', 'b']);
  });

  test('selectors choose, and a limit counts what they chose', async () => {
    for (const name of ['a', 'b', 'c', 'd']) {
      await server().client.create(configMaps, configMap('chosen', name, { side: name < 'c' ? 'left' : 'right' }));
    }
    assert.deepEqual(names(await listRaw(server(), 'chosen', { labelSelector: 'side in (right)' })), ['c', 'd']);
    assert.deepEqual(names(await listRaw(server(), 'chosen', { fieldSelector: 'metadata.name!=a' })), ['b', 'c', 'd']);
    const page = await listRaw(server(), 'chosen', { labelSelector: 'side=right', limit: '1' });
    assert.deepEqual(names(page), ['c']);
    assert.equal(page.metadata.remainingItemCount, undefined);
    assert.deepEqual(
      names(await listRaw(server(), 'chosen', { labelSelector: 'side=right', continue: page.metadata.continue! })),
      ['d'],
    );
  });

  const refusals = [
    {
      query: { fieldSelector: 'data.x=1' },
      code: 400,
      message: '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    },
    { query: { labelSelector: 'a in (' }, code: 400 },
    { query: { limit: 'many' }, code: 400, message: 'strconv.ParseInt: parsing "many": invalid syntax' },
    {
      query: { continue: '???' },
      code: 400,
      message: 'invalid continue token: continue key is not valid: illegal base64 data at input byte 0',
    },
    { query: { resourceVersionMatch: 'Exact' }, code: 422 },
    { query: { resourceVersion: 'x' }, code: 400 },
    { query: { sendInitialEvents: 'true' }, code: 422 },
  ];
  for (const { query, code, message } of refusals) {
    test(`${new URLSearchParams(query as unknown as Record<string, string>)} is refused with ${code}`, async () => {
      const expected = message === undefined ? { code } : { code, message };
      await assert.rejects(listRaw(server(), 'default', query as unknown as Record<string, string>), expected);
    });
  }

  test('Pods are chosen by the fields of their kind', async () => {
    const pod = (name: string, nodeName?: string): Pod => ({
      metadata: { name, namespace: 'default' },
      spec: { containers: [{ name: 'c', image: 'i' }], ...(nodeName ? { nodeName } : {}) },
    });
    await server().client.create(pods, pod('on-a', 'a'));
    await server().client.create(pods, pod('nowhere'));
    const chosen = async (fieldSelector: string) =>
      (await server().client.list(pods, { fieldSelector })).items.map(({ metadata }) => metadata.name);
    assert.deepEqual(await chosen('spec.nodeName=a'), ['on-a']);
    assert.deepEqual(await chosen('spec.nodeName='), ['nowhere']);
    assert.deepEqual(await chosen('status.phase=Pending,spec.hostNetwork=false'), ['nowhere', 'on-a']);
    await assert.rejects(chosen('spec.nonsense=1'), { code: 400, message: 'field label not supported: spec.nonsense' });
  });
}

/** Collects events of a watch until there are `count`, or it ends. */
async function collect(client: Client, count: number, options: WatchOptions): Promise<WatchEvent<ConfigMap>[]> {
  const events: WatchEvent<ConfigMap>[] = [];
  for await (const event of client.watch(configMaps, options)) {
    events.push(event);
    if (events.length === count) break;
  }
  return events;
}

function told(events: readonly WatchEvent<KubeObject>[]): string[] {
  return events.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`.trim());
}

function describeWatches(server: () => OpenServer): void {
  test('a watch without a version begins with the state, one with a version after it', async () => {
    const { client } = server();
    await client.create(configMaps, configMap('watched', 'a'));
    const { resourceVersion } = await client.list(configMaps, { namespace: 'watched' });
    await client.create(configMaps, configMap('watched', 'b'));
    assert.deepEqual(told(await collect(client, 2, { namespace: 'watched' })), ['ADDED a', 'ADDED b']);
    assert.deepEqual(told(await collect(client, 1, { namespace: 'watched', resourceVersion })), ['ADDED b']);
  });

  test('objects that begin or cease to match are added or deleted', async () => {
    const { client } = server();
    const { resourceVersion } = await client.list(configMaps);
    const created = await client.create(configMaps, configMap('matching', 'a', { on: 'no' }));
    const on = await client.update(configMaps, {
      ...created,
      metadata: { ...created.metadata, labels: { on: 'yes' } },
    });
    const still = await client.update(configMaps, { ...on, data: { x: '1' } });
    const off = await client.update(configMaps, { ...still, metadata: { ...still.metadata, labels: {} } });
    const events = await collect(client, 3, { namespace: 'matching', resourceVersion, labelSelector: 'on=yes' });
    assert.deepEqual(told(events), ['ADDED a', 'MODIFIED a', 'DELETED a']);
    assert.equal(events[2]!.object.metadata.resourceVersion, off.metadata.resourceVersion);
    assert.deepEqual(events[2]!.object.metadata.labels, { on: 'yes' });
  });

  test('a deletion carries the last state and the version of the deletion', async () => {
    const { client } = server();
    const created = await client.create(configMaps, { ...configMap('gone', 'a'), data: { x: '1' } });
    const watching = collect(client, 1, { namespace: 'gone', resourceVersion: created.metadata.resourceVersion });
    await client.delete(configMaps, { namespace: 'gone', name: 'a' });
    const [event] = await watching;
    assert.equal(event!.type, 'DELETED');
    assert.deepEqual((event!.object as ConfigMap).data, { x: '1' });
    assert.ok(Number(event!.object.metadata.resourceVersion) > Number(created.metadata.resourceVersion));
  });

  test('the initial state is closed by a bookmark when asked for', async () => {
    const { client } = server();
    await client.create(configMaps, configMap('initial', 'a'));
    const options = { namespace: 'initial', sendInitialEvents: true, allowWatchBookmarks: true };
    const events = await collect(client, 2, options);
    assert.deepEqual(told(events), ['ADDED a', 'BOOKMARK']);
    assert.deepEqual(events[1]!.object.metadata.annotations, { 'k8s.io/initial-events-end': 'true' });
  });

  test('a watch without a version that takes bookmarks is told where the state ends', async () => {
    const { client } = server();
    await client.create(configMaps, configMap('unversioned', 'a'));
    const options = { namespace: 'unversioned', allowWatchBookmarks: true };
    for (const resourceVersion of ['', '0']) {
      const events = await collect(client, 2, { ...options, resourceVersion });
      assert.deepEqual(told(events), ['ADDED a', 'BOOKMARK']);
      assert.deepEqual(events[1]!.object.metadata.annotations, { 'k8s.io/initial-events-end': 'true' });
    }
  });

  test('watchers of one object, of a namespace and of a node hear what concerns them', async () => {
    const { client } = server();
    const { resourceVersion } = await client.list(configMaps);
    await client.create(configMaps, configMap('scope-a', 'x'));
    await client.create(configMaps, configMap('scope-b', 'x'));
    await client.create(configMaps, configMap('scope-a', 'y'));
    const byName = { fieldSelector: 'metadata.name=x', resourceVersion };
    assert.deepEqual(told(await collect(client, 2, byName)), ['ADDED x', 'ADDED x']);
    const one = { ...byName, namespace: 'scope-b' };
    const live = collect(client, 2, one);
    await client.patch(configMaps, { namespace: 'scope-b', name: 'x' }, { type: 'merge', body: { data: { a: '1' } } });
    assert.deepEqual(told(await live), ['ADDED x', 'MODIFIED x']);
  });

  test('a version that is too old ends the watch with Expired', async () => {
    const { client } = server();
    await assert.rejects(collect(client, 1, { resourceVersion: '1', namespace: 'default' }), {
      code: 410,
      reason: 'Expired',
      message: /^too old resource version: 1 \(\d+\)$/,
    });
  });

  test('bookmarks and initial events demand what belongs to them', async () => {
    const path = '/api/v1/configmaps';
    const query = new Map([
      ['watch', '1'],
      ['sendInitialEvents', 'true'],
    ]);
    await assert.rejects(server().client.raw({ method: 'GET', path, query }), { code: 422 });
  });
}

function describeClockedWatches(server: () => OpenServer, clock: FakeClock): void {
  test('a watch gets a bookmark each minute and one before its end', async () => {
    const { client } = server();
    const watching = collect(client, 99, {
      namespace: 'nothing-happens',
      resourceVersion: (await client.list(configMaps)).resourceVersion,
      allowWatchBookmarks: true,
      timeoutSeconds: 90,
    });
    for (let second = 0; second < 91; second += 1) await clock.advance(1000);
    const events = await watching;
    assert.deepEqual(told(events), ['BOOKMARK', 'BOOKMARK']);
    const { resourceVersion } = await client.list(configMaps);
    assert.equal(events[0]!.object.metadata.resourceVersion, resourceVersion);
  });

  test('what is asked for in the future is waited for, a while', async () => {
    const { resourceVersion } = (await listRaw(server(), 'default')).metadata;
    const future = String(Number(resourceVersion) + 1);
    const query = { resourceVersion: future, resourceVersionMatch: 'NotOlderThan' };
    const waiting = listRaw(server(), 'future', query);
    await server().client.create(configMaps, configMap('future', 'a'));
    assert.deepEqual(names(await waiting), ['a']);
    const vain = assert.rejects(listRaw(server(), 'future', { ...query, resourceVersion: '999999' }), {
      code: 504,
      message: /^Timeout: Too large resource version: 999999, current: \d+$/,
    });
    await clock.advance(3000);
    await vain;
  });
}
