/**
 * The API server in its whole composition (rights, admission, certificates) seen by its clients: the client's contract over both
 * transports and both stores, the bytes that go over the wire, and a store that outlives its server.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ConfigMap, configMaps } from '../../src/api/gen/core-v1.ts';
import { systemClock } from '../../src/base/clock.ts';
import { describeClient } from '../../src/client/client.contract.ts';
import { type Client, createClient, createHttpTransport, type WatchEvent } from '../../src/client/index.ts';
import { clusterData, type OpenCluster, openCluster, type StoreName } from './cluster.ts';
import { openWires, type Wire } from './wire.ts';

const storeNames: readonly StoreName[] = ['memory', 'LMDB'];

for (const storeName of storeNames) {
  describeClient(`direct calls into a whole control plane, ${storeName} store`, async () => {
    const cluster = await openCluster({ storeName });
    return { client: cluster.controlPlane.admin, close: () => cluster.close() };
  });

  describeClient(`HTTPS into a whole control plane, ${storeName} store`, async () => {
    const cluster = await openCluster({ storeName });
    const { client, close } = remoteClient(cluster);
    return {
      client,
      async close() {
        await close();
        await cluster.close();
      },
    };
  });
}

function remoteClient({ admin }: OpenCluster): { readonly client: Client; close(): Promise<void> } {
  const { url: server, ca, cert, key } = admin;
  const transport = createHttpTransport({ server, clock: systemClock, tls: { ca, cert, key } });
  return { client: createClient(transport), close: () => transport.close() };
}

const collection = '/api/v1/namespaces/default/configmaps';
const json = { 'content-type': 'application/json' };

for (const storeName of storeNames) {
  describe(`bytes over HTTPS, ${storeName} store`, () => {
    let cluster: OpenCluster;
    let wires: readonly Wire[];
    before(async () => {
      cluster = await openCluster({ storeName });
      wires = openWires(cluster.admin);
      // Keys in another order than the canonical one, and one that the kind does not have.
      for (const name of ['b', 'a']) {
        const metadata = `{"annotations":{"note":"<&>\\u2028é"},"labels":{"set":"bytes","b":"1","a":"2"},"name":"${name}"}`;
        const body = `{"data":{"z":"1","a":"<&>"},"unknown":1,"metadata":${metadata},"apiVersion":"v1","kind":"ConfigMap"}`;
        const { status } = await wires[0]!.ask({ method: 'POST', path: collection, headers: json, body });
        assert.equal(status, 201);
      }
    });
    after(async () => {
      for (const wire of wires) wire.close();
      await cluster.close();
    });

    test('GET writes the object in canonical form, the same bytes each time and over both versions of HTTP', async () => {
      const texts = new Set<string>();
      for (const wire of [...wires, ...wires]) {
        const { status, headers, text } = await wire.ask({ path: `${collection}/a` });
        assert.equal(status, 200);
        assert.equal(headers['content-type'], 'application/json');
        texts.add(text);
      }
      assert.equal(texts.size, 1);
      const [text] = texts as unknown as [string];
      const { metadata } = JSON.parse(text);
      const { uid, resourceVersion, creationTimestamp } = metadata;
      assert.deepEqual(Object.keys(JSON.parse(text)), ['kind', 'apiVersion', 'metadata', 'data']);
      assert.ok(text.startsWith('{"kind":"ConfigMap","apiVersion":"v1","metadata":{'));
      assert.deepEqual(Object.keys(metadata).sort(), [
        'annotations',
        'creationTimestamp',
        'labels',
        'managedFields',
        'name',
        'namespace',
        'resourceVersion',
        'uid',
      ]);
      assert.match(resourceVersion, /^[1-9]\d*$/);
      assert.match(creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.match(uid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      // Keys of maps are sorted, and what Go escapes is escaped.
      assert.ok(text.includes('"labels":{"a":"2","b":"1","set":"bytes"}'), text);
      assert.ok(text.includes('"data":{"a":"\\u003c\\u0026\\u003e","z":"1"}'), text);
      assert.ok(text.includes('"note":"\\u003c\\u0026\\u003e\\u2028é"'), text);
    });

    test('LIST joins the same objects, sorted by name, without kind and version', async () => {
      for (const wire of wires) {
        const { text } = await wire.ask({ path: `${collection}?labelSelector=set%3Dbytes` });
        const list = JSON.parse(text);
        assert.deepEqual(Object.keys(list), ['kind', 'apiVersion', 'metadata', 'items']);
        assert.ok(text.startsWith('{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"'));
        assert.deepEqual(
          list.items.map((item: { readonly metadata: { readonly name: string } }) => item.metadata.name),
          ['a', 'b'],
        );
        for (const name of ['a', 'b']) {
          const { text: alone } = await wire.ask({ path: `${collection}/${name}` });
          const inList = alone.trimEnd().replace('{"kind":"ConfigMap","apiVersion":"v1",', '{');
          assert.ok(text.includes(inList), `${text}\n${inList}`);
        }
      }
    });

    test('a watch writes one event a line, with the very bytes that GET writes', async () => {
      for (const wire of wires) {
        const path = `${collection}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da`;
        const { text } = await wire.ask({ path });
        const { text: alone } = await wire.ask({ path: `${collection}/a` });
        assert.equal(text, `{"type":"ADDED","object":${alone.trimEnd()}}\n`);
      }
    });

    test('every write takes a higher resourceVersion, and a list has that of the newest', async () => {
      const client = cluster.controlPlane.admin;
      const versions: number[] = [];
      const name = 'counted';
      versions.push(
        Number(
          (await client.create(configMaps, { metadata: { name, namespace: 'default' } })).metadata.resourceVersion,
        ),
      );
      for (let step = 0; step < 5; step++) {
        for (const wire of wires) {
          const { text } = await wire.ask({
            method: 'PATCH',
            path: `${collection}/${name}`,
            headers: { 'content-type': 'application/merge-patch+json' },
            body: JSON.stringify({ data: { step: `${step} ${wire.protocol}` } }),
          });
          versions.push(Number(JSON.parse(text).metadata.resourceVersion));
        }
      }
      assert.equal(new Set(versions).size, versions.length);
      assert.deepEqual(
        versions,
        versions.toSorted((a, b) => a - b),
      );
      assert.ok(Number((await client.list(configMaps)).resourceVersion) >= versions.at(-1)!);
      const same = await client.patch(configMaps, { namespace: 'default', name }, { type: 'merge', body: {} });
      assert.equal(Number(same.metadata.resourceVersion), versions.at(-1), 'what changes nothing writes nothing');
    });
  });
}

describe('a store that outlives its server', () => {
  const data = clusterData();
  after(() => data.remove());

  const configMap = (name: string) => ({ metadata: { name, namespace: 'default', labels: { set: 'restart' } } });
  const selection = { namespace: 'default', labelSelector: 'set=restart' };
  const told = ({ type, object }: WatchEvent<ConfigMap>) => `${type} ${object.metadata.name}`;

  /** Follows a watch until it has told so much. */
  async function follow(client: Client, resourceVersion: string, count: number): Promise<WatchEvent<ConfigMap>[]> {
    const events: WatchEvent<ConfigMap>[] = [];
    const signal = AbortSignal.timeout(20_000);
    for await (const event of client.watch(configMaps, { ...selection, resourceVersion, signal })) {
      if (event.type !== 'BOOKMARK') events.push(event);
      if (events.length === count) break;
    }
    return events;
  }

  test('a watch goes on where it was, without a gap and without telling anything twice', async () => {
    const first = await openCluster({ storeName: 'LMDB', data });
    const { port } = first;
    const before = remoteClient(first);
    const { resourceVersion: start } = await before.client.list(configMaps, selection);
    await before.client.create(configMaps, configMap('one'));
    const seen = await follow(before.client, start, 1);
    assert.deepEqual(seen.map(told), ['ADDED one']);
    const last = seen.at(-1)!.object.metadata.resourceVersion!;
    // These happen while nobody watches.
    const two = await before.client.create(configMaps, configMap('two'));
    await before.client.update(configMaps, { ...two, data: { x: '1' } });
    await before.client.delete(configMaps, { namespace: 'default', name: 'one' });
    const interrupted = follow(before.client, start, Number.POSITIVE_INFINITY);
    await before.client.get(configMaps, { namespace: 'default', name: 'two' });
    await first.close();
    const whole = await interrupted.catch(() => []);
    await before.close();
    assert.ok(whole.length === 0 || whole.length === 4, 'the watch ends with the server');

    const second = await openCluster({ storeName: 'LMDB', data, port });
    const after = remoteClient(second);
    try {
      const following = follow(after.client, last, 5);
      await after.client.create(configMaps, configMap('three'));
      await after.client.delete(configMaps, { namespace: 'default', name: 'two' });
      const events = await following;
      assert.deepEqual(events.map(told), ['ADDED two', 'MODIFIED two', 'DELETED one', 'ADDED three', 'DELETED two']);
      const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
      assert.deepEqual(
        versions,
        versions.toSorted((a, b) => a - b),
      );
      assert.ok(versions[0]! > Number(last));
      assert.equal(events[1]!.object.metadata.uid, two.metadata.uid);
    } finally {
      await after.close();
      await second.close();
    }
  });

  test('what was acknowledged is there again, byte by byte, and certificates are still good', async () => {
    const path = '/api/v1/namespaces/default/configmaps/kept';
    const first = await openCluster({ storeName: 'LMDB', data });
    const [wire] = openWires(first.admin) as [Wire, Wire];
    const body = JSON.stringify({ metadata: { name: 'kept' }, data: { a: 'é', b: 'x'.repeat(100_000) } });
    await wire.ask({ method: 'POST', path: collection, headers: json, body });
    const before = await wire.ask({ path });
    wire.close();
    await first.close();
    const second = await openCluster({ storeName: 'LMDB', data });
    try {
      const [again] = openWires({ ...first.admin, url: second.url }) as [Wire, Wire];
      const after = await again.ask({ path });
      assert.equal(after.status, 200);
      assert.equal(after.text, before.text);
      again.close();
    } finally {
      await second.close();
    }
  });

  test('a version from before compaction is Expired, and a client that lists anew is up to date', async () => {
    const cluster = await openCluster({ storeName: 'LMDB', data });
    const { client, close } = remoteClient(cluster);
    try {
      const { resourceVersion: old } = await client.list(configMaps, selection);
      for (let turn = 0; turn < 3; turn++) {
        await client.patch(
          configMaps,
          { namespace: 'default', name: 'three' },
          { type: 'merge', body: { data: { turn: String(turn) } } },
        );
      }
      await cluster.store.store.compact(cluster.store.store.revision);
      const listing = client.list(configMaps, { ...selection, resourceVersion: old, resourceVersionMatch: 'Exact' });
      await assert.rejects(listing, { code: 410, reason: 'Expired' });
      assert.equal((await client.list(configMaps, selection)).items[0]?.data?.turn, '2');
    } finally {
      await close();
      await cluster.close();
    }
  });
});
