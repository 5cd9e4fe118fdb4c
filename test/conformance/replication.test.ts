/** ReplicaSets and ReplicationControllers whose Pods run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ReplicaSet, replicaSets } from '../../src/api/gen/apps-v1.ts';
import { type Pod, pods, type ReplicationController, replicationControllers } from '../../src/api/gen/core-v1.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import type { ResourceType } from '../../src/apimachinery/resource.ts';
import { follow, startCluster, when, whenAll, whenGone } from './cluster.ts';
import { isReady, startNode } from './nodes.ts';
import { assertReadAndPatched, change, referenceTo } from './operations.ts';
import { assertScalable, assertStatusWritable, nextImage, template, withImage, withReplicas } from './workloads.ts';

const cluster = await startCluster();
const { client, namespace: makeNamespace } = cluster;
await startNode(cluster, 'node-1');

function replicaSet(
  namespace: string,
  name: string,
  replicas = 1,
  labels: Record<string, string> = { name },
): ReplicaSet {
  const spec = { replicas, selector: { matchLabels: labels }, template: template(labels) };
  return { metadata: { namespace, name, labels }, spec };
}

function replicationController(namespace: string, name: string, replicas = 1): ReplicationController {
  return {
    metadata: { namespace, name, labels: { name } },
    spec: { replicas, selector: { name }, template: template({ name }) },
  };
}

const whenReady = (namespace: string, count: number, labelSelector?: string) =>
  whenAll(client, pods, { namespace, labelSelector }, (all) => all.length === count && all.every(isReady));

const controllerOf = (pod: Pod | undefined) => pod?.metadata.ownerReferences?.find((owner) => owner.controller)?.uid;

/** A Pod that stands before its controller does becomes its own. */
async function assertAdopts<T extends KubeObject>(type: ResourceType<T>, owner: T): Promise<T> {
  const { namespace, name } = owner.metadata;
  const { metadata, spec } = template({ name: name! });
  await client.create(pods, { metadata: { ...metadata, namespace, name: 'orphan' }, spec: spec! });
  await whenReady(namespace!, 1);
  const made = await client.create(type, owner);
  const adopted = await when(client, pods, { namespace, name: 'orphan' }, (pod) => controllerOf(pod) !== undefined);
  assert.equal(controllerOf(adopted), made.metadata.uid);
  return made;
}

/** A Pod whose labels do not match any more is let go, and replaced. */
async function assertReleases(namespace: string, name: string, owner: KubeObject): Promise<void> {
  await client.patch(pods, { namespace, name }, { type: 'merge', body: { metadata: { labels: { name: 'else' } } } });
  await when(client, pods, { namespace, name }, (pod) => pod !== undefined && controllerOf(pod) === undefined);
  const [another] = await whenReady(namespace, 1, `name=${owner.metadata.name}`);
  assert.equal(controllerOf(another), owner.metadata.uid);
  assert.notEqual(another?.metadata.name, name);
}

test('[sig-apps] ReplicaSet should adopt matching pods on creation and release no longer matching pods [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await assertAdopts(replicaSets, replicaSet(namespace, 'pod-adoption-release'));
  await assertReleases(namespace, 'orphan', made);
});

test('[sig-apps] ReplicationController should adopt matching pods on creation [Conformance]', async () => {
  const namespace = await makeNamespace();
  await assertAdopts(replicationControllers, replicationController(namespace, 'pod-adoption'));
});

test('[sig-apps] ReplicationController should release no longer matching pods [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(replicationControllers, replicationController(namespace, 'pod-release'));
  const [pod] = await whenReady(namespace, 1);
  await assertReleases(namespace, pod!.metadata.name!, made);
});

test('[sig-apps] ReplicaSet Replicaset should have a working scale subresource [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(replicaSets, replicaSet(namespace, 'test-rs'));
  await when(client, replicaSets, referenceTo(made), (object) => object?.status?.availableReplicas === 1);
  await assertScalable(client, replicaSets, referenceTo(made));
  await whenReady(namespace, 4);
});

test('[sig-apps] ReplicationController should get and update a ReplicationController scale [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(replicationControllers, replicationController(namespace, 'e2e-rc'));
  const ref = referenceTo(made);
  await when(client, replicationControllers, ref, (object) => object?.status?.availableReplicas === 1);
  await assertScalable(client, replicationControllers, ref);
  await when(client, replicationControllers, ref, (object) => object?.status?.readyReplicas === 4);
});

test('[sig-apps] ReplicaSet Replace and Patch tests [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(replicaSets, replicaSet(namespace, 'test-rs'));
  const ref = referenceTo(made);
  const has = (count: number) => (object?: ReplicaSet) =>
    object?.status?.availableReplicas === count && object.status.replicas === count;
  await when(client, replicaSets, ref, has(1));
  await change(client, replicaSets, ref, (current) => withReplicas(current, 2));
  await when(client, replicaSets, ref, has(2));
  const body = {
    metadata: { labels: { 'test-rs': 'patched' } },
    spec: { replicas: 3, template: { spec: { containers: [{ name: 'agnhost', image: nextImage }] } } },
  };
  const patched = await client.patch(replicaSets, ref, { type: 'strategic', body });
  assert.equal(patched.metadata.labels?.['test-rs'], 'patched');
  assert.equal(patched.spec?.template?.spec?.containers[0]?.image, nextImage);
  await when(client, replicaSets, ref, has(3));
});

test('[sig-apps] ReplicaSet should list and delete a collection of ReplicaSets [Conformance]', async () => {
  const namespace = await makeNamespace();
  await client.create(replicaSets, replicaSet(namespace, 'test-rs', 3, { e2e: 'testing' }));
  await whenReady(namespace, 3);
  const labelSelector = 'e2e=testing';
  assert.equal((await client.list(replicaSets, { namespace, labelSelector })).items.length, 1);
  await client.deleteCollection(replicaSets, { namespace, labelSelector });
  await whenAll(client, replicaSets, { namespace, labelSelector }, (left) => left.length === 0);
  await whenAll(client, pods, { namespace }, (left) => left.length === 0);
});

test('[sig-apps] ReplicaSet should validate Replicaset Status endpoints [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(replicaSets, replicaSet(namespace, 'test-rs'));
  await when(client, replicaSets, referenceTo(made), (object) => object?.status?.availableReplicas === 1);
  await assertStatusWritable(client, replicaSets, referenceTo(made));
});

test('[sig-apps] ReplicationController should test the lifecycle of a ReplicationController [Conformance]', async () => {
  const namespace = await makeNamespace();
  using changes = await follow(client, replicationControllers, { namespace });
  const made = await client.create(replicationControllers, replicationController(namespace, 'rc-test'));
  const ref = referenceTo(made);
  await changes.until(({ type }) => type === 'ADDED');
  await changes.until(({ object: { status } }) => status?.readyReplicas === 1);
  await assertReadAndPatched(client, replicationControllers, made);
  const body = { status: { readyReplicas: 0, availableReplicas: 0 } };
  await client.patch(replicationControllers, ref, { type: 'merge', body }, { subresource: 'status' });
  await changes.until(({ object: { status } }) => !status?.readyReplicas && !status?.availableReplicas);
  await changes.until(({ object: { status } }) => status?.readyReplicas === 1);
  await change(client, replicationControllers, ref, (current) => withReplicas(current, 2));
  await changes.until(({ object: { status } }) => status?.readyReplicas === 2);
  await change(client, replicationControllers, ref, (current) => withImage(current, nextImage));
  const { items } = await client.list(replicationControllers, { namespace, labelSelector: 'name=rc-test' });
  assert.equal(items.length, 1);
  await client.deleteCollection(replicationControllers, { namespace, labelSelector: 'name=rc-test' });
  await changes.until(({ type }) => type === 'DELETED');
  await whenGone(client, replicationControllers, ref);
});
