import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigMap, configMaps, pods } from '../api/gen/core-v1.ts';
import { conflict } from '../apimachinery/status.ts';
import { createController } from './controller.ts';
import { harness } from './harness.fixture.ts';

const configMap = (name: string): ConfigMap => ({ metadata: { name, namespace: 'default' } });

test('every changed object is reconciled, the informer being ahead', async () => {
  const { client, context, informers, settle, stop } = harness();
  await client.create(configMaps, configMap('a'));
  const informer = informers.of(configMaps);
  const seen: string[] = [];
  const controller = createController(context, {
    name: 'test',
    async reconcile(key) {
      seen.push(`${key} ${informer.get(key) ? 'there' : 'gone'}`);
    },
  });
  controller.watch(informer);
  const running = controller.run();
  await settle();
  assert.deepEqual(seen, ['default/a there']);
  await client.delete(configMaps, { namespace: 'default', name: 'a' });
  await settle();
  assert.deepEqual(seen, ['default/a there', 'default/a gone']);
  stop.abort();
  await running;
});

test('failures come back after growing delays, conflicts without noise', async () => {
  const { clock, context, lines, settle, stop } = harness();
  const at: number[] = [];
  const controller = createController(context, {
    name: 'test',
    async reconcile() {
      at.push(clock.monotonic());
      if (at.length === 1) throw conflict(configMaps, 'a');
      if (at.length < 4) throw new Error('not yet');
    },
  });
  controller.enqueue('a');
  const running = controller.run();
  await settle();
  await clock.advance(1000);
  assert.deepEqual(at, [0, 5, 15, 35]);
  assert.deepEqual(
    lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields?.error),
    ['not yet', 'not yet'],
  );
  stop.abort();
  await running;
});

test('a key is dropped after maxRetries', async () => {
  const { clock, context, lines, stop } = harness();
  let tries = 0;
  const controller = createController(context, {
    name: 'test',
    maxRetries: 3,
    async reconcile() {
      tries++;
      throw new Error('never');
    },
  });
  controller.enqueue('a');
  const running = controller.run();
  await clock.advance(60_000);
  assert.equal(tries, 4);
  assert.equal(lines.filter(({ level }) => level === 'error').length, 1);
  stop.abort();
  await running;
});

test('a key asked for again comes again at its time', async () => {
  const { clock, context, stop } = harness();
  const at: number[] = [];
  const controller = createController(context, {
    name: 'test',
    async reconcile() {
      at.push(clock.monotonic());
      return at.length < 3 ? { againAfterMs: 10_000 } : undefined;
    },
  });
  controller.enqueue('a', 1000);
  const running = controller.run();
  await clock.advance(60_000);
  assert.deepEqual(at, [1000, 11_000, 21_000]);
  stop.abort();
  await running;
});

test('owners are reconciled when what they own changes or changes hands', async () => {
  const { client, context, informers, settle, stop } = harness();
  const seen: string[] = [];
  const controller = createController(context, {
    name: 'test',
    async reconcile(key) {
      seen.push(key);
    },
  });
  controller.watchOwned(informers.of(pods), { group: 'apps', kind: 'ReplicaSet' });
  const running = controller.run();
  const owned = (owner: string, kind = 'ReplicaSet') => [
    { apiVersion: 'apps/v1', kind, name: owner, uid: `uid-${owner}`, controller: true },
  ];
  const spec = { containers: [] };
  const metadata = { name: 'p', namespace: 'default' };
  await client.create(pods, { metadata: { ...metadata, ownerReferences: owned('one') }, spec });
  await settle();
  await client.update(pods, { metadata: { ...metadata, ownerReferences: owned('two') }, spec });
  await settle();
  await client.update(pods, { metadata: { ...metadata, ownerReferences: owned('job', 'Job') }, spec });
  await settle();
  assert.deepEqual(seen, ['default/one', 'default/two', 'default/one', 'default/two']);
  stop.abort();
  await running;
});

test('work goes on side by side for different keys, and run waits for it at the end', async () => {
  const { context, settle, stop } = harness();
  const under = new Set<string>();
  let most = 0;
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const controller = createController(context, {
    name: 'test',
    workers: 2,
    async reconcile(key) {
      under.add(key);
      most = Math.max(most, under.size);
      await gate;
      under.delete(key);
    },
  });
  for (const key of ['a', 'b', 'c', 'a']) controller.enqueue(key);
  let ended = false;
  const running = controller.run().then(() => {
    ended = true;
  });
  await settle();
  assert.equal(most, 2);
  stop.abort();
  await settle();
  assert.equal(ended, false);
  release();
  await running;
  assert.equal(under.size, 0);
});
