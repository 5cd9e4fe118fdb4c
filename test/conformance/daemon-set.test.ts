/** DaemonSets on two nodes, and the ControllerRevisions that they keep. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ControllerRevision, controllerRevisions, type DaemonSet, daemonSets } from '../../src/api/gen/apps-v1.ts';
import { nodes, type Pod, pods } from '../../src/api/gen/core-v1.ts';
import { startCluster, when, whenAll, whenGone } from './cluster.ts';
import { hasCondition, isReady, startNode } from './nodes.ts';
import { assertNewer, change, referenceTo } from './operations.ts';
import { assertStatusWritable, image, missingImage, nextImage, template, withImage } from './workloads.ts';

const cluster = await startCluster();
const { client, namespace: makeNamespace } = cluster;
const nodeNames = ['node-1', 'node-2'];
for (const name of nodeNames) await startNode(cluster, name);

const labels = { 'daemonset-name': 'daemon-set' };
const revisionLabel = 'controller-revision-hash';

function daemonSet(namespace: string, spec = {}): DaemonSet {
  return {
    metadata: { namespace, name: 'daemon-set', labels },
    spec: { selector: { matchLabels: labels }, template: template(labels), ...spec },
  };
}

/** Waits for one Ready Pod on each of these nodes and none elsewhere. */
function whenOn(namespace: string, on: readonly string[], right: (pod: Pod) => boolean = () => true) {
  return whenAll(
    client,
    pods,
    { namespace },
    (all) =>
      all.every((pod) => isReady(pod) && right(pod)) &&
      all.length === on.length &&
      on.every((name) => all.some((pod) => pod.spec.nodeName === name)),
  );
}

const runs = (wanted: string) => (pod: Pod) => pod.spec.containers[0]?.image === wanted;

const whenScheduled = (namespace: string, count: number) =>
  when(client, daemonSets, { namespace, name: 'daemon-set' }, (object) => {
    const { desiredNumberScheduled, currentNumberScheduled, numberReady } = object?.status ?? {};
    return [desiredNumberScheduled, currentNumberScheduled, numberReady].every((number) => number === count);
  });

const whenRevisions = (namespace: string, count: number): Promise<readonly ControllerRevision[]> =>
  whenAll(client, controllerRevisions, { namespace }, (all) => all.length === count);

const byRevision = (a: ControllerRevision, b: ControllerRevision) => a.revision - b.revision;

test('[sig-architecture] Conformance Tests should have at least two untainted nodes [Conformance]', async () => {
  const { items } = await client.list(nodes);
  const usable = items.filter((node) => hasCondition(node, 'Ready') && !node.spec?.unschedulable && !node.spec?.taints);
  assert.ok(usable.length >= 2);
});

test('[sig-apps] Daemon set [Serial] should run and stop simple daemon [Conformance]', async () => {
  const namespace = await makeNamespace();
  await client.create(daemonSets, daemonSet(namespace));
  const [first] = await whenOn(namespace, nodeNames);
  await whenScheduled(namespace, 2);
  await client.delete(pods, referenceTo(first!));
  await whenOn(namespace, nodeNames, ({ metadata }) => metadata.uid !== first?.metadata.uid);
});

test('[sig-apps] Daemon set [Serial] should run and stop complex daemon [Conformance]', async () => {
  const namespace = await makeNamespace();
  const color = 'daemonset-color';
  const paint = (value: string | null) =>
    client.patch(nodes, { name: 'node-1' }, { type: 'merge', body: { metadata: { labels: { [color]: value } } } });
  const base = template(labels);
  const inBlue = { ...base, spec: { ...base.spec!, nodeSelector: { [color]: 'blue' } } };
  const made = await client.create(daemonSets, daemonSet(namespace, { template: inBlue }));
  await whenScheduled(namespace, 0);
  await whenOn(namespace, []);
  await paint('blue');
  await whenOn(namespace, ['node-1']);
  await whenScheduled(namespace, 1);
  await paint('green');
  await whenOn(namespace, []);
  const body = {
    spec: { template: { spec: { nodeSelector: { [color]: 'green' } } }, updateStrategy: { type: 'RollingUpdate' } },
  };
  await client.patch(daemonSets, referenceTo(made), { type: 'strategic', body });
  await whenOn(namespace, ['node-1']);
  await whenScheduled(namespace, 1);
  await paint(null);
});

test('[sig-apps] Daemon set [Serial] should retry creating failed daemon pods [Conformance]', async () => {
  const namespace = await makeNamespace();
  await client.create(daemonSets, daemonSet(namespace));
  const [first] = await whenOn(namespace, nodeNames);
  const failed = (pod: Pod): Pod => ({ ...pod, status: { ...pod.status, phase: 'Failed' } });
  await change(client, pods, referenceTo(first!), failed, 'status');
  await whenGone(client, pods, referenceTo(first!));
  await whenOn(namespace, nodeNames);
});

test('[sig-apps] Daemon set [Serial] should update pod when spec was updated and update strategy is RollingUpdate [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(daemonSets, daemonSet(namespace, { updateStrategy: { type: 'RollingUpdate' } }));
  await whenOn(namespace, nodeNames);
  const [first] = await whenRevisions(namespace, 1);
  const hash = first?.metadata.labels?.[revisionLabel];
  assert.equal(first?.revision, 1);
  await whenOn(namespace, nodeNames, ({ metadata }) => metadata.labels?.[revisionLabel] === hash);
  const body = { spec: { template: { spec: { containers: [{ name: 'agnhost', image: nextImage }] } } } };
  const patched = await client.patch(daemonSets, referenceTo(made), { type: 'strategic', body });
  assertNewer(patched, made);
  await whenOn(namespace, nodeNames, runs(nextImage));
  const second = (await whenRevisions(namespace, 2)).toSorted(byRevision)[1];
  assert.equal(second?.revision, 2);
  const nextHash = second.metadata.labels?.[revisionLabel];
  assert.notEqual(nextHash, hash);
  await whenOn(namespace, nodeNames, ({ metadata }) => metadata.labels?.[revisionLabel] === nextHash);
});

test('[sig-apps] Daemon set [Serial] should rollback without unnecessary restarts [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(daemonSets, daemonSet(namespace));
  await whenOn(namespace, nodeNames);
  await change(client, daemonSets, referenceTo(made), (current) => withImage(current, missingImage));
  const midway = await whenAll(client, pods, { namespace }, (all) => all.length === 2 && all.some(runs(missingImage)));
  const untouched = midway.filter(runs(image)).map(({ metadata }) => metadata.uid);
  assert.equal(untouched.length, 1);
  await change(client, daemonSets, referenceTo(made), (current) => withImage(current, image));
  const after = await whenOn(namespace, nodeNames, runs(image));
  assert.ok(after.some(({ metadata }) => metadata.uid === untouched[0]));
});

test('[sig-apps] Daemon set [Serial] should list and delete a collection of DaemonSets [Conformance]', async () => {
  const namespace = await makeNamespace();
  await client.create(daemonSets, daemonSet(namespace));
  await whenOn(namespace, nodeNames);
  const labelSelector = 'daemonset-name=daemon-set';
  assert.equal((await client.list(daemonSets, { namespace, labelSelector })).items.length, 1);
  await client.deleteCollection(daemonSets, { namespace, labelSelector });
  await whenAll(client, daemonSets, { namespace }, (left) => left.length === 0);
  await whenOn(namespace, []);
});

test('[sig-apps] Daemon set [Serial] should verify changes to a daemon set status [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(daemonSets, daemonSet(namespace));
  await whenScheduled(namespace, 2);
  await assertStatusWritable(client, daemonSets, referenceTo(made));
});

test('[sig-apps] ControllerRevision [Serial] should manage the lifecycle of a ControllerRevision [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(daemonSets, daemonSet(namespace));
  await whenOn(namespace, nodeNames);
  const labelSelector = 'daemonset-name=daemon-set';
  const [initial] = await whenRevisions(namespace, 1);
  assert.equal((await client.list(controllerRevisions, { namespace, labelSelector })).items.length, 1);
  const ref = referenceTo(initial!);
  const label = (value: string) => ({ metadata: { labels: { 'daemonset-name': 'daemon-set', [ref.name]: value } } });
  const patched = await client.patch(controllerRevisions, ref, { type: 'strategic', body: label('patched') });
  assert.equal(patched.metadata.labels?.[ref.name], 'patched');
  assertNewer(patched, initial!);
  const name = 'daemon-set-extra';
  const { ownerReferences } = patched.metadata;
  await client.create(controllerRevisions, {
    metadata: { namespace, name, labels: { ...labels, extra: 'true' }, ownerReferences },
    data: patched.data,
    revision: patched.revision + 1,
  });
  await whenRevisions(namespace, 2);
  await client.delete(controllerRevisions, ref);
  // The DaemonSet knows its template again in the revision that is left.
  await whenGone(client, controllerRevisions, ref);
  const [left] = await whenRevisions(namespace, 1);
  const updated = await change(client, controllerRevisions, referenceTo(left!), (current) => ({
    ...current,
    metadata: { ...current.metadata, labels: { ...current.metadata.labels, [name]: 'updated' } },
  }));
  assert.equal(updated.metadata.labels?.[name], 'updated');
  const body = { spec: { template: { spec: { terminationGracePeriodSeconds: 2 } } } };
  await client.patch(daemonSets, referenceTo(made), { type: 'strategic', body });
  await whenRevisions(namespace, 2);
  await client.deleteCollection(controllerRevisions, { namespace, labelSelector: `${name}=updated` });
  const [current] = await whenRevisions(namespace, 1);
  assert.equal(current?.revision, 3);
});
