import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigMap, configMaps, namespaces } from 'coracle/api/core-v1';
import { createClient } from 'coracle/client';
import { componentContext, silentLog } from 'coracle/reconcile';
import { seededRandom } from '../../src/base/random.ts';
import { FakeClock, settle } from '../../src/testing/fake-clock.ts';
import { MemoryApi } from '../../src/testing/memory-api.ts';
import { runCopyController } from './controller.ts';

test('shared ConfigMaps are kept copied into every namespace that wants them', async () => {
  const clock = new FakeClock();
  const client = createClient(new MemoryApi({ clock }));
  const stop = new AbortController();
  const parts = { client, clock, random: seededRandom(1), log: silentLog, signal: stop.signal };
  const wants = { 'example.com/wants-shared': 'true' };
  for (const [name, labels] of Object.entries({ shared: {}, a: wants, b: wants, c: {} })) {
    await client.create(namespaces, { metadata: { name, labels }, spec: {} });
  }
  const original: ConfigMap = {
    metadata: { namespace: 'shared', name: 'settings', labels: { 'example.com/shared': 'true' } },
    data: { colour: 'blue' },
  };
  await client.create(configMaps, original);
  const running = runCopyController(componentContext(parts));
  const copies = async () => {
    await settle(30);
    const { items } = await client.list(configMaps, { labelSelector: 'example.com/copied-by' });
    return items.map(({ metadata, data }) => `${metadata.namespace} ${data?.colour}`).sort();
  };
  assert.deepEqual(await copies(), ['a blue', 'b blue']);

  await client.patch(
    configMaps,
    { namespace: 'a', name: 'settings' },
    { type: 'merge', body: { data: { colour: 'red' } } },
  );
  assert.deepEqual(await copies(), ['a blue', 'b blue'], 'a changed copy is put right');

  await client.update(configMaps, { ...original, data: { colour: 'green' } });
  assert.deepEqual(await copies(), ['a green', 'b green']);

  await client.patch(namespaces, { name: 'c' }, { type: 'merge', body: { metadata: { labels: wants } } });
  await client.patch(namespaces, { name: 'a' }, { type: 'merge', body: { metadata: { labels: null } } });
  assert.deepEqual(await copies(), ['b green', 'c green']);

  await client.delete(configMaps, { namespace: 'shared', name: 'settings' });
  assert.deepEqual(await copies(), []);
  stop.abort();
  await running;
});
