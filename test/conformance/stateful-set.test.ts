/** StatefulSets whose Pods run, and are Ready as long as the test says that they answer their probes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type StatefulSet, type StatefulSetSpec, statefulSets } from '../../src/api/gen/apps-v1.ts';
import { type Pod, pods, services } from '../../src/api/gen/core-v1.ts';
import { follow, startCluster, when, whenAll } from './cluster.ts';
import { fastClock } from './fast-clock.ts';
import { isReady, isRunning, startNode } from './nodes.ts';
import { change, referenceTo } from './operations.ts';
import {
  assertScalable,
  assertStatusWritable,
  image,
  nextImage,
  template,
  withImage,
  withReplicas,
} from './workloads.ts';

const clock = fastClock(10);
const cluster = await startCluster({ clock });
const { client, namespace: makeNamespace } = cluster;
/** Namespaces whose Pods fail their probes. */
const broken = new Set<string>();
await startNode(cluster, 'node-1', {
  clock,
  probe: (url) =>
    broken.has(new URL(url).pathname.slice(1)) ? { result: 'failure', output: '' } : { result: 'success', output: '' },
});

const labels = { foo: 'bar', baz: 'blah' };

/** One whose Pods are probed once a second. */
async function createSet(namespace: string, name: string, spec: Partial<StatefulSetSpec> = {}): Promise<StatefulSet> {
  await client.create(services, {
    metadata: { namespace, name: 'test' },
    spec: { clusterIP: 'None', selector: labels },
  });
  const { metadata, spec: pod } = template(labels);
  const readinessProbe = { httpGet: { path: `/${namespace}`, port: 80 }, periodSeconds: 1, failureThreshold: 1 };
  const containers = pod!.containers.map((container) => ({ ...container, readinessProbe }));
  return client.create(statefulSets, {
    metadata: { namespace, name, labels },
    spec: {
      replicas: 1,
      serviceName: 'test',
      selector: { matchLabels: labels },
      template: { metadata, spec: { ...pod, containers } },
      ...spec,
    },
  });
}

const byName = (a: Pod, b: Pod) => a.metadata.name!.localeCompare(b.metadata.name!);

const whenPods = async (namespace: string, right: (all: readonly Pod[]) => boolean) =>
  (await whenAll(client, pods, { namespace }, right)).toSorted(byName);

const whenReady = (namespace: string, count: number) =>
  whenPods(namespace, (all) => all.length === count && all.every(isReady));

const setReplicas = (made: StatefulSet, replicas: number) =>
  change(client, statefulSets, referenceTo(made), (current) => withReplicas(current, replicas));

const whenStatus = async (made: StatefulSet, right: (status: NonNullable<StatefulSet['status']>) => boolean) =>
  (await when(client, statefulSets, referenceTo(made), (object) =>
    Boolean(object?.status?.observedGeneration === object?.metadata.generation && right(object!.status!)),
  ))!;

/** Breaks or mends the probes and waits until that shows. */
async function setHealthy(made: StatefulSet, healthy: boolean): Promise<void> {
  const { namespace } = made.metadata;
  if (healthy) broken.delete(namespace!);
  else {
    broken.add(namespace!);
    await whenPods(namespace!, (all) => all.every((pod) => isRunning(pod) && !isReady(pod)));
    await whenStatus(made, ({ readyReplicas }) => !readyReplicas);
  }
}

/** Long enough for a controller that does not wait to do something: ten seconds of the cluster's. */
const aWhile = () => new Promise<void>((resolve) => void clock.after(10_000, resolve));

const namesOf = (all: readonly Pod[]) => all.map(({ metadata }) => metadata.name);
const imagesOf = (all: readonly Pod[]) => all.map(({ spec }) => spec.containers[0]?.image);
const revisionsOf = (all: readonly Pod[]) => all.map(({ metadata }) => metadata.labels?.['controller-revision-hash']);

test('[sig-apps] StatefulSet Basic StatefulSet functionality [StatefulSetBasic] Scaling should happen in predictable order and halt if any stateful pod is unhealthy [Slow] [Conformance]', async () => {
  const namespace = await makeNamespace();
  using changes = await follow(client, pods, { namespace });
  const made = await createSet(namespace, 'ss');
  await whenReady(namespace, 1);
  await setHealthy(made, false);
  await setReplicas(made, 3);
  await aWhile();
  assert.equal((await client.list(pods, { namespace })).items.length, 1);
  await setHealthy(made, true);
  await whenReady(namespace, 3);
  await setHealthy(made, false);
  await setReplicas(made, 0);
  await aWhile();
  assert.equal((await client.list(pods, { namespace })).items.length, 3);
  await setHealthy(made, true);
  await whenReady(namespace, 0);
  const order: string[] = [];
  while (order.length < 6) {
    const { type, object } = await changes.next();
    if (type !== 'MODIFIED') order.push(`${type} ${object.metadata.name}`);
  }
  assert.deepEqual(order, ['ADDED ss-0', 'ADDED ss-1', 'ADDED ss-2', 'DELETED ss-2', 'DELETED ss-1', 'DELETED ss-0']);
});

test('[sig-apps] StatefulSet Basic StatefulSet functionality [StatefulSetBasic] Burst scaling should run to completion even with unhealthy pods [Slow] [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await createSet(namespace, 'ss', { podManagementPolicy: 'Parallel' });
  await whenReady(namespace, 1);
  await setHealthy(made, false);
  await setReplicas(made, 3);
  await whenPods(namespace, (all) => all.length === 3 && all.every(isRunning) && !all.some(isReady));
  await setHealthy(made, true);
  await whenReady(namespace, 3);
  await setHealthy(made, false);
  await setReplicas(made, 0);
  await whenReady(namespace, 0);
  await whenStatus(made, ({ replicas }) => replicas === 0);
});

test('[sig-apps] StatefulSet Basic StatefulSet functionality [StatefulSetBasic] Should recreate evicted statefulset [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ports = [{ name: 'conflict', containerPort: 21017, hostPort: 21017 }];
  const containers = [{ name: 'agnhost', image, ports }];
  const taker = { namespace, name: 'test-pod' };
  await client.create(pods, {
    metadata: taker,
    spec: { nodeName: 'node-1', terminationGracePeriodSeconds: 1, containers },
  });
  await when(client, pods, taker, (pod) => pod !== undefined && isRunning(pod));
  using changes = await follow(client, pods, { namespace, fieldSelector: 'metadata.name=ss-0' });
  await createSet(namespace, 'ss', { template: { metadata: { labels }, spec: { nodeName: 'node-1', containers } } });
  const rejected = await changes.until(({ object }) => object.status?.phase === 'Failed');
  await changes.until(({ type }) => type === 'DELETED');
  await client.delete(pods, taker, { gracePeriodSeconds: 0 });
  const { object } = await changes.until(({ type, object: pod }) => type !== 'DELETED' && isRunning(pod));
  assert.notEqual(object.metadata.uid, rejected.object.metadata.uid);
});

test('[sig-apps] StatefulSet Basic StatefulSet functionality [StatefulSetBasic] should have a working scale subresource [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await createSet(namespace, 'ss');
  await whenReady(namespace, 1);
  await whenStatus(made, ({ replicas }) => replicas === 1);
  await assertScalable(client, statefulSets, referenceTo(made));
  assert.deepEqual(namesOf(await whenReady(namespace, 4)), ['ss-0', 'ss-1', 'ss-2', 'ss-3']);
});

test('[sig-apps] StatefulSet Basic StatefulSet functionality [StatefulSetBasic] should list, patch and delete a collection of StatefulSets [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await createSet(namespace, 'test-ss');
  await whenReady(namespace, 1);
  const pod = { terminationGracePeriodSeconds: 2, containers: [{ name: 'agnhost', image: nextImage }] };
  const body = { metadata: { labels: { test: 'patched' } }, spec: { replicas: 2, template: { spec: pod } } };
  const patched = await client.patch(statefulSets, referenceTo(made), { type: 'strategic', body });
  assert.equal(patched.metadata.labels?.test, 'patched');
  assert.equal(patched.spec?.template.spec?.containers[0]?.image, nextImage);
  await whenPods(
    namespace,
    (all) => all.length === 2 && all.every((one) => isReady(one) && imagesOf([one])[0] === nextImage),
  );
  const labelSelector = 'test=patched';
  assert.equal((await client.list(statefulSets, { namespace, labelSelector })).items.length, 1);
  await client.deleteCollection(statefulSets, { namespace, labelSelector });
  await whenAll(client, statefulSets, { namespace }, (left) => left.length === 0);
  await whenReady(namespace, 0);
});

test('[sig-apps] StatefulSet Basic StatefulSet functionality [StatefulSetBasic] should validate Statefulset Status endpoints [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await createSet(namespace, 'ss');
  await whenReady(namespace, 1);
  await whenStatus(made, ({ readyReplicas }) => readyReplicas === 1);
  await assertStatusWritable(client, statefulSets, referenceTo(made));
});

test('[sig-apps] StatefulSet Basic StatefulSet functionality [StatefulSetBasic] should perform rolling updates and roll backs of template modifications [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await createSet(namespace, 'ss2', { replicas: 3 });
  await whenReady(namespace, 3);
  const { status: first } = await whenStatus(made, ({ readyReplicas }) => readyReplicas === 3);
  assert.equal(first?.currentRevision, first?.updateRevision);
  // Each is replaced only when its successor is Ready, from the last to the first; and back again, to the revision known.
  for (const [from, to] of [
    [image, nextImage],
    [nextImage, image],
  ] as const) {
    using changes = await follow(client, pods, { namespace });
    await change(client, statefulSets, referenceTo(made), (current) => withImage(current, to));
    const { status: rolling } = await whenStatus(
      made,
      ({ currentRevision, updateRevision }) => currentRevision !== updateRevision,
    );
    const { status: done } = await whenStatus(
      made,
      ({ currentRevision, updateRevision, readyReplicas }) => currentRevision === updateRevision && readyReplicas === 3,
    );
    assert.equal(done?.currentRevision, rolling?.updateRevision);
    assert.deepEqual(imagesOf(await whenReady(namespace, 3)), [to, to, to]);
    const order: (string | undefined)[] = [];
    while (order.length < 3) {
      const { type, object } = await changes.next();
      if (type === 'DELETED' && imagesOf([object])[0] === from) order.push(object.metadata.name);
    }
    assert.deepEqual(order, ['ss2-2', 'ss2-1', 'ss2-0']);
    if (to === image) assert.equal(done?.currentRevision, first?.currentRevision);
  }
});

test('[sig-apps] StatefulSet Basic StatefulSet functionality [StatefulSetBasic] should perform canary updates and phased rolling updates of template modifications [Conformance]', async () => {
  const namespace = await makeNamespace();
  const strategy = (partition: number) => ({ type: 'RollingUpdate' as const, rollingUpdate: { partition } });
  const made = await createSet(namespace, 'ss2', { replicas: 3, updateStrategy: strategy(3) });
  const ref = referenceTo(made);
  await whenReady(namespace, 3);
  const { status: before } = await whenStatus(made, ({ readyReplicas }) => readyReplicas === 3);
  assert.equal(before?.currentRevision, before?.updateRevision);
  await change(client, statefulSets, ref, (current) => withImage(current, nextImage));
  const { status: split } = await whenStatus(
    made,
    ({ currentRevision, updateRevision }) => currentRevision !== updateRevision,
  );
  const { currentRevision: old, updateRevision: next } = split!;
  assert.deepEqual(imagesOf(await whenReady(namespace, 3)), [image, image, image]);
  const setPartition = (partition: number) =>
    change(client, statefulSets, ref, (current) => ({
      ...current,
      spec: { ...current.spec!, updateStrategy: strategy(partition) },
    }));
  const whenUpdatedFrom = async (partition: number) => {
    const all = await whenPods(
      namespace,
      (present) =>
        present.length === 3 &&
        present.every(
          (pod) =>
            isReady(pod) && (imagesOf([pod])[0] === nextImage) === Number(pod.metadata.name!.at(-1)) >= partition,
        ),
    );
    assert.deepEqual(
      revisionsOf(all),
      [0, 1, 2].map((ordinal) => (ordinal >= partition ? next : old)),
    );
  };
  await setPartition(2);
  await whenUpdatedFrom(2);
  // What is deleted midway comes back as the revision it was of.
  const gone = (await client.list(pods, { namespace })).items.filter(({ metadata }) => metadata.name !== 'ss2-1');
  for (const pod of gone) await client.delete(pods, referenceTo(pod));
  const uids = new Set(gone.map(({ metadata }) => metadata.uid));
  await whenPods(
    namespace,
    (all) => all.length === 3 && all.every((pod) => isReady(pod) && !uids.has(pod.metadata.uid)),
  );
  await whenUpdatedFrom(2);
  for (const partition of [1, 0]) {
    await setPartition(partition);
    await whenUpdatedFrom(partition);
  }
  const { status: after } = await whenStatus(made, ({ currentRevision }) => currentRevision === next);
  assert.equal(after?.updateRevision, next);
});
