/** What an older release or another writer left in the store is served in today's form. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMaps, type Pod, pods } from '../api/gen/core-v1.ts';
import { builtinCodec } from '../api/schema.ts';
import { silentLog } from '../base/log.ts';
import { memoryStore } from '../storage/memory/memory-store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { openServer, serveHttps } from './api-server.fixture.ts';
import { trustStored } from './stored-encoding.ts';

const key = '/registry/pods/default/old';
const old = {
  apiVersion: 'v1',
  kind: 'Pod',
  spec: { containers: [{ image: 'busybox', name: 'c', fieldOfThePast: 1 }] },
  metadata: { namespace: 'default', name: 'old', uid: 'u' },
};

test('old bytes are decoded, defaulted and encoded anew before they are served', async () => {
  const clock = new FakeClock();
  const store = memoryStore<Uint8Array>({ clock, log: silentLog });
  const put = await store.put(key, Buffer.from(JSON.stringify(old)));
  const written = put.ok ? put.revision : assert.fail('nothing was there');
  const opened = await openServer({ clock, store: { kind: 'bytes', store } });
  const https = await serveHttps(opened.server);
  try {
    for (const client of [opened.client, https.client]) {
      const pod: Pod = await client.get(pods, { namespace: 'default', name: 'old' });
      assert.equal(pod.spec.restartPolicy, 'Always');
      assert.equal(pod.metadata.resourceVersion, String(written));
      assert.deepEqual(Object.keys(pod).slice(0, 3), ['kind', 'apiVersion', 'metadata']);
      assert.equal('fieldOfThePast' in pod.spec.containers[0]!, false);
    }
  } finally {
    await https.close();
    await opened.close();
  }
});

test('what this release has written is trusted by the next start', async () => {
  const store = memoryStore<Uint8Array>({ clock: new FakeClock(), log: silentLog });
  await store.put('/registry/configmaps/a/b', Buffer.from('{}'));
  const before = store.revision;
  const first = await trustStored(store);
  assert.ok(first > before);
  await store.put('/registry/configmaps/a/c', Buffer.from('{}'));
  assert.equal(await trustStored(store), first);
});

test('a value in another form than is written today is read, and written anew by an update that changes nothing', async () => {
  const clock = new FakeClock();
  const metadata = { namespace: 'default', name: 'a', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' };
  const configMap = { kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { a: 'b' } };
  const asJson = Buffer.from(builtinCodec().encodeCanonical(configMap));
  const asProtobuf = builtinCodec().encodeProtobuf(configMap)!;
  const at = '/registry/configmaps/default/a';
  for (const [mediaType, found, written] of [
    ['application/vnd.kubernetes.protobuf', asJson, asProtobuf],
    ['application/json', asProtobuf, asJson],
  ] as const) {
    const store = memoryStore<Uint8Array>({ clock, log: silentLog });
    await store.put(at, found);
    const opened = await openServer({ clock, store: { kind: 'bytes', store, mediaType, shared: true } });
    const { client } = opened;
    const read = await client.get(configMaps, { namespace: 'default', name: 'a' });
    assert.deepEqual(read.data, { a: 'b' });
    const first = await client.update(configMaps, read);
    assert.notEqual(first.metadata.resourceVersion, read.metadata.resourceVersion);
    assert.deepEqual(Buffer.from((await store.get(at))!.value), written);
    const second = await client.update(configMaps, first);
    assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
    await opened.close();
  }
});

test('a value that says it is something else fails its readers, and no others', async () => {
  const clock = new FakeClock();
  const store = memoryStore<Uint8Array>({ clock, log: silentLog });
  await store.put('/registry/configmaps/default/a', Buffer.from('{"kind":"Pod","apiVersion":"v9","metadata":{}}'));
  await store.put('/registry/pods/default/old', Buffer.from(JSON.stringify(old)));
  const opened = await openServer({ clock, store: { kind: 'bytes', store, shared: true } });
  const { client } = opened;
  await assert.rejects(client.get(configMaps, { namespace: 'default', name: 'a' }), {
    code: 500,
    message: /no kind "Pod" is registered for version "v9"/,
  });
  assert.equal((await client.get(pods, { namespace: 'default', name: 'old' })).metadata.name, 'old');
  await opened.close();
});
