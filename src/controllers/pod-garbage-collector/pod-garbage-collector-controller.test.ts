import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodes, type Pod, pods, type Toleration } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runPodGarbageCollectorController } from './pod-garbage-collector-controller.ts';

async function addPod(
  cluster: MemoryCluster,
  name: string,
  spec: Partial<Pod['spec']>,
  phase = 'Running',
): Promise<void> {
  await cluster.client.create(pods, { metadata: { namespace: 'd', name }, spec: { containers: [], ...spec } });
  cluster.api.alter(pods, `d/${name}`, (pod) => {
    pod.status = { ...pod.status, phase: phase as 'Running' };
  });
}

const names = (cluster: MemoryCluster) =>
  cluster.api
    .all(pods)
    .map(({ metadata }) => metadata.name)
    .sort();

test('the oldest finished Pods beyond the threshold go', async () => {
  await using cluster = new MemoryCluster();
  for (const name of ['one', 'two', 'three']) {
    await addPod(cluster, name, { nodeName: 'n' }, 'Succeeded');
    await cluster.clock.advance(1000);
  }
  await cluster.client.create(nodes, { metadata: { name: 'n' }, spec: {} });
  cluster.run((context) => runPodGarbageCollectorController(context, { terminatedThreshold: 1 }));
  await cluster.settle();
  assert.deepEqual(names(cluster), ['three']);
});

test('Pods of a Node that is gone are removed after the quarantine, and not before', async () => {
  await using cluster = new MemoryCluster();
  await cluster.client.create(nodes, { metadata: { name: 'n' }, spec: {} });
  await addPod(cluster, 'orphan', { nodeName: 'gone' });
  await addPod(cluster, 'fine', { nodeName: 'n' });
  cluster.run(runPodGarbageCollectorController);
  await cluster.settle();
  await cluster.clock.advance(30_000);
  assert.deepEqual(names(cluster), ['fine', 'orphan']);
  await cluster.clock.advance(30_000);
  assert.deepEqual(names(cluster), ['fine']);
  const patch = cluster.api.writes.find(({ method, path }) => method === 'PATCH' && path.endsWith('/orphan/status'));
  const body = patch?.body as { status: { phase: string; conditions: { reason: string; message: string }[] } };
  assert.deepEqual(
    [body.status.phase, body.status.conditions[0]?.reason, body.status.conditions[0]?.message],
    ['Failed', 'DeletionByPodGC', 'PodGC: node no longer exists'],
  );
});

test('on a Node that is out of service and not ready, terminating Pods that do not tolerate it go', async () => {
  await using cluster = new MemoryCluster();
  const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' as const, value: 'nodeshutdown' }];
  await cluster.client.create(nodes, { metadata: { name: 'n' }, spec: { taints } });
  const tolerations: Toleration[] = [{ key: 'node.kubernetes.io/out-of-service', operator: 'Exists' }];
  await addPod(cluster, 'running', { nodeName: 'n' });
  await addPod(cluster, 'terminating', { nodeName: 'n' });
  await addPod(cluster, 'tolerant', { nodeName: 'n', tolerations });
  for (const name of ['terminating', 'tolerant']) await cluster.client.delete(pods, { namespace: 'd', name });
  cluster.run(runPodGarbageCollectorController);
  await cluster.settle();
  assert.deepEqual(names(cluster), ['running', 'tolerant']);
  assert.ok(cluster.api.find(nodes, 'n')?.spec.taints?.length, 'the taint stays');
});

test('where the taint of a Node that is out of service means nothing, its Pods stay', async () => {
  await using cluster = new MemoryCluster();
  const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' as const }];
  await cluster.client.create(nodes, { metadata: { name: 'n' }, spec: { taints } });
  await addPod(cluster, 'terminating', { nodeName: 'n' });
  await cluster.client.delete(pods, { namespace: 'd', name: 'terminating' });
  await addPod(cluster, 'unbound', {});
  await cluster.client.delete(pods, { namespace: 'd', name: 'unbound' });
  cluster.run((context) => runPodGarbageCollectorController(context, { ignoresOutOfService: true }));
  await cluster.settle();
  assert.deepEqual(names(cluster), ['terminating'], 'the collector was there: the other one is gone');
});

test('a Pod deleted before it was bound goes', async () => {
  await using cluster = new MemoryCluster();
  await addPod(cluster, 'unbound', {});
  cluster.api.alter(pods, 'd/unbound', (pod) => {
    pod.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    pod.metadata.deletionGracePeriodSeconds = 30;
  });
  cluster.run(runPodGarbageCollectorController);
  await cluster.settle();
  assert.deepEqual(names(cluster), []);
});
