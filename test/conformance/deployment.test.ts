/** Deployments whose Pods run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Deployment, deployments, type ReplicaSet, replicaSets } from '../../src/api/gen/apps-v1.ts';
import { pods } from '../../src/api/gen/core-v1.ts';
import { follow, startCluster, when, whenAll, whenGone } from './cluster.ts';
import { isReady, isRunning, startNode } from './nodes.ts';
import { assertNewer, change, referenceTo } from './operations.ts';
import {
  assertScalable,
  assertStatusWritable,
  image,
  missingImage,
  nextImage,
  template,
  withImage,
  withReplicas,
} from './workloads.ts';

const cluster = await startCluster();
const { client, namespace: makeNamespace } = cluster;
for (const name of ['node-1', 'node-2']) await startNode(cluster, name, { facts: { cpuCount: 64 } });

const revisionOf = (object: Deployment | ReplicaSet | undefined) =>
  object?.metadata.annotations?.['deployment.kubernetes.io/revision'];

function deployment(namespace: string, name: string, podLabels: Record<string, string>, spec = {}): Deployment {
  return {
    metadata: { namespace, name, labels: podLabels },
    spec: { replicas: 1, selector: { matchLabels: podLabels }, template: template(podLabels), ...spec },
  };
}

function isComplete(object: Deployment | undefined): boolean {
  const { spec, status, metadata } = object ?? {};
  return (
    status?.observedGeneration === metadata?.generation &&
    status?.updatedReplicas === spec?.replicas &&
    status?.replicas === spec?.replicas &&
    status?.availableReplicas === spec?.replicas
  );
}

/** Waits until all is as the Deployment says. */
const whenComplete = async (object: Deployment): Promise<Deployment> =>
  (await when(client, deployments, referenceTo(object), isComplete))!;

/** A ReplicaSet that stands before the Deployment does, its one Pod Ready. */
async function startReplicaSet(
  namespace: string,
  name: string,
  podName: string,
  annotations = {},
): Promise<ReplicaSet> {
  const labels = { name: podName, pod: 'agnhost' };
  const set = { replicas: 1, selector: { matchLabels: labels }, template: template(labels) };
  await client.create(replicaSets, { metadata: { namespace, name, labels, annotations }, spec: set });
  return (await when(client, replicaSets, { namespace, name }, (object) => object?.status?.readyReplicas === 1))!;
}

/** The ReplicaSets that a Deployment controls, by the image they run. */
async function setsByImage(namespace: string): Promise<ReadonlyMap<string | undefined, ReplicaSet>> {
  const { items } = await client.list(replicaSets, { namespace });
  return new Map(items.map((set) => [set.spec?.template?.spec?.containers[0]?.image, set]));
}

test('[sig-apps] Deployment RollingUpdateDeployment should delete old pods and create new ones [Conformance]', async () => {
  const namespace = await makeNamespace();
  const revision = 'deployment.kubernetes.io/revision';
  await startReplicaSet(namespace, 'rolling', 'sample-pod', { [revision]: '3546343826724305832' });
  const made = await client.create(deployments, deployment(namespace, 'rolling', { name: 'sample-pod' }));
  const complete = await whenComplete(made);
  assert.equal(revisionOf(complete), '3546343826724305833');
  const { items } = await client.list(replicaSets, { namespace });
  const [old, current] = items.toSorted((a, b) => a.metadata.name!.length - b.metadata.name!.length);
  assert.equal(old?.metadata.name, 'rolling');
  assert.equal(old.spec?.replicas, 0);
  assert.equal(old.metadata.ownerReferences?.[0]?.uid, made.metadata.uid);
  assert.equal(revisionOf(current), '3546343826724305833');
});

test('[sig-apps] Deployment RecreateDeployment should delete old pods and create new ones [Conformance]', async () => {
  const namespace = await makeNamespace();
  const strategy = { strategy: { type: 'Recreate' } };
  const made = await client.create(deployments, deployment(namespace, 'again', { name: 'sample-pod-3' }, strategy));
  assert.equal(revisionOf(await whenComplete(made)), '1');
  using changes = await follow(client, pods, { namespace });
  await change(client, deployments, referenceTo(made), (current) => withImage(current, nextImage));
  const events = [];
  for (let running = 0; running === 0; ) {
    const { type, object } = await changes.next();
    const isNew = object.spec.containers[0]?.image === nextImage;
    if (type === 'DELETED') events.push('old one gone');
    else if (isNew && events.at(-1) !== 'new one there') events.push('new one there');
    if (isNew && isRunning(object)) running++;
  }
  assert.deepEqual(events, ['old one gone', 'new one there']);
  assert.equal(revisionOf(await whenComplete(made)), '2');
});

test('[sig-apps] Deployment deployment should delete old replica sets [Conformance]', async () => {
  const namespace = await makeNamespace();
  await startReplicaSet(namespace, 'cleanup', 'cleanup-pod');
  using created = await follow(client, pods, { namespace });
  const history = { revisionHistoryLimit: 0 };
  const made = await client.create(deployments, deployment(namespace, 'cleanup', { name: 'cleanup-pod' }, history));
  await whenGone(client, replicaSets, { namespace, name: 'cleanup' });
  await whenComplete(made);
  await whenAll(client, pods, { namespace }, (all) => all.length === 1);
  await change(client, deployments, referenceTo(made), (current) => withReplicas(current, 0));
  const names = new Set<string | undefined>();
  // Until the new Pod goes too.
  for (let last = false; !last; ) {
    const { type, object } = await created.next();
    if (type === 'ADDED') names.add(object.metadata.name);
    last = type === 'DELETED' && names.has(object.metadata.name);
  }
  assert.equal(names.size, 1, 'one Pod only is created: adopting the old ReplicaSet makes it create none');
});

test('[sig-apps] Deployment deployment should support rollover [Conformance]', async () => {
  const namespace = await makeNamespace();
  const old = await startReplicaSet(namespace, 'rollover', 'rollover-pod');
  const labels = { name: 'rollover-pod' };
  const made = await client.create(
    deployments,
    deployment(namespace, 'rollover', labels, {
      template: template(labels, missingImage),
      minReadySeconds: 2,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    }),
  );
  const ref = referenceTo(made);
  await when(client, deployments, ref, (object) => (object?.status?.updatedReplicas ?? 0) >= 1);
  const stuck = (await setsByImage(namespace)).get(missingImage)!;
  assert.equal(revisionOf(stuck), '1');
  assert.deepEqual([stuck.spec?.replicas, (await client.get(replicaSets, referenceTo(old))).spec?.replicas], [1, 1]);
  const updated = await change(client, deployments, ref, (current) => withImage(current, nextImage));
  await when(client, deployments, ref, (object) => object?.status?.observedGeneration === updated.metadata.generation);
  const complete = await whenComplete(made);
  assert.equal(revisionOf(complete), '2');
  for (const set of [old, stuck]) {
    const { spec, status } = await client.get(replicaSets, referenceTo(set));
    assert.deepEqual([spec?.replicas, status?.replicas], [0, 0]);
  }
});

test('[sig-apps] Deployment deployment should support proportional scaling [Conformance]', async () => {
  const namespace = await makeNamespace();
  const rollingUpdate = { maxSurge: 3, maxUnavailable: 2 };
  const made = await client.create(
    deployments,
    deployment(namespace, 'proportional', { name: 'httpd' }, { replicas: 10, strategy: { rollingUpdate } }),
  );
  const ref = referenceTo(made);
  await whenComplete(made);
  await change(client, deployments, ref, (current) => withImage(current, missingImage));
  const sizes = async () => {
    const sets = await setsByImage(namespace);
    return [image, missingImage].map((one) => sets.get(one)?.spec?.replicas);
  };
  // 10 - 2 that are available; 10 + 3 - 8 that are new and never will be.
  await when(client, deployments, ref, (object) => {
    const { availableReplicas, updatedReplicas } = object?.status ?? {};
    return availableReplicas === 8 && updatedReplicas === 5;
  });
  assert.deepEqual(await sizes(), [8, 5]);
  await change(client, deployments, ref, (current) => withReplicas(current, 30));
  await when(client, deployments, ref, (object) => object?.status?.replicas === 33);
  assert.deepEqual(await sizes(), [20, 13]);
});

test('[sig-apps] Deployment should run the lifecycle of a Deployment [Conformance]', async () => {
  const namespace = await makeNamespace();
  const labels = { 'test-deployment-static': 'true' };
  using changes = await follow(client, deployments, { namespace });
  const made = await client.create(deployments, deployment(namespace, 'test', labels, { replicas: 2 }));
  const ref = referenceTo(made);
  await changes.until(({ type, object }) => type === 'ADDED' && object.metadata.name === 'test');
  await changes.until(({ object }) => object.status?.readyReplicas === 2);
  const patched = await client.patch(deployments, ref, {
    type: 'strategic',
    body: {
      metadata: { labels: { 'test-deployment': 'patched' } },
      spec: {
        replicas: 1,
        template: { spec: { terminationGracePeriodSeconds: 2, containers: [{ name: 'agnhost', image: nextImage }] } },
      },
    },
  });
  assertNewer(patched, made);
  const rolledOut = await changes.until(
    ({ object: { status } }) =>
      status?.readyReplicas === 1 && status.updatedReplicas === 1 && !status.unavailableReplicas,
  );
  assert.equal(rolledOut.object.spec?.template.spec?.terminationGracePeriodSeconds, 2);
  const { items } = await client.list(deployments, { labelSelector: 'test-deployment-static=true' });
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ['test'],
  );
  const replaced = deployment(namespace, 'test', labels, { replicas: 2 });
  await client.update(deployments, {
    ...replaced,
    metadata: { ...replaced.metadata, labels: { ...labels, 'test-deployment': 'updated' } },
  });
  const read = await client.get(deployments, ref, { subresource: 'status' });
  assert.equal(read.spec?.template.spec?.containers[0]?.image, image);
  assert.equal(read.metadata.labels?.['test-deployment'], 'updated');
  const isWhole = ({ status }: Deployment) =>
    status?.readyReplicas === 2 && status.updatedReplicas === 2 && !status.unavailableReplicas;
  await changes.until(({ object }) => isWhole(object));
  const body = { status: { readyReplicas: 0, availableReplicas: 0 } };
  await client.patch(deployments, ref, { type: 'strategic', body }, { subresource: 'status' });
  await changes.until(({ object: { status } }) => !status?.readyReplicas && !status?.availableReplicas);
  // What is told is not what is: the controller says so.
  await changes.until(({ object }) => isWhole(object));
  await client.deleteCollection(deployments, { namespace, labelSelector: 'test-deployment-static=true' });
  await changes.until(({ type }) => type === 'DELETED');
  await whenAll(client, pods, { namespace }, (all) => all.length === 0);
});

test('[sig-apps] Deployment should validate Deployment Status endpoints [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(deployments, deployment(namespace, 'test', { e2e: 'testing' }));
  await whenComplete(made);
  await assertStatusWritable(client, deployments, referenceTo(made));
});

test('[sig-apps] Deployment Deployment should have a working scale subresource [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(deployments, deployment(namespace, 'test', { name: 'sample-pod' }));
  await whenComplete(made);
  await whenAll(client, pods, { namespace }, (all) => all.length === 1 && all.every(isReady));
  await assertScalable(client, deployments, referenceTo(made));
  await whenAll(client, pods, { namespace }, (all) => all.filter(isReady).length === 4);
});
