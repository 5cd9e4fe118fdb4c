/**
 * What every way of reaching an API server must do alike: HTTP, in process, and the memory API of tests. The server behind it must
 * have a namespace `default` and let the client do everything.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ConfigMap, configMaps, namespaces } from '../api/gen/core-v1.ts';
import { draft } from '../apimachinery/meta.ts';
import { isAlreadyExists, isConflict, isNotFound, messageOf } from '../apimachinery/status.ts';
import type { Client, WatchEvent } from './client.ts';

export interface OpenClient {
  readonly client: Client;
  close(): Promise<void>;
}

export function describeClient(name: string, open: () => Promise<OpenClient>): void {
  describe(`client over ${name}`, () => {
    let opened: OpenClient;
    let client: Client;
    before(async () => {
      opened = await open();
      client = opened.client;
    });
    after(() => opened.close());

    describeWrites(() => client);
    describeReads(() => client);
    describeWatches(() => client);
  });
}

/** A name of its own for each test, so that the suite can run on a server that is not empty. */
const unique = (() => {
  const used = new Map<string, number>();
  return (base: string) => {
    const count = (used.get(base) ?? 0) + 1;
    used.set(base, count);
    return `${base}-${count}`;
  };
})();

const configMap = (name: string, data: Record<string, string> = {}, labels?: Record<string, string>): ConfigMap => ({
  metadata: { name, namespace: 'default', ...(labels ? { labels } : {}) },
  data,
});

function describeWrites(client: () => Client): void {
  test('a created object comes back with uid, version and time', async () => {
    const name = unique('created');
    const created = await client().create(configMaps, configMap(name, { a: '1' }));
    assert.equal(created.kind, 'ConfigMap');
    assert.equal(created.apiVersion, 'v1');
    assert.ok(created.metadata.uid);
    assert.ok(created.metadata.resourceVersion);
    assert.match(created.metadata.creationTimestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.deepEqual(await client().get(configMaps, { namespace: 'default', name }), created);
  });

  test('generateName makes a name', async () => {
    const object: ConfigMap = { metadata: { generateName: 'generated-', namespace: 'default' } };
    const [one, other] = [await client().create(configMaps, object), await client().create(configMaps, object)];
    assert.match(one.metadata.name ?? '', /^generated-.+/);
    assert.notEqual(one.metadata.name, other.metadata.name);
  });

  test('what is changed after the call does not change what was sent', async () => {
    const object = draft(configMap(unique('sent'), { a: '1' }));
    const creating = client().create(configMaps, object as ConfigMap);
    object.data = { a: '2' };
    assert.deepEqual((await creating).data, { a: '1' });
  });

  test('creating a name twice fails with AlreadyExists', async () => {
    const object = configMap(unique('twice'));
    await client().create(configMaps, object);
    await assert.rejects(client().create(configMaps, object), (error) => {
      assert.ok(isAlreadyExists(error));
      assert.equal(messageOf(error), `configmaps "${object.metadata.name}" already exists`);
      return true;
    });
  });

  test('an update from an old version fails with Conflict, one from the newest succeeds', async () => {
    const created = await client().create(configMaps, configMap(unique('updated'), { a: '1' }));
    const updated = await client().update(configMaps, { ...created, data: { a: '2' } });
    assert.notEqual(updated.metadata.resourceVersion, created.metadata.resourceVersion);
    await assert.rejects(client().update(configMaps, { ...created, data: { a: '3' } }), isConflict);
    assert.deepEqual((await client().update(configMaps, { ...updated, data: { a: '4' } })).data, { a: '4' });
  });

  test('merge, strategic and JSON patches are applied', async () => {
    const name = unique('patched');
    const ref = { namespace: 'default', name };
    await client().create(configMaps, configMap(name, { a: '1', b: '2' }));
    const merged = await client().patch(configMaps, ref, { type: 'merge', body: { data: { a: null, c: '3' } } });
    assert.deepEqual(merged.data, { b: '2', c: '3' });
    const body = { metadata: { labels: { x: 'y' } } };
    const labelled = await client().patch(configMaps, ref, { type: 'strategic', body });
    assert.deepEqual(labelled.metadata.labels, { x: 'y' });
    const operations = [
      { op: 'test', path: '/data/b', value: '2' },
      { op: 'remove', path: '/data/b' },
    ];
    const operated = await client().patch(configMaps, ref, { type: 'json', body: operations });
    assert.deepEqual(operated.data, { c: '3' });
    await assert.rejects(client().patch(configMaps, ref, { type: 'json', body: operations }), { code: 422 });
  });

  test('a deleted object is gone, and the answer is its last state', async () => {
    const created = await client().create(configMaps, configMap(unique('deleted')));
    const ref = { namespace: 'default', name: created.metadata.name! };
    await assert.rejects(client().delete(configMaps, ref, { preconditions: { uid: 'another' } }), isConflict);
    await client().delete(configMaps, ref, { preconditions: { uid: created.metadata.uid } });
    await assert.rejects(client().get(configMaps, ref), isNotFound);
    await assert.rejects(client().delete(configMaps, ref), isNotFound);
  });

  test('deleting a collection takes what the selector chooses', async () => {
    const label = unique('collection');
    const [one, other] = [unique('one'), unique('other')];
    await client().create(configMaps, configMap(one, {}, { label }));
    await client().create(configMaps, configMap(other, {}, { label: `not-${label}` }));
    await client().deleteCollection(configMaps, { namespace: 'default', labelSelector: `label=${label}` });
    await assert.rejects(client().get(configMaps, { namespace: 'default', name: one }), isNotFound);
    await client().get(configMaps, { namespace: 'default', name: other });
  });

  test('no name reaches the server as a collection', async () => {
    assert.throws(() => client().update(configMaps, { metadata: { namespace: 'default' } }), { code: 400 });
    await assert.rejects(client().delete(configMaps, { namespace: 'default', name: '' }), { code: 400 });
  });
}

function describeReads(client: () => Client): void {
  test('a missing object is NotFound, in the words of the API', async () => {
    await assert.rejects(client().get(configMaps, { namespace: 'default', name: 'missing' }), (error) => {
      assert.ok(isNotFound(error));
      assert.equal(messageOf(error), 'configmaps "missing" not found');
      assert.deepEqual(error.status.details, { name: 'missing', kind: 'configmaps' });
      return true;
    });
  });

  test('a path that nobody serves is NotFound too, in the words of a client', async () => {
    await assert.rejects(client().raw({ method: 'GET', path: '/nonsense' }), (error) => {
      assert.ok(isNotFound(error));
      assert.equal(messageOf(error), 'the server could not find the requested resource');
      return true;
    });
  });

  test('lists choose by label, by field and by namespace', async () => {
    const set = unique('set');
    const elsewhere = unique('elsewhere');
    await client().create(namespaces, { metadata: { name: elsewhere }, spec: {} });
    const [a, b] = [unique('listed'), unique('listed')];
    await client().create(configMaps, configMap(a, {}, { set, part: 'a' }));
    await client().create(configMaps, configMap(b, {}, { set, part: 'b' }));
    await client().create(configMaps, { metadata: { name: a, namespace: elsewhere, labels: { set } } });
    const names = async (options: Parameters<Client['list']>[1]) =>
      (await client().list(configMaps, options)).items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    const all = [`default/${a}`, `default/${b}`, `${elsewhere}/${a}`];
    assert.deepEqual((await names({ labelSelector: `set=${set}` })).sort(), all.sort());
    assert.deepEqual(await names({ labelSelector: `set=${set},part in (b)` }), [`default/${b}`]);
    assert.deepEqual(await names({ namespace: elsewhere, labelSelector: `set=${set}` }), [`${elsewhere}/${a}`]);
    const fieldSelector = `metadata.name=${b}`;
    assert.deepEqual(await names({ namespace: 'default', fieldSelector }), [`default/${b}`]);
    assert.notEqual((await client().list(configMaps)).resourceVersion, '');
  });

  test('a call whose signal is aborted fails with the reason', async () => {
    const reason = new Error('no longer wanted');
    const signal = AbortSignal.abort(reason);
    await assert.rejects(client().list(configMaps, { signal }), (error) => error === reason);
  });
}

function describeWatches(client: () => Client): void {
  const typesAndNames = (events: readonly WatchEvent<ConfigMap>[]) =>
    events.map(({ type, object }) => `${type} ${object.metadata.name}`);

  test('a watch from a version shows what came after it, in order', async () => {
    const name = unique('watched');
    const { resourceVersion } = await client().list(configMaps, { namespace: 'default' });
    const created = await client().create(configMaps, configMap(name, { a: '1' }));
    const events: WatchEvent<ConfigMap>[] = [];
    // A server with controllers makes ConfigMaps of its own here.
    const own = { namespace: 'default', fieldSelector: `metadata.name=${name}` };
    const watching = (async () => {
      for await (const event of client().watch(configMaps, { ...own, resourceVersion })) {
        events.push(event);
        if (event.type === 'DELETED') break;
      }
    })();
    await client().update(configMaps, { ...created, data: { a: '2' } });
    await client().delete(configMaps, { namespace: 'default', name });
    await watching;
    assert.deepEqual(typesAndNames(events), [`ADDED ${name}`, `MODIFIED ${name}`, `DELETED ${name}`]);
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    assert.deepEqual(
      versions,
      versions.toSorted((a, b) => a - b),
    );
  });

  test('a watch without a version begins with the present state', async () => {
    const name = unique('present');
    await client().create(configMaps, configMap(name));
    const fieldSelector = `metadata.name=${name}`;
    for await (const event of client().watch(configMaps, { namespace: 'default', fieldSelector })) {
      assert.equal(event.type, 'ADDED');
      assert.equal(event.object.metadata.name, name);
      break;
    }
  });

  test('an object that stops matching is deleted for the watcher, one that starts is added', async () => {
    const name = unique('matching');
    const ref = { namespace: 'default', name };
    const label = unique('match');
    const { resourceVersion } = await client().list(configMaps, { namespace: 'default' });
    await client().create(configMaps, configMap(name, {}, { label: 'none' }));
    const relabel = (value: string) =>
      client().patch(configMaps, ref, { type: 'merge', body: { metadata: { labels: { label: value } } } });
    await relabel(label);
    await relabel('none');
    const events: WatchEvent<ConfigMap>[] = [];
    const options = { namespace: 'default', labelSelector: `label=${label}`, resourceVersion };
    for await (const event of client().watch(configMaps, options)) {
      events.push(event);
      if (events.length === 2) break;
    }
    assert.deepEqual(typesAndNames(events), [`ADDED ${name}`, `DELETED ${name}`]);
  });

  test('aborting the signal ends a watch that is waiting', async () => {
    const { resourceVersion } = await client().list(configMaps, { namespace: 'default' });
    const controller = new AbortController();
    const options = { namespace: 'default', resourceVersion, signal: controller.signal };
    const watching = client().watch(configMaps, options)[Symbol.asyncIterator]().next();
    const reason = new Error('enough');
    controller.abort(reason);
    await assert.rejects(watching, (error) => error === reason);
  });
}
