import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pods, type ReplicationController, replicationControllers } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runReplicationControllerController } from './replicationcontroller-controller.ts';

const web = (replicas: number, selector: Record<string, string>): ReplicationController => ({
  metadata: { namespace: 'default', name: 'web' },
  spec: {
    replicas,
    selector,
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
});

test('makes the Pods asked for, as their owner, and takes those that are too many', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runReplicationControllerController);
  await cluster.client.create(replicationControllers, web(3, { app: 'web' }));
  await cluster.settle();
  assert.equal(cluster.api.all(pods).length, 3);
  const [owner] = cluster.api.all(pods)[0]!.metadata.ownerReferences ?? [];
  assert.deepEqual([owner?.apiVersion, owner?.kind, owner?.name], ['v1', 'ReplicationController', 'web']);
  assert.equal(cluster.api.find(replicationControllers, 'default/web')?.status?.replicas, 3);
  cluster.api.alter(replicationControllers, 'default/web', ({ spec }) => {
    spec.replicas = 1;
  });
  await cluster.settle();
  assert.equal(cluster.api.all(pods).length, 1);
});

test('a Pod that its plain selector matches is taken in', async () => {
  await using cluster = new MemoryCluster();
  await cluster.client.create(pods, {
    metadata: { namespace: 'default', name: 'loose', labels: { app: 'web', tier: 'x' } },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });
  cluster.run(runReplicationControllerController);
  await cluster.client.create(replicationControllers, web(1, { app: 'web' }));
  await cluster.settle();
  assert.deepEqual(
    cluster.api.all(pods).map(({ metadata }) => [metadata.name, metadata.ownerReferences?.[0]?.name]),
    [['loose', 'web']],
  );
});

test('an empty selector matches nothing, rather than everything', async () => {
  await using cluster = new MemoryCluster();
  await cluster.client.create(pods, {
    metadata: { namespace: 'default', name: 'loose', labels: { app: 'other' } },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });
  cluster.run(runReplicationControllerController);
  await cluster.client.create(replicationControllers, web(0, {}));
  await cluster.settle();
  assert.equal(cluster.api.find(pods, 'default/loose')?.metadata.ownerReferences, undefined);
});
