import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deployments, replicaSets } from '../../api/gen/apps-v1.ts';
import { configMaps, namespaces, persistentVolumes, pods } from '../../api/gen/core-v1.ts';
import type { KubeObject, OwnerReference } from '../../apimachinery/meta.ts';
import { apiVersionOf, type ResourceType } from '../../apimachinery/resource.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runGarbageCollectorController } from './garbage-collector-controller.ts';

const spec = { selector: {}, template: { spec: { containers: [] } } };

function refer<T extends KubeObject>(
  type: ResourceType<T>,
  owner: T,
  rest: Partial<OwnerReference> = {},
): OwnerReference {
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    name: owner.metadata.name ?? '',
    uid: owner.metadata.uid ?? '',
    ...rest,
  };
}

/** A Deployment that owns a ReplicaSet that owns a Pod. */
async function chain(cluster: MemoryCluster, blockOwnerDeletion = true) {
  const { client } = cluster;
  const deployment = await client.create(deployments, { metadata: { namespace: 'a', name: 'd' }, spec });
  const replicaSet = await client.create(replicaSets, {
    metadata: { namespace: 'a', name: 'rs', ownerReferences: [refer(deployments, deployment, { blockOwnerDeletion })] },
    spec,
  });
  const pod = await client.create(pods, {
    metadata: { namespace: 'a', name: 'p', ownerReferences: [refer(replicaSets, replicaSet, { blockOwnerDeletion })] },
    spec: { containers: [] },
  });
  return { deployment, replicaSet, pod };
}

const counts = ({ api }: MemoryCluster) => [
  api.all(deployments).length,
  api.all(replicaSets).length,
  api.all(pods).length,
];

async function start(): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  cluster.run(runGarbageCollectorController);
  await cluster.settle();
  return cluster;
}

test('background deletion takes dependents and theirs', async () => {
  await using cluster = await start();
  await chain(cluster);
  await cluster.settle();
  assert.deepEqual(counts(cluster), [1, 1, 1]);
  await cluster.client.delete(deployments, { namespace: 'a', name: 'd' }, { propagationPolicy: 'Background' });
  await cluster.settle();
  assert.deepEqual(counts(cluster), [0, 0, 0]);
});

test('what lost its owner before the collector started is found at its start', async () => {
  await using cluster = new MemoryCluster();
  const { deployment } = await chain(cluster);
  cluster.api.erase(deployments, 'a/d');
  cluster.run(runGarbageCollectorController);
  await cluster.settle();
  await cluster.settle();
  assert.deepEqual(counts(cluster), [0, 0, 0], deployment.metadata.uid);
});

test('in foreground deletion the owner goes last', async () => {
  await using cluster = await start();
  const { pod } = await chain(cluster);
  cluster.api.alter(pods, 'a/p', (live) => {
    live.metadata.finalizers = ['example.com/hold'];
  });
  await cluster.settle();
  await cluster.client.delete(deployments, { namespace: 'a', name: 'd' }, { propagationPolicy: 'Foreground' });
  await cluster.settle();
  assert.deepEqual(counts(cluster), [1, 1, 1]);
  assert.ok(cluster.api.find(pods, 'a/p')?.metadata.deletionTimestamp, `${pod.metadata.name} is being deleted`);
  await cluster.client.patch(
    pods,
    { namespace: 'a', name: 'p' },
    { type: 'merge', body: { metadata: { finalizers: null } } },
  );
  await cluster.settle();
  assert.deepEqual(counts(cluster), [0, 0, 0]);
});

test('a dependent that does not block lets its owner go first', async () => {
  await using cluster = await start();
  await chain(cluster, false);
  cluster.api.alter(replicaSets, 'a/rs', (live) => {
    live.metadata.finalizers = ['example.com/hold'];
  });
  await cluster.settle();
  await cluster.client.delete(deployments, { namespace: 'a', name: 'd' }, { propagationPolicy: 'Foreground' });
  await cluster.settle();
  assert.equal(cluster.api.all(deployments).length, 0);
  assert.equal(cluster.api.all(replicaSets).length, 1);
});

test('orphaning lets dependents live on without the reference', async () => {
  await using cluster = await start();
  await chain(cluster);
  await cluster.settle();
  await cluster.client.delete(deployments, { namespace: 'a', name: 'd' }, { propagationPolicy: 'Orphan' });
  await cluster.settle();
  assert.deepEqual(counts(cluster), [0, 1, 1]);
  assert.deepEqual(cluster.api.find(replicaSets, 'a/rs')?.metadata.ownerReferences ?? [], []);
});

test('one living owner is enough, and the reference to the dead one goes', async () => {
  await using cluster = await start();
  const { client } = cluster;
  const living = await client.create(configMaps, { metadata: { namespace: 'a', name: 'living' } });
  const dying = await client.create(configMaps, { metadata: { namespace: 'a', name: 'dying' } });
  const ownerReferences = [refer(configMaps, living), refer(configMaps, dying)];
  await client.create(configMaps, { metadata: { namespace: 'a', name: 'child', ownerReferences } });
  await cluster.settle();
  await client.delete(configMaps, { namespace: 'a', name: 'dying' });
  await cluster.settle();
  assert.deepEqual(
    cluster.api.find(configMaps, 'a/child')?.metadata.ownerReferences?.map(({ name }) => name),
    ['living'],
  );
});

test('an owner of the same name but another uid is no owner', async () => {
  await using cluster = await start();
  const { client } = cluster;
  const owner = await client.create(configMaps, { metadata: { namespace: 'a', name: 'owner' } });
  const ownerReferences = [refer(configMaps, owner, { uid: '00000000-0000-4000-8000-000000000000' })];
  await client.create(configMaps, { metadata: { namespace: 'a', name: 'child', ownerReferences } });
  await cluster.settle();
  assert.equal(cluster.api.find(configMaps, 'a/child'), undefined);
  assert.ok(cluster.api.find(configMaps, 'a/owner'));
});

test('an owner in another namespace counts as absent, and an Event says so', async () => {
  await using cluster = await start();
  const { client } = cluster;
  const owner = await client.create(configMaps, { metadata: { namespace: 'b', name: 'owner' } });
  await cluster.settle();
  const ownerReferences = [refer(configMaps, owner)];
  await client.create(configMaps, { metadata: { namespace: 'a', name: 'child', ownerReferences } });
  await cluster.settle();
  assert.equal(cluster.api.find(configMaps, 'a/child'), undefined);
  assert.ok(cluster.api.find(configMaps, 'b/owner'));
  const [event] = cluster.events;
  assert.deepEqual(
    [event?.type, event?.reason, event?.about],
    ['Warning', 'OwnerRefInvalidNamespace', 'ConfigMap/child'],
  );
  assert.equal(
    event?.message,
    `ownerRef [v1/ConfigMap, namespace: a, name: owner, uid: ${owner.metadata.uid}] does not exist in namespace "a"`,
  );
});

test('a cluster-scoped dependent of a namespaced kind is never collected, and an Event says so', async () => {
  await using cluster = await start();
  const { client } = cluster;
  const owner = await client.create(configMaps, { metadata: { namespace: 'a', name: 'owner' } });
  const ownerReferences = [refer(configMaps, owner)];
  await client.create(persistentVolumes, { metadata: { name: 'pv', ownerReferences }, spec: {} });
  await cluster.settle();
  await client.delete(configMaps, { namespace: 'a', name: 'owner' });
  await cluster.settle();
  assert.ok(cluster.api.find(persistentVolumes, 'pv'));
  assert.ok(cluster.reasons('PersistentVolume/pv').includes('OwnerRefInvalidNamespace'));
});

test('a namespaced dependent may have a cluster-scoped owner', async () => {
  await using cluster = await start();
  const { client } = cluster;
  const owner = await client.create(persistentVolumes, { metadata: { name: 'pv' }, spec: {} });
  await client.create(configMaps, {
    metadata: { namespace: 'a', name: 'child', ownerReferences: [refer(persistentVolumes, owner)] },
  });
  await cluster.settle();
  assert.ok(cluster.api.find(configMaps, 'a/child'));
  await client.delete(persistentVolumes, { name: 'pv' });
  await cluster.settle();
  assert.equal(cluster.api.find(configMaps, 'a/child'), undefined);
});

test('labels are not ownership', async () => {
  await using cluster = await start();
  await cluster.client.create(namespaces, { metadata: { name: 'a' }, spec: {} });
  await cluster.client.create(configMaps, { metadata: { namespace: 'a', name: 'one', labels: { app: 'x' } } });
  await cluster.client.create(configMaps, { metadata: { namespace: 'a', name: 'two', labels: { app: 'x' } } });
  await cluster.client.delete(configMaps, { namespace: 'a', name: 'one' });
  await cluster.settle();
  assert.ok(cluster.api.find(configMaps, 'a/two'));
});

test('a kind that is served no more is asked for no more, and collected again once it is back', async () => {
  await using cluster = await start();
  const { api, client, clock } = cluster;
  const asksFor = (resource: string) => api.requests.filter(({ path }) => path.endsWith(`/${resource}`)).length;
  api.setServed(replicaSets, false);
  await clock.advance(60_000);
  const asked = asksFor('replicasets');
  await clock.advance(600_000);
  assert.equal(asksFor('replicasets'), asked);

  api.setServed(replicaSets, true);
  await clock.advance(60_000);
  await chain(cluster);
  await client.delete(deployments, { namespace: 'a', name: 'd' }, { propagationPolicy: 'Background' });
  await cluster.settle();
  assert.deepEqual(counts(cluster), [0, 0, 0]);
});
