import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ReplicaSet, replicaSets } from '../../api/gen/apps-v1.ts';
import { type Pod, pods } from '../../api/gen/core-v1.ts';
import { forbidden } from '../../apimachinery/status.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runReplicaSetController } from './replicaset-controller.ts';

const web = (replicas: number): ReplicaSet => ({
  metadata: { namespace: 'default', name: 'web' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
});

const loose = (name: string): Pod => ({
  metadata: { namespace: 'default', name, labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
});

function makeReady(cluster: MemoryCluster, pod: Pod, atMs = cluster.clock.now()): void {
  cluster.api.alter(pods, `default/${pod.metadata.name}`, (live) => {
    const since = new Date(atMs).toISOString();
    live.status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: since }] };
  });
}

test('makes the Pods asked for, owned and labelled, each told by an Event', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runReplicaSetController);
  const set = await cluster.client.create(replicaSets, web(3));
  await cluster.settle();
  const made = cluster.api.all(pods);
  assert.equal(made.length, 3);
  for (const pod of made) {
    assert.match(pod.metadata.name ?? '', /^web-[a-z0-9]{5}$/);
    assert.deepEqual(pod.metadata.labels, { app: 'web' });
    assert.deepEqual(pod.metadata.ownerReferences, [
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: 'web',
        uid: set.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  }
  assert.deepEqual(
    cluster.events.map(({ reason, message }) => `${reason} ${message.replace(/-\w+$/, '')}`),
    Array(3).fill('SuccessfulCreate Created pod: web'),
  );
  assert.deepEqual(cluster.api.find(replicaSets, 'default/web')?.status?.replicas, 3);
  assert.deepEqual(cluster.complaints, []);
});

test('counts ready and available Pods, the latter once minReadySeconds have passed', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runReplicaSetController);
  const asked = web(1);
  await cluster.client.create(replicaSets, { ...asked, spec: { ...asked.spec, minReadySeconds: 30 } });
  await cluster.settle();
  makeReady(cluster, cluster.api.all(pods)[0]!);
  await cluster.settle();
  const status = () => cluster.api.find(replicaSets, 'default/web')?.status;
  assert.deepEqual([status()?.readyReplicas, status()?.availableReplicas ?? 0], [1, 0]);
  await cluster.clock.advance(31_000);
  assert.equal(status()?.availableReplicas, 1);
});

test('deletes what is too much, unscheduled Pods first', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runReplicaSetController);
  await cluster.client.create(replicaSets, web(3));
  await cluster.settle();
  const [first, second] = cluster.api.all(pods);
  for (const pod of [first!, second!]) {
    cluster.api.alter(pods, `default/${pod.metadata.name}`, (live) => {
      live.spec.nodeName = 'n1';
    });
  }
  const live = await cluster.client.get(replicaSets, { namespace: 'default', name: 'web' });
  await cluster.client.update(replicaSets, { ...live, spec: { ...live.spec, replicas: 2 } });
  await cluster.settle();
  assert.deepEqual(
    cluster.api
      .all(pods)
      .map(({ metadata }) => metadata.name)
      .sort(),
    [first!.metadata.name, second!.metadata.name].sort(),
  );
});

test('takes in matching orphans instead of making new Pods', async () => {
  await using cluster = new MemoryCluster();
  await cluster.client.create(pods, loose('stray'));
  cluster.run(runReplicaSetController);
  await cluster.client.create(replicaSets, web(1));
  await cluster.settle();
  assert.deepEqual(
    cluster.api.all(pods).map(({ metadata }) => [metadata.name, metadata.ownerReferences?.[0]?.name]),
    [['stray', 'web']],
  );
});

test('lets go of a Pod whose labels stop matching, and replaces it', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runReplicaSetController);
  await cluster.client.create(replicaSets, web(1));
  await cluster.settle();
  const name = cluster.api.all(pods)[0]!.metadata.name!;
  await cluster.client.patch(
    pods,
    { namespace: 'default', name },
    { type: 'merge', body: { metadata: { labels: { app: 'debug' } } } },
  );
  await cluster.settle();
  const released = cluster.api.find(pods, `default/${name}`);
  assert.equal(released?.metadata.ownerReferences?.length ?? 0, 0);
  assert.equal(cluster.api.all(pods).length, 2);
});

test('asks once a try when creation is refused, and says why in an Event and a condition', async () => {
  await using cluster = new MemoryCluster();
  let asked = 0;
  cluster.api.failWith(({ method, path }) => {
    if (method !== 'POST' || !path.endsWith('/pods')) return;
    asked++;
    throw forbidden(pods, 'web-x', 'exceeded quota');
  });
  cluster.run(runReplicaSetController);
  await cluster.client.create(replicaSets, web(5));
  await cluster.settle();
  // About nine tries fit into the second, each of which would ask five times without slow start.
  assert.ok(asked > 1 && asked < 15, `asked ${asked} times`);
  assert.equal(cluster.events[0]?.reason, 'FailedCreate');
  assert.match(cluster.events[0]?.message ?? '', /^Error creating: pods "web-x" is forbidden: exceeded quota$/);
  const condition = cluster.api.find(replicaSets, 'default/web')?.status?.conditions?.[0];
  assert.deepEqual([condition?.type, condition?.status, condition?.reason], ['ReplicaFailure', 'True', 'FailedCreate']);
});

test('replaces a Pod that is being deleted at once, and reports it as terminating', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runReplicaSetController);
  await cluster.client.create(replicaSets, web(1));
  await cluster.settle();
  const name = cluster.api.all(pods)[0]!.metadata.name!;
  cluster.api.alter(pods, `default/${name}`, (live) => {
    live.spec.nodeName = 'n1';
  });
  await cluster.client.delete(pods, { namespace: 'default', name });
  await cluster.settle();
  assert.equal(cluster.api.all(pods).length, 2);
  const status = cluster.api.find(replicaSets, 'default/web')?.status;
  assert.deepEqual([status?.replicas, status?.terminatingReplicas], [1, 1]);
});
