import assert from 'node:assert/strict';
import { test } from 'node:test';
import { controllerRevisions, type StatefulSet, type StatefulSetSpec, statefulSets } from '../../api/gen/apps-v1.ts';
import { persistentVolumeClaims, pods } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runStatefulSetController } from './statefulset-controller.ts';

const at = { namespace: 'default', name: 'db' };

const db = (spec: Partial<StatefulSetSpec> = {}): StatefulSet => ({
  metadata: at,
  spec: {
    replicas: 3,
    serviceName: 'db',
    selector: { matchLabels: { app: 'db' } },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    template: { metadata: { labels: { app: 'db' } }, spec: { containers: [{ name: 'c', image: 'one' }] } },
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'] } }],
    ...spec,
  },
});

async function start(spec: Partial<StatefulSetSpec> = {}): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  cluster.run(runStatefulSetController);
  await cluster.client.create(statefulSets, db(spec));
  await cluster.settle();
  return cluster;
}

async function runPods(cluster: MemoryCluster, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const pod of cluster.api.all(pods)) {
      if (pod.metadata.deletionTimestamp) cluster.api.erase(pods, `default/${pod.metadata.name}`);
      else if (pod.status?.phase !== 'Running') {
        cluster.api.alter(pods, `default/${pod.metadata.name}`, (live) => {
          live.spec.nodeName = 'n';
          const lastTransitionTime = formatTime(cluster.clock.now());
          live.status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] };
        });
      }
    }
    await cluster.settle();
  }
}

const names = (cluster: MemoryCluster) =>
  cluster.api
    .all(pods)
    .map(({ metadata }) => metadata.name)
    .sort();
const images = (cluster: MemoryCluster) =>
  Object.fromEntries(cluster.api.all(pods).map(({ metadata, spec }) => [metadata.name, spec.containers[0]?.image]));
const change = async (cluster: MemoryCluster, spec: object) => {
  await cluster.client.patch(statefulSets, at, { type: 'strategic', body: { spec } });
  await cluster.settle();
};
const setImage = (cluster: MemoryCluster, image: string) =>
  change(cluster, { template: { spec: { containers: [{ name: 'c', image }] } } });

test('makes Pods in order, each when the one before is ready, with name, hostname, labels and claim', async () => {
  await using cluster = await start();
  assert.deepEqual(names(cluster), ['db-0']);
  await runPods(cluster, 1);
  assert.deepEqual(names(cluster), ['db-0', 'db-1']);
  await runPods(cluster, 2);
  assert.deepEqual(names(cluster), ['db-0', 'db-1', 'db-2']);
  const pod = cluster.api.find(pods, 'default/db-1');
  const revision = cluster.api.all(controllerRevisions)[0]?.metadata.name;
  assert.deepEqual(pod?.metadata.labels, {
    app: 'db',
    'statefulset.kubernetes.io/pod-name': 'db-1',
    'apps.kubernetes.io/pod-index': '1',
    'controller-revision-hash': revision,
  });
  assert.deepEqual([pod?.spec.hostname, pod?.spec.subdomain], ['db-1', 'db']);
  assert.deepEqual(pod?.spec.volumes, [{ name: 'data', persistentVolumeClaim: { claimName: 'data-db-1' } }]);
  assert.deepEqual(
    cluster.api.all(persistentVolumeClaims).map(({ metadata }) => metadata.name),
    ['data-db-0', 'data-db-1', 'data-db-2'],
  );
  assert.deepEqual(
    cluster.events.slice(0, 2).map(({ reason, message }) => `${reason}: ${message}`),
    [
      'SuccessfulCreate: create Claim data-db-0 Pod db-0 in StatefulSet db success',
      'SuccessfulCreate: create Pod db-0 in StatefulSet db successful',
    ],
  );
  const { status } = cluster.api.find(statefulSets, 'default/db')!;
  assert.deepEqual(
    [status?.replicas, status?.readyReplicas, status?.currentReplicas, status?.updatedReplicas],
    [3, 3, 3, 3],
  );
  assert.deepEqual(cluster.complaints, []);
});

test('Parallel makes all at once', async () => {
  await using cluster = await start({ podManagementPolicy: 'Parallel' });
  assert.deepEqual(names(cluster), ['db-0', 'db-1', 'db-2']);
});

test('scales down from the top, and claims stay', async () => {
  await using cluster = await start();
  await runPods(cluster, 4);
  await change(cluster, { replicas: 1 });
  assert.ok(cluster.api.find(pods, 'default/db-2')?.metadata.deletionTimestamp);
  assert.equal(cluster.api.find(pods, 'default/db-1')?.metadata.deletionTimestamp, undefined);
  await runPods(cluster, 4);
  assert.deepEqual(names(cluster), ['db-0']);
  assert.equal(cluster.api.all(persistentVolumeClaims).length, 3);
});

test('a rolling update goes from the top, one Pod at a time, and ends with one revision', async () => {
  await using cluster = await start();
  await runPods(cluster, 4);
  await setImage(cluster, 'two');
  assert.ok(cluster.api.find(pods, 'default/db-2')?.metadata.deletionTimestamp);
  await runPods(cluster, 2);
  assert.deepEqual(images(cluster), { 'db-0': 'one', 'db-1': 'one', 'db-2': 'two' });
  await runPods(cluster, 8);
  assert.deepEqual(images(cluster), { 'db-0': 'two', 'db-1': 'two', 'db-2': 'two' });
  const { status } = cluster.api.find(statefulSets, 'default/db')!;
  assert.equal(status?.currentRevision, status?.updateRevision);
  assert.deepEqual([status?.currentReplicas, status?.updatedReplicas], [3, 3]);
});

test('a partition keeps lower Pods at the old revision, even when they are made anew', async () => {
  await using cluster = await start();
  await runPods(cluster, 4);
  await change(cluster, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } });
  await setImage(cluster, 'two');
  await runPods(cluster, 6);
  assert.deepEqual(images(cluster), { 'db-0': 'one', 'db-1': 'one', 'db-2': 'two' });
  await cluster.client.delete(pods, { namespace: 'default', name: 'db-1' });
  await runPods(cluster, 4);
  assert.deepEqual(images(cluster), { 'db-0': 'one', 'db-1': 'one', 'db-2': 'two' });
});

test('a deleted Pod comes back under its name, only after it has gone', async () => {
  await using cluster = await start();
  await runPods(cluster, 4);
  const before = cluster.api.find(pods, 'default/db-1')?.metadata.uid;
  await cluster.client.delete(pods, { namespace: 'default', name: 'db-1' });
  await cluster.settle();
  assert.equal(cluster.api.find(pods, 'default/db-1')?.metadata.uid, before);
  await runPods(cluster, 2);
  assert.notEqual(cluster.api.find(pods, 'default/db-1')?.metadata.uid, before);
});

test('with retention policy Delete claims belong to the set, and to the Pod that is scaled away', async () => {
  await using cluster = await start({
    podManagementPolicy: 'Parallel',
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Delete' },
  });
  await runPods(cluster, 3);
  const owners = (name: string) =>
    cluster.api
      .find(persistentVolumeClaims, `default/${name}`)
      ?.metadata.ownerReferences?.map(({ kind, name: of }) => `${kind} ${of}`);
  assert.deepEqual(owners('data-db-2'), ['StatefulSet db']);
  await change(cluster, { replicas: 2 });
  assert.deepEqual(owners('data-db-2'), ['Pod db-2']);
  assert.deepEqual(owners('data-db-1'), ['StatefulSet db']);
});

test('numbers may begin elsewhere', async () => {
  await using cluster = await start({ podManagementPolicy: 'Parallel', replicas: 2, ordinals: { start: 5 } });
  assert.deepEqual(names(cluster), ['db-5', 'db-6']);
});
