/** What a watch tells and what it leaves out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigMap, configMaps } from '../../src/api/gen/core-v1.ts';
import { seededRandom } from '../../src/base/random.ts';
import { type Follower, follow, startCluster } from './cluster.ts';

const { client, namespace: makeNamespace } = await startCluster();
const label = 'watch-this-configmap';
const configMap = (namespace: string, name: string, value: string): ConfigMap => ({
  metadata: { namespace, name, labels: { [label]: value } },
});
const mutated = (object: ConfigMap, mutation: string): ConfigMap => ({ ...object, data: { mutation } });
const relabelled = (object: ConfigMap, value: string): ConfigMap => ({
  ...object,
  metadata: { ...object.metadata, labels: { [label]: value } },
});
const selecting = (namespace: string, ...values: string[]) => ({
  namespace,
  labelSelector: `${label} in (${values.join(',')})`,
});
const withoutKind = ({ apiVersion: _, kind: __, ...rest }: ConfigMap) => rest;

/** The very next event is this one: nothing was told in between. */
async function assertNext(
  watch: Follower<ConfigMap>,
  type: 'ADDED' | 'MODIFIED' | 'DELETED',
  object?: ConfigMap,
): Promise<void> {
  const event = await watch.next();
  assert.equal(event.type, type);
  if (object) assert.deepEqual(withoutKind(event.object), withoutKind(object));
}

test('[sig-api-machinery] Watchers should observe add, update, and delete watch notifications on configmaps [Conformance]', async () => {
  const namespace = await makeNamespace();
  using watchA = await follow(client, configMaps, selecting(namespace, 'A'));
  using watchB = await follow(client, configMaps, selecting(namespace, 'B'));
  using watchBoth = await follow(client, configMaps, selecting(namespace, 'A', 'B'));

  let a = await client.create(configMaps, configMap(namespace, 'e2e-watch-test-configmap-a', 'A'));
  await assertNext(watchA, 'ADDED', a);
  await assertNext(watchBoth, 'ADDED', a);
  for (const mutation of ['1', '2']) {
    a = await client.update(configMaps, mutated(a, mutation));
    await assertNext(watchA, 'MODIFIED', a);
    await assertNext(watchBoth, 'MODIFIED', a);
  }
  await client.delete(configMaps, { namespace, name: a.metadata.name! });
  await assertNext(watchA, 'DELETED');
  await assertNext(watchBoth, 'DELETED');

  const b = await client.create(configMaps, configMap(namespace, 'e2e-watch-test-configmap-b', 'B'));
  await assertNext(watchB, 'ADDED', b);
  await assertNext(watchBoth, 'ADDED', b);
  await client.delete(configMaps, { namespace, name: b.metadata.name! });
  await assertNext(watchB, 'DELETED');
  await assertNext(watchBoth, 'DELETED');

  // What a watch is not told cannot be waited for; but its next event is the next thing that concerns it.
  const last = await client.create(configMaps, configMap(namespace, 'last', 'A'));
  await assertNext(watchA, 'ADDED', last);
});

test('[sig-api-machinery] Watchers should be able to start watching from a specific resource version [Conformance]', async () => {
  const namespace = await makeNamespace();
  const created = await client.create(configMaps, configMap(namespace, 'e2e-watch-test-resource-version', 'from'));
  const first = await client.update(configMaps, mutated(created, '1'));
  const second = await client.update(configMaps, mutated(first, '2'));
  await client.delete(configMaps, { namespace, name: created.metadata.name! });
  const { resourceVersion } = first.metadata;
  using watch = await follow(client, configMaps, { ...selecting(namespace, 'from'), resourceVersion });
  await assertNext(watch, 'MODIFIED', second);
  await assertNext(watch, 'DELETED');
});

test('[sig-api-machinery] Watchers should be able to restart watching from the last resource version observed by the previous watch [Conformance]', async () => {
  const namespace = await makeNamespace();
  const broken = await follow(client, configMaps, selecting(namespace, 'restarted'));
  const created = await client.create(configMaps, configMap(namespace, 'e2e-watch-test-watch-closed', 'restarted'));
  const first = await client.update(configMaps, mutated(created, '1'));
  await assertNext(broken, 'ADDED', created);
  const { type, object } = await broken.next();
  assert.equal(type, 'MODIFIED');
  broken[Symbol.dispose]();
  const second = await client.update(configMaps, mutated(first, '2'));
  const { resourceVersion } = object.metadata;
  using restarted = await follow(client, configMaps, { ...selecting(namespace, 'restarted'), resourceVersion });
  await client.delete(configMaps, { namespace, name: created.metadata.name! });
  await assertNext(restarted, 'MODIFIED', second);
  await assertNext(restarted, 'DELETED');
});

test('[sig-api-machinery] Watchers should observe an object deletion if it stops meeting the requirements of the selector [Conformance]', async () => {
  const namespace = await makeNamespace();
  using watch = await follow(client, configMaps, selecting(namespace, 'wanted'));
  const created = await client.create(configMaps, configMap(namespace, 'e2e-watch-test-label-changed', 'wanted'));
  const first = await client.update(configMaps, mutated(created, '1'));
  const away = await client.update(configMaps, relabelled(first, 'wrong-value'));
  await assertNext(watch, 'ADDED', created);
  await assertNext(watch, 'MODIFIED', first);
  await assertNext(watch, 'DELETED');
  const second = await client.update(configMaps, mutated(away, '2'));
  const back = await client.update(configMaps, relabelled(second, 'wanted'));
  const third = await client.update(configMaps, mutated(back, '3'));
  await client.delete(configMaps, { namespace, name: created.metadata.name! });
  // Nothing of the second change.
  await assertNext(watch, 'ADDED', back);
  await assertNext(watch, 'MODIFIED', third);
  await assertNext(watch, 'DELETED');
});

/** Creates, changes and deletes at random until told to stop. */
async function produce(namespace: string, stop: AbortSignal): Promise<void> {
  const random = seededRandom(20);
  const names: string[] = [];
  for (let count = 0; !stop.aborted; count++) {
    const choice = Math.floor(random.next() * 3);
    const name = names[Math.floor(random.next() * names.length)];
    if (choice === 0 || name === undefined) {
      names.push(`cm-${count}`);
      await client.create(configMaps, configMap(namespace, `cm-${count}`, 'produced'));
    } else if (choice === 1) {
      const body = { data: { count: String(count) } };
      await client.patch(configMaps, { namespace, name }, { type: 'merge', body });
    } else {
      await client.delete(configMaps, { namespace, name });
      names.splice(names.indexOf(name), 1);
    }
  }
}

test('[sig-api-machinery] Watchers should receive events on concurrent watches in same order [Conformance]', async () => {
  const namespace = await makeNamespace();
  const selection = selecting(namespace, 'produced');
  let { resourceVersion } = await client.list(configMaps, selection);
  const stop = new AbortController();
  const producing = produce(namespace, stop.signal);
  const watches: Follower<ConfigMap>[] = [];
  try {
    for (let iteration = 0; iteration < 100; iteration++) {
      watches.push(await follow(client, configMaps, { ...selection, resourceVersion }));
      const versions = await Promise.all(watches.map(async (watch) => (await watch.next()).object.metadata));
      assert.deepEqual([...new Set(versions.map((metadata) => metadata.resourceVersion))].length, 1);
      assert.notEqual(versions[0]!.resourceVersion, resourceVersion);
      resourceVersion = versions[0]!.resourceVersion!;
    }
  } finally {
    stop.abort();
    for (const watch of watches) watch[Symbol.dispose]();
    await producing;
  }
});
