import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Deployment,
  type DeploymentStrategy,
  deployments,
  type ReplicaSet,
  replicaSets,
} from '../../api/gen/apps-v1.ts';
import { pods } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runReplicaSetController } from '../replicaset/replicaset-controller.ts';
import { runDeploymentController } from './deployment-controller.ts';

const web = (replicas: number, strategy?: DeploymentStrategy): Deployment => ({
  metadata: { namespace: 'default', name: 'web' },
  spec: {
    replicas,
    strategy: strategy ?? { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
    selector: { matchLabels: { app: 'web' } },
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'one' }] } },
  },
});

function start(cluster: MemoryCluster): void {
  cluster.run(runDeploymentController);
  cluster.run(runReplicaSetController);
}

/** As a kubelet would: every Pod runs and is ready, every deleted one ends. */
async function runPods(cluster: MemoryCluster, rounds = 12): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await cluster.settle();
    for (const pod of cluster.api.all(pods)) {
      if (pod.status?.phase === 'Running') continue;
      cluster.api.alter(pods, `default/${pod.metadata.name}`, (live) => {
        const since = new Date(cluster.clock.now()).toISOString();
        live.status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: since }] };
      });
    }
  }
}

const setImage = (cluster: MemoryCluster, image: string) =>
  cluster.client.patch(
    deployments,
    { namespace: 'default', name: 'web' },
    { type: 'strategic', body: { spec: { template: { spec: { containers: [{ name: 'c', image }] } } } } },
  );

const bySize = (cluster: MemoryCluster) =>
  Object.fromEntries(cluster.api.all(replicaSets).map((set) => [image(set), set.spec.replicas]));
const image = (set: ReplicaSet) => set.spec.template?.spec.containers[0]?.image;
const stored = (cluster: MemoryCluster) => cluster.api.find(deployments, 'default/web')!;
const condition = (cluster: MemoryCluster, type: string) =>
  stored(cluster).status?.conditions?.find((one) => one.type === type);

test('a new Deployment gets a ReplicaSet with hash, revision and owner, and becomes complete', async () => {
  await using cluster = new MemoryCluster();
  start(cluster);
  await cluster.client.create(deployments, web(3));
  await runPods(cluster);
  const [set] = cluster.api.all(replicaSets);
  const hash = set?.metadata.labels?.['pod-template-hash'];
  assert.equal(set?.metadata.name, `web-${hash}`);
  assert.deepEqual(set?.spec.selector.matchLabels, { app: 'web', 'pod-template-hash': hash });
  assert.equal(set?.metadata.annotations?.['deployment.kubernetes.io/revision'], '1');
  assert.equal(set?.metadata.annotations?.['deployment.kubernetes.io/desired-replicas'], '3');
  assert.equal(set?.metadata.annotations?.['deployment.kubernetes.io/max-replicas'], '4');
  assert.equal(stored(cluster).metadata.annotations?.['deployment.kubernetes.io/revision'], '1');
  assert.equal(cluster.events[0]?.message, `Scaled up replica set web-${hash} from 0 to 3`);
  const { status } = stored(cluster);
  assert.deepEqual(
    [status?.replicas, status?.updatedReplicas, status?.readyReplicas, status?.availableReplicas],
    [3, 3, 3, 3],
  );
  assert.deepEqual(
    [condition(cluster, 'Available')?.reason, condition(cluster, 'Available')?.message],
    ['MinimumReplicasAvailable', 'Deployment has minimum availability.'],
  );
  assert.deepEqual(
    [condition(cluster, 'Progressing')?.reason, condition(cluster, 'Progressing')?.message],
    ['NewReplicaSetAvailable', `ReplicaSet "web-${hash}" has successfully progressed.`],
  );
  assert.deepEqual(cluster.complaints, []);
});

test('a rolling update keeps within surge and unavailability at every moment, and ends with the new Pods alone', async () => {
  await using cluster = new MemoryCluster();
  start(cluster);
  await cluster.client.create(deployments, web(4));
  await runPods(cluster);
  await setImage(cluster, 'two');
  let most = 0;
  for (let round = 0; round < 16; round++) {
    await cluster.settle();
    const all = cluster.api.all(pods);
    most = Math.max(most, all.length);
    const ready = all.filter(({ status }) => status?.phase === 'Running').length;
    assert.ok(all.length <= 5, `${all.length} Pods`);
    assert.ok(ready >= 3, `${ready} ready`);
    await runPods(cluster, 1);
  }
  assert.equal(most, 5);
  assert.deepEqual(bySize(cluster), { one: 0, two: 4 });
  assert.equal(stored(cluster).metadata.annotations?.['deployment.kubernetes.io/revision'], '2');
});

test('going back to a former template reuses its ReplicaSet under a new revision number', async () => {
  await using cluster = new MemoryCluster();
  start(cluster);
  await cluster.client.create(deployments, web(2));
  await runPods(cluster);
  await setImage(cluster, 'two');
  await runPods(cluster);
  await setImage(cluster, 'one');
  await runPods(cluster);
  assert.deepEqual(bySize(cluster), { one: 2, two: 0 });
  const first = cluster.api.all(replicaSets).find((set) => image(set) === 'one');
  assert.equal(first?.metadata.annotations?.['deployment.kubernetes.io/revision'], '3');
  assert.equal(first?.metadata.annotations?.['deployment.kubernetes.io/revision-history'], '1');
});

test('Recreate starts nothing new while an old Pod is left, even a terminating one', async () => {
  await using cluster = new MemoryCluster();
  start(cluster);
  await cluster.client.create(deployments, web(1, { type: 'Recreate' }));
  await runPods(cluster, 4);
  const old = cluster.api.all(pods)[0]!.metadata.name;
  cluster.api.alter(pods, `default/${old}`, (live) => {
    live.spec.nodeName = 'n1';
  });
  await setImage(cluster, 'two');
  await cluster.settle();
  await cluster.settle();
  assert.deepEqual(
    cluster.api.all(pods).map(({ metadata }) => metadata.name),
    [old],
  );
  cluster.api.erase(pods, `default/${old}`);
  await runPods(cluster, 4);
  assert.deepEqual(bySize(cluster), { one: 0, two: 1 });
});

test('a rollout that does not progress is reported once its deadline has passed', async () => {
  await using cluster = new MemoryCluster();
  start(cluster);
  await cluster.client.create(deployments, web(1));
  await cluster.settle();
  await cluster.clock.advance(590_000);
  assert.notEqual(condition(cluster, 'Progressing')?.reason, 'ProgressDeadlineExceeded');
  await cluster.clock.advance(15_000);
  assert.deepEqual(
    [condition(cluster, 'Progressing')?.status, condition(cluster, 'Progressing')?.reason],
    ['False', 'ProgressDeadlineExceeded'],
  );
});

test('a paused Deployment scales but does not roll out; resuming goes on', async () => {
  await using cluster = new MemoryCluster();
  start(cluster);
  await cluster.client.create(deployments, web(2));
  await runPods(cluster);
  const at = { namespace: 'default', name: 'web' };
  await cluster.client.patch(deployments, at, { type: 'merge', body: { spec: { paused: true } } });
  await cluster.settle();
  assert.equal(condition(cluster, 'Progressing')?.reason, 'DeploymentPaused');
  await setImage(cluster, 'two');
  await cluster.client.patch(deployments, at, { type: 'merge', body: { spec: { replicas: 3 } } });
  await runPods(cluster);
  assert.deepEqual(bySize(cluster), { one: 3 });
  await cluster.client.patch(deployments, at, { type: 'merge', body: { spec: { paused: false } } });
  await runPods(cluster);
  assert.deepEqual(bySize(cluster), { one: 0, two: 3 });
});

test('old revisions beyond the limit are deleted, the oldest first', async () => {
  await using cluster = new MemoryCluster();
  start(cluster);
  const asked = web(1);
  await cluster.client.create(deployments, { ...asked, spec: { ...asked.spec, revisionHistoryLimit: 1 } });
  for (const next of ['two', 'three', 'four']) {
    await runPods(cluster, 6);
    await setImage(cluster, next);
  }
  await runPods(cluster);
  assert.deepEqual(bySize(cluster), { three: 0, four: 1 });
});
