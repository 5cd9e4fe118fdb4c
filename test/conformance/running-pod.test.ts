/** Pods on a node: from their start to their end, what their status says, and what they are made of. */
import assert from 'node:assert/strict';
import { isIPv4 } from 'node:net';
import { test } from 'node:test';
import {
  configMaps,
  namespaces,
  type Pod,
  pods,
  replicationControllers,
  secrets,
  serviceAccounts,
} from '../../src/api/gen/core-v1.ts';
import { runtimeClasses } from '../../src/api/gen/node-v1.ts';
import { isNotFound } from '../../src/client/index.ts';
import { follow, startCluster, when, whenAll, whenGone } from './cluster.ts';
import { hasCondition, isReady, isRunning, startNode } from './nodes.ts';
import { assertNewer, change, referenceTo } from './operations.ts';
import { image, nextImage } from './workloads.ts';

const cluster = await startCluster();
const { client, namespace: makeNamespace } = cluster;
await startNode(cluster, 'node-1');

function pod(namespace: string, name: string, spec: Partial<Pod['spec']> = {}, labels = {}): Pod {
  const containers = [{ name: 'agnhost', image }];
  return { metadata: { namespace, name, labels }, spec: { terminationGracePeriodSeconds: 1, containers, ...spec } };
}

/** Creates it and waits until it runs. */
async function run(wanted: Pod): Promise<Pod> {
  const made = await client.create(pods, wanted);
  return (await when(client, pods, referenceTo(made), (object) => object !== undefined && isReady(object)))!;
}

test('[sig-node] Pods should get a host IP [NodeConformance] [Conformance]', async () => {
  const running = await run(pod(await makeNamespace(), 'hostip'));
  assert.ok(isIPv4(running.status?.hostIP ?? ''));
  assert.deepEqual(running.status?.hostIPs, [{ ip: running.status?.hostIP }]);
});

test('[sig-node] Pods should be submitted and removed [NodeConformance] [Conformance]', async () => {
  const namespace = await makeNamespace();
  const labelSelector = 'time=now';
  using changes = await follow(client, pods, { namespace, labelSelector });
  const made = await client.create(pods, pod(namespace, 'submit-remove', {}, { time: 'now' }));
  assert.equal((await client.list(pods, { namespace, labelSelector })).items.length, 1);
  await changes.until(({ type }) => type === 'ADDED');
  await changes.until(({ object }) => isRunning(object));
  await client.delete(pods, referenceTo(made), { gracePeriodSeconds: 30 });
  const deleting = await changes.until(({ object }) => object.metadata.deletionTimestamp !== undefined);
  assert.equal(deleting.object.metadata.deletionGracePeriodSeconds, 30);
  await changes.until(({ type }) => type === 'DELETED');
  assert.deepEqual((await client.list(pods, { namespace, labelSelector })).items, []);
});

test('[sig-node] Pods should be updated [NodeConformance] [Conformance]', async () => {
  const namespace = await makeNamespace();
  const running = await run(pod(namespace, 'update', {}, { time: 'then' }));
  assert.equal((await client.list(pods, { namespace, labelSelector: 'time=then' })).items.length, 1);
  await change(client, pods, referenceTo(running), (current) => ({
    ...current,
    metadata: { ...current.metadata, labels: { time: 'now' } },
  }));
  assert.equal((await client.list(pods, { namespace, labelSelector: 'time=now' })).items.length, 1);
  assert.ok(isRunning(await client.get(pods, referenceTo(running))));
});

test('[sig-node] Pods should allow activeDeadlineSeconds to be updated [NodeConformance] [Conformance]', async () => {
  const namespace = await makeNamespace();
  const running = await run(pod(namespace, 'activedeadline', {}, { time: 'now' }));
  assert.equal((await client.list(pods, { namespace, labelSelector: 'time=now' })).items.length, 1);
  const withDeadline = (current: Pod): Pod => ({ ...current, spec: { ...current.spec, activeDeadlineSeconds: 1 } });
  await change(client, pods, referenceTo(running), withDeadline);
  const ended = await when(client, pods, referenceTo(running), (object) => object?.status?.phase === 'Failed');
  assert.equal(ended?.status?.reason, 'DeadlineExceeded');
});

test('[sig-node] Pods should delete a collection of pods [Conformance]', async () => {
  const namespace = await makeNamespace();
  for (const name of ['test-pod-1', 'test-pod-2', 'test-pod-3'])
    await run(pod(namespace, name, {}, { type: 'Testing' }));
  const selection = { namespace, labelSelector: 'type=Testing' };
  assert.equal((await client.list(pods, selection)).items.length, 3);
  await client.deleteCollection(pods, selection);
  await whenAll(client, pods, selection, (left) => left.length === 0);
});

test('[sig-node] Pods should patch a pod status [Conformance]', async () => {
  const running = await run(pod(await makeNamespace(), 'pod-status'));
  const body = { status: { message: 'Patched by e2e test', reason: 'E2E' } };
  const patched = await client.patch(pods, referenceTo(running), { type: 'merge', body }, { subresource: 'status' });
  assert.equal(patched.status?.message, 'Patched by e2e test');
  assert.equal(patched.status?.reason, 'E2E');
  assertNewer(patched, running);
});

test('[sig-node] Pods should run through the lifecycle of Pods and PodStatus [Conformance]', async () => {
  const namespace = await makeNamespace();
  const labels = { 'test-pod-static': 'true' };
  using changes = await follow(client, pods, { namespace });
  const made = await client.create(pods, pod(namespace, 'pod-test', {}, labels));
  const ref = referenceTo(made);
  await changes.until(({ type }) => type === 'ADDED');
  await changes.until(({ object }) => isReady(object));
  const patched = await client.patch(pods, ref, {
    type: 'strategic',
    body: {
      metadata: { labels: { 'test-pod': 'patched' } },
      spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'agnhost', image: nextImage }] },
    },
  });
  assert.equal(patched.metadata.labels?.['test-pod'], 'patched');
  assertNewer(patched, made);
  await changes.until(({ type, object }) => type === 'MODIFIED' && object.spec.containers[0]?.image === nextImage);
  const read = await client.get(pods, ref, { subresource: 'status' });
  const podReady = read.status?.conditions?.find(({ type }) => type === 'Ready');
  const notReady = (current: Pod): Pod => ({
    ...current,
    status: {
      ...current.status,
      conditions: current.status?.conditions?.map((one) => (one.type === 'Ready' ? { ...one, status: 'False' } : one)),
    },
  });
  assert.ok(podReady);
  const replaced = await change(client, pods, ref, notReady, 'status');
  assert.ok(hasCondition(replaced, 'Ready', 'False'));
  await client.deleteCollection(pods, { namespace, labelSelector: 'test-pod-static=true', gracePeriodSeconds: 1 });
  await changes.until(({ type }) => type === 'DELETED');
  await assert.rejects(client.get(pods, ref), isNotFound);
});

const whenObserved = (of: Pod, generation: number) =>
  when(client, pods, referenceTo(of), (object) => object?.status?.observedGeneration === generation);

test('[sig-node] Pods Extended (pod generation) Pod Generation pod generation should start at 1 and increment per update [MinimumKubeletVersion:1.34] [Conformance]', async () => {
  const namespace = await makeNamespace();
  const running = await run(pod(namespace, 'generation', { initContainers: [{ name: 'init', image }] }));
  assert.equal(running.metadata.generation, 1);
  const toleration = { key: 'foo', operator: 'Equal', value: 'bar', effect: 'NoSchedule' } as const;
  const spec = (changed: Partial<Pod['spec']>) => (current: Pod) => ({
    ...current,
    spec: { ...current.spec, ...changed },
  });
  const metadata = (changed: Pod['metadata']) => (current: Pod) => ({
    ...current,
    metadata: { ...current.metadata, ...changed },
  });
  const updates: readonly { readonly how: (current: Pod) => Pod; readonly bumps: boolean }[] = [
    { how: (current) => current, bumps: false },
    {
      how: (current) => spec({ tolerations: [...(current.spec.tolerations ?? []), toleration] })(current),
      bumps: true,
    },
    { how: spec({ activeDeadlineSeconds: 5000 }), bumps: true },
    { how: spec({ containers: [{ ...running.spec.containers[0]!, image: nextImage }] }), bumps: true },
    { how: spec({ initContainers: [{ ...running.spec.initContainers![0]!, image: nextImage }] }), bumps: true },
    { how: metadata({ annotations: { key: 'value' } }), bumps: false },
    { how: metadata({ generation: 1 }), bumps: false },
  ];
  let expected = 1;
  for (const { how, bumps } of updates) {
    if (bumps) expected++;
    assert.equal((await change(client, pods, referenceTo(running), how)).metadata.generation, expected);
    await whenObserved(running, expected);
  }
});

test('[sig-node] Pods Extended (pod generation) Pod Generation custom-set generation on new pods and graceful delete [Conformance]', async () => {
  const wanted = pod(await makeNamespace(), 'generation', { terminationGracePeriodSeconds: 60 });
  // It takes its time to end.
  const annotations = { 'simulation.coracle.io/stop-seconds': '2' };
  const running = await run({ ...wanted, metadata: { ...wanted.metadata, generation: 100, annotations } });
  assert.equal(running.metadata.generation, 1);
  await client.delete(pods, referenceTo(running), { gracePeriodSeconds: 60 });
  assert.equal((await client.get(pods, referenceTo(running))).metadata.generation, 2);
});

test('[sig-node] Pods Extended (pod generation) Pod Generation issue 500 podspec updates and verify generation and observedGeneration eventually converge [MinimumKubeletVersion:1.34] [Conformance]', async () => {
  const running = await run(pod(await makeNamespace(), 'generation'));
  for (let update = 1; update < 500; update++) {
    const body = { spec: { activeDeadlineSeconds: 5000 - update } };
    await client.patch(pods, referenceTo(running), { type: 'merge', body });
  }
  assert.equal((await client.get(pods, referenceTo(running))).metadata.generation, 500);
  await whenObserved(running, 500);
});

test('[sig-node] RuntimeClass should schedule a Pod requesting a RuntimeClass and initialize its Overhead [NodeConformance] [Conformance]', async () => {
  const overhead = { podFixed: { cpu: '10m', memory: '1Mi' } };
  await client.create(runtimeClasses, { metadata: { name: 'with-overhead' }, handler: 'preconfigured', overhead });
  const made = await client.create(pods, pod(await makeNamespace(), 'test', { runtimeClassName: 'with-overhead' }));
  assert.deepEqual(made.spec.overhead, overhead.podFixed);
  await when(client, pods, referenceTo(made), (object) => hasCondition(object, 'PodScheduled'));
});

test('[sig-node] RuntimeClass should schedule a Pod requesting a RuntimeClass without PodOverhead [NodeConformance] [Conformance]', async () => {
  await client.create(runtimeClasses, { metadata: { name: 'without-overhead' }, handler: 'preconfigured' });
  const made = await client.create(pods, pod(await makeNamespace(), 'test', { runtimeClassName: 'without-overhead' }));
  assert.equal(made.spec.overhead, undefined);
  await when(client, pods, referenceTo(made), (object) => hasCondition(object, 'PodScheduled'));
});

test('[sig-storage] EmptyDir wrapper volumes should not conflict [Conformance]', async () => {
  const namespace = await makeNamespace();
  await client.create(secrets, { metadata: { namespace, name: 'secret' }, data: { 'data-1': 'dmFsdWUtMQ==' } });
  await client.create(configMaps, { metadata: { namespace, name: 'map' }, data: { 'data-1': 'value-1' } });
  const volumes = [
    { name: 'secret-volume', secret: { secretName: 'secret' } },
    { name: 'map-volume', configMap: { name: 'map' } },
  ];
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/etc/${name}`, readOnly: true }));
  await run(pod(namespace, 'wrapped', { volumes, containers: [{ name: 'agnhost', image, volumeMounts }] }));
});

test('[sig-storage] EmptyDir wrapper volumes should not cause race condition when used for configmaps [Serial] [Conformance]', async () => {
  const namespace = await makeNamespace();
  const names = Array.from({ length: 50 }, (_, index) => `racey-configmap-${index}`);
  for (const name of names)
    await client.create(configMaps, { metadata: { namespace, name }, data: { 'data-1': 'value-1' } });
  const volumes = names.map((name) => ({ name, configMap: { name, items: [{ key: 'data-1', path: 'data-1' }] } }));
  const volumeMounts = names.map((name) => ({ name, mountPath: `/etc/config-${name}` }));
  const labels = { name: 'wrapped-volume-race' };
  const spec = { terminationGracePeriodSeconds: 1, volumes, containers: [{ name: 'c', image, volumeMounts }] };
  for (const round of ['1', '2', '3']) {
    const made = await client.create(replicationControllers, {
      metadata: { namespace, name: `wrapped-volume-race-${round}` },
      spec: { replicas: 5, selector: labels, template: { metadata: { labels }, spec } },
    });
    await whenAll(client, pods, { namespace }, (all) => all.length === 5 && all.every(isReady));
    await client.delete(replicationControllers, referenceTo(made), { propagationPolicy: 'Background' });
    await whenAll(client, pods, { namespace }, (left) => left.length === 0);
  }
});

test('[sig-api-machinery] Namespaces [Serial] should ensure that all pods are removed when a namespace is deleted [Conformance]', async () => {
  const name = 'nsdeletetest';
  const create = async () => {
    await client.create(namespaces, { metadata: { name }, spec: {} });
    await when(client, serviceAccounts, { namespace: name, name: 'default' }, (object) => object !== undefined);
  };
  await create();
  const running = await run(pod(name, 'test-pod'));
  await client.delete(namespaces, { name });
  await whenGone(client, namespaces, { name });
  await create();
  await assert.rejects(client.get(pods, referenceTo(running)), isNotFound);
});

test('[sig-api-machinery] OrderedNamespaceDeletion namespace deletion should delete pod first [Conformance]', async () => {
  const namespace = await makeNamespace();
  const wanted = pod(namespace, 'test-pod');
  const running = await run({ ...wanted, metadata: { ...wanted.metadata, finalizers: ['e2e.example.com/finalizer'] } });
  const kept = { namespace, name: 'test-configmap' };
  await client.create(configMaps, { metadata: kept, data: { key: 'value' } });
  await client.delete(namespaces, { name: namespace });
  const processed = 'NamespaceDeletionContentFailure';
  const terminating = await when(client, namespaces, { name: namespace }, (object) =>
    Boolean(object?.status?.conditions?.some(({ type }) => type === processed)),
  );
  assert.equal(terminating?.status?.phase, 'Terminating');
  await client.get(configMaps, kept);
  assert.ok((await client.get(pods, referenceTo(running))).metadata.deletionTimestamp);
  await client.patch(pods, referenceTo(running), { type: 'merge', body: { metadata: { finalizers: null } } });
  await whenGone(client, pods, referenceTo(running));
  await whenGone(client, configMaps, kept);
  await whenGone(client, namespaces, { name: namespace });
});
