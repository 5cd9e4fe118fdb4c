/** What an older release or another writer left in the store is served in today's form. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Pod, pods } from '../api/gen/core-v1.ts';
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
