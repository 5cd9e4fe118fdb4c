/** The controller on a control plane of the test's own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigMap, configMaps, namespaces } from 'coracle/api/core-v1';
import { componentContext, silentLog, systemClock, systemRandom } from 'coracle/reconcile';
import { eventually, startControlPlane } from 'coracle/testing';
import { runCopyController } from './controller.ts';

test('shared ConfigMaps are kept copied into every namespace that wants them', async () => {
  await using cluster = await startControlPlane();
  const { client } = cluster;
  const wants = { 'example.com/wants-shared': 'true' };
  for (const [name, labels] of Object.entries({ shared: {}, a: wants, b: wants, c: {} })) {
    await client.create(namespaces, { metadata: { name, labels }, spec: {} });
  }
  const original: ConfigMap = {
    metadata: { namespace: 'shared', name: 'settings', labels: { 'example.com/shared': 'true' } },
    data: { colour: 'blue' },
  };
  await client.create(configMaps, original);

  const stop = new AbortController();
  const parts = { client, clock: systemClock, random: systemRandom, log: silentLog, signal: stop.signal };
  const running = runCopyController(componentContext(parts));
  const assertCopies = (...wanted: readonly string[]) =>
    eventually(async () => {
      const { items } = await client.list(configMaps, { labelSelector: 'example.com/copied-by' });
      const copies = items.map(({ metadata, data }) => `${metadata.namespace} ${data?.colour}`).sort();
      assert.deepEqual(copies, wanted);
    });
  await assertCopies('a blue', 'b blue');

  const ofA = { namespace: 'a', name: 'settings' };
  await client.patch(configMaps, ofA, { type: 'merge', body: { data: { colour: 'red' } } });
  await assertCopies('a blue', 'b blue');

  await client.update(configMaps, { ...original, data: { colour: 'green' } });
  await assertCopies('a green', 'b green');

  await client.patch(namespaces, { name: 'c' }, { type: 'merge', body: { metadata: { labels: wants } } });
  await client.patch(
    namespaces,
    { name: 'a' },
    { type: 'merge', body: { metadata: { labels: { 'example.com/wants-shared': null } } } },
  );
  await assertCopies('b green', 'c green');

  await client.delete(configMaps, { namespace: 'shared', name: 'settings' });
  await assertCopies();
  stop.abort();
  await running;
});
