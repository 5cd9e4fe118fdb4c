/** Who must leave a Node with NoExecute taints, and when. What the documents say of it is tested with the Node's lifecycle. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodes, pods, type Taint, type Toleration } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runTaintEvictionController } from './taint-eviction-controller.ts';

const down: Taint = { key: 'down', effect: 'NoExecute' };
const slow: Taint = { key: 'slow', effect: 'NoExecute' };
const forSeconds = (key: string, tolerationSeconds: number): Toleration => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds,
});

async function start(): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  await cluster.client.create(nodes, { metadata: { name: 'n' }, spec: {} });
  cluster.run(runTaintEvictionController);
  return cluster;
}

async function addPod(cluster: MemoryCluster, tolerations: readonly Toleration[] = [], nodeName = 'n'): Promise<void> {
  await cluster.client.create(pods, {
    metadata: { namespace: 'd', name: 'p' },
    spec: { nodeName, containers: [], tolerations },
  });
  await cluster.settle();
}

async function taint(cluster: MemoryCluster, ...taints: readonly Taint[]): Promise<void> {
  cluster.api.alter(nodes, 'n', (node) => {
    node.spec.taints = taints.map((one) => ({ ...one }));
  });
  await cluster.settle();
}

const stays = (cluster: MemoryCluster) => {
  const pod = cluster.api.find(pods, 'd/p');
  return pod !== undefined && pod.metadata.deletionTimestamp === undefined;
};
const told = (cluster: MemoryCluster) => cluster.events.map(({ reason, message }) => `${reason}: ${message}`);

test('a Pod that does not tolerate the taint is deleted at once, and its status and an Event say why', async () => {
  await using cluster = await start();
  await addPod(cluster);
  await taint(cluster, down);
  assert.equal(stays(cluster), false);
  assert.deepEqual(told(cluster), ['TaintManagerEviction: Marking for deletion Pod d/p']);
  const patch = cluster.api.writes.find(({ path }) => path.endsWith('/pods/p/status'))!;
  const [condition] = (patch.body as { status: { conditions: Record<string, string>[] } }).status.conditions;
  assert.deepEqual(
    [condition?.type, condition?.status, condition?.reason, condition?.message],
    ['DisruptionTarget', 'True', 'DeletionByTaintManager', 'Taint manager: deleting due to NoExecute taint'],
  );
});

test('a Pod that lands on a tainted Node is deleted too', async () => {
  await using cluster = await start();
  await taint(cluster, down);
  await addPod(cluster);
  assert.equal(stays(cluster), false);
});

test('other effects, and other Nodes, drive nobody away', async () => {
  await using cluster = await start();
  await addPod(cluster);
  await taint(cluster, { ...down, effect: 'NoSchedule' }, { ...slow, effect: 'PreferNoSchedule' });
  assert.ok(stays(cluster));
  await cluster.client.delete(pods, { namespace: 'd', name: 'p' }, { gracePeriodSeconds: 0 });
  await addPod(cluster, [], 'another');
  await taint(cluster, down);
  assert.ok(stays(cluster));
});

test('a toleration without seconds keeps the Pod for ever', async () => {
  await using cluster = await start();
  await addPod(cluster, [{ operator: 'Exists' }]);
  await taint(cluster, down, slow);
  await cluster.clock.advance(86_400_000);
  assert.ok(stays(cluster));
});

test('the shortest of several tolerations counts, and what is planned is told', async () => {
  await using cluster = await start();
  await addPod(cluster, [forSeconds('down', 300), forSeconds('slow', 60)]);
  await taint(cluster, down, slow);
  assert.deepEqual(
    cluster.causes.all().map(({ about, reason, waitsFor }) => [about.name, reason, waitsFor?.[0]?.name]),
    [['p', 'EvictionScheduled', 'n']],
  );
  await cluster.clock.advance(55_000);
  assert.ok(stays(cluster));
  await cluster.clock.advance(5000);
  assert.equal(stays(cluster), false);
  assert.deepEqual(cluster.causes.all(), []);
});

test('one taint that is not tolerated is enough', async () => {
  await using cluster = await start();
  await addPod(cluster, [forSeconds('down', 300)]);
  await taint(cluster, down, slow);
  assert.equal(stays(cluster), false);
});

test('a taint that is taken off in time cancels the deletion', async () => {
  await using cluster = await start();
  await addPod(cluster, [forSeconds('down', 60)]);
  await taint(cluster, down);
  await cluster.clock.advance(30_000);
  await taint(cluster);
  await cluster.clock.advance(60_000);
  assert.ok(stays(cluster));
  assert.deepEqual(told(cluster), ['TaintManagerEviction: Cancelling deletion of Pod d/p']);
});

test('a taint that changes its value gives no new time', async () => {
  await using cluster = await start();
  await addPod(cluster, [forSeconds('down', 60)]);
  await taint(cluster, down);
  await cluster.clock.advance(40_000);
  await taint(cluster, { ...down, value: 'really' });
  await cluster.clock.advance(20_000);
  assert.equal(stays(cluster), false);
});

test('a Pod of the same name begins its own time', async () => {
  await using cluster = await start();
  await addPod(cluster, [forSeconds('down', 60)]);
  await taint(cluster, down);
  await cluster.clock.advance(50_000);
  await cluster.client.delete(pods, { namespace: 'd', name: 'p' }, { gracePeriodSeconds: 0 });
  await addPod(cluster, [forSeconds('down', 60)]);
  await cluster.clock.advance(30_000);
  assert.ok(stays(cluster));
  await cluster.clock.advance(35_000);
  assert.equal(stays(cluster), false);
});
