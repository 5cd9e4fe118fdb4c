/** Where Pods go, who must make room for whom, and who must leave a tainted node. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replicaSets } from '../../src/api/gen/apps-v1.ts';
import { events, nodes, type Pod, pods } from '../../src/api/gen/core-v1.ts';
import { priorityClasses } from '../../src/api/gen/scheduling-v1.ts';
import { follow, startCluster, when, whenAll, whenGone } from './cluster.ts';
import { fastClock } from './fast-clock.ts';
import { hasCondition, isRunning, startNode } from './nodes.ts';
import { referenceTo } from './operations.ts';
import { image, template } from './workloads.ts';

/** Tolerations are given in seconds. */
const rate = 10;
const clock = fastClock(rate);
const cluster = await startCluster({ clock });
const { client, namespace: makeNamespace } = cluster;
const nodeNames = ['node-1', 'node-2'];
for (const name of nodeNames) await startNode(cluster, name, { clock, facts: { cpuCount: 4 } });

const resource = 'example.com/fakecpu';

function pod(namespace: string, name: string, spec: Partial<Pod['spec']> = {}): Pod {
  const containers = [{ name: 'c', image }];
  return { metadata: { namespace, name }, spec: { terminationGracePeriodSeconds: 1, containers, ...spec } };
}

/** Containers that want so much of a resource, and get it only whole where it is an extended one. */
const wanting = (amounts: Record<string, string>) => [
  { name: 'c', image, resources: { requests: amounts, limits: amounts } },
];

const onNode = (name: string) => ({ nodeSelector: { 'kubernetes.io/hostname': name } });

async function run(wanted: Pod): Promise<Pod> {
  const made = await client.create(pods, wanted);
  return (await when(client, pods, referenceTo(made), (object) => object !== undefined && isRunning(object)))!;
}

/** Waits until the scheduler says that there is no node for it, in its status and as an Event. */
async function assertUnschedulable(made: Pod, message: RegExp): Promise<void> {
  const waiting = await when(client, pods, referenceTo(made), (object) =>
    hasCondition(object, 'PodScheduled', 'False'),
  );
  const condition = waiting?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  assert.equal(condition?.reason, 'Unschedulable');
  assert.match(condition?.message ?? '', message);
  assert.equal(waiting?.spec.nodeName, undefined);
  const { namespace, name } = made.metadata;
  await whenAll(client, events, { namespace }, (all) =>
    all.some(({ involvedObject, reason }) => involvedObject.name === name && reason === 'FailedScheduling'),
  );
}

const setResource = (node: string, amount: string | null) =>
  client.patch(
    nodes,
    { name: node },
    { type: 'merge', body: { status: { capacity: { [resource]: amount }, allocatable: { [resource]: amount } } } },
    { subresource: 'status' },
  );

test('[sig-scheduling] SchedulerPredicates [Serial] validates resource limits of pods that are allowed to run [Conformance]', async () => {
  const namespace = await makeNamespace();
  for (const name of nodeNames)
    await run(pod(namespace, `filler-${name}`, { ...onNode(name), containers: wanting({ cpu: '2800m' }) }));
  const additional = await client.create(pods, pod(namespace, 'additional', { containers: wanting({ cpu: '2' }) }));
  await assertUnschedulable(additional, /^0\/2 nodes are available: 2 Insufficient cpu\./);
  await client.delete(pods, { namespace, name: 'filler-node-1' });
  await when(client, pods, referenceTo(additional), (object) => object?.spec.nodeName === 'node-1');
  await client.deleteCollection(pods, { namespace });
});

test('[sig-scheduling] SchedulerPredicates [Serial] validates that NodeSelector is respected if not matching [Conformance]', async () => {
  const made = await client.create(
    pods,
    pod(await makeNamespace(), 'restricted', { nodeSelector: { label: 'nonempty' } }),
  );
  await assertUnschedulable(made, /2 node\(s\) didn't match Pod's node affinity\/selector/);
});

test('[sig-scheduling] SchedulerPredicates [Serial] validates that NodeSelector is respected if matching [Conformance]', async () => {
  const [key, value] = ['kubernetes.io/e2e-found', '42'];
  const label = (to: string | null) =>
    client.patch(nodes, { name: 'node-2' }, { type: 'merge', body: { metadata: { labels: { [key]: to } } } });
  await label(value);
  const running = await run(pod(await makeNamespace(), 'with-labels', { nodeSelector: { [key]: value } }));
  assert.equal(running.spec.nodeName, 'node-2');
  await label(null);
});

test('[sig-scheduling] SchedulerPredicates [Serial] validates that there exists conflict between pods with same hostPort and protocol but one using 0.0.0.0 hostIP [Conformance]', async () => {
  const namespace = await makeNamespace();
  const at = (hostIP: string) => ({
    ...onNode('node-1'),
    containers: [
      { name: 'c', image, ports: [{ containerPort: 8080, hostPort: 54322, protocol: 'TCP' as const, hostIP }] },
    ],
  });
  await run(pod(namespace, 'pod4', at('0.0.0.0')));
  const made = await client.create(pods, pod(namespace, 'pod5', at('192.0.2.1')));
  await assertUnschedulable(made, /1 node\(s\) didn't have free ports for the requested pod ports/);
  await client.deleteCollection(pods, { namespace });
});

/** Puts five of the resource on each node, and on each two Pods that take two of it; the first is of low priority. */
async function fillNodes(namespace: string): Promise<readonly Pod[]> {
  for (const [name, value] of [
    ['low', 1],
    ['medium', 100],
    ['high', 1000],
  ] as const)
    await client.create(priorityClasses, { metadata: { name: `${namespace}-${name}` }, value });
  for (const name of nodeNames) await setResource(name, '5');
  const running: Pod[] = [];
  for (const index of [0, 1, 2, 3]) {
    const priorityClassName = `${namespace}-${index === 0 ? 'low' : 'medium'}`;
    const spec = { ...onNode(nodeNames[index % 2]!), priorityClassName, containers: wanting({ [resource]: '2' }) };
    running.push(await run(pod(namespace, `pod${index}`, spec)));
  }
  return running;
}

async function clearNodes(...namespaces: readonly string[]): Promise<void> {
  for (const namespace of namespaces) await client.deleteCollection(pods, { namespace, gracePeriodSeconds: 0 });
  for (const name of nodeNames) await setResource(name, null);
}

/** Once nodes are full, a Pod of the class goes where the one of low priority is, and no other must go. */
async function assertPreempts(filled: string, namespace: string, priorityClassName: string): Promise<void> {
  const [low, ...others] = await fillNodes(filled);
  const spec = { priorityClassName, containers: wanting({ [resource]: '2' }) };
  const preemptor = await run(pod(namespace, 'preemptor-pod', spec));
  assert.equal(preemptor.spec.nodeName, 'node-1');
  await whenGone(client, pods, referenceTo(low!));
  for (const other of others)
    assert.equal((await client.get(pods, referenceTo(other))).metadata.deletionTimestamp, undefined);
  await client.delete(pods, referenceTo(preemptor));
  await clearNodes(filled);
}

test('[sig-scheduling] SchedulerPreemption [Serial] validates basic preemption works [Conformance]', async () => {
  const namespace = await makeNamespace();
  await assertPreempts(namespace, namespace, `${namespace}-high`);
});

test('[sig-scheduling] SchedulerPreemption [Serial] validates lower priority pod preemption by critical pod [Conformance]', async () => {
  await assertPreempts(await makeNamespace(), 'kube-system', 'system-cluster-critical');
});

test('[sig-scheduling] SchedulerPreemption [Serial] validates pod disruption condition is added to the preempted pod [Conformance]', async () => {
  const namespace = await makeNamespace();
  await client.create(priorityClasses, { metadata: { name: `${namespace}-high` }, value: 1000 });
  await setResource('node-1', '1');
  const spec = { ...onNode('node-1'), containers: wanting({ [resource]: '1' }) };
  const victim = pod(namespace, 'victim', spec);
  await run({ ...victim, metadata: { ...victim.metadata, finalizers: ['example.com/test'] } });
  const preemptor = await client.create(
    pods,
    pod(namespace, 'preemptor', { ...spec, priorityClassName: `${namespace}-high` }),
  );
  const preempted = await when(client, pods, referenceTo(victim), (object) => hasCondition(object, 'DisruptionTarget'));
  const condition = preempted?.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  assert.equal(condition?.reason, 'PreemptionByScheduler');
  await client.patch(pods, referenceTo(victim), { type: 'merge', body: { metadata: { finalizers: null } } });
  await when(client, pods, referenceTo(preemptor), (object) => object !== undefined && isRunning(object));
  await clearNodes(namespace);
});

test('[sig-scheduling] SchedulerPreemption [Serial] PreemptionExecutionPath runs ReplicaSets to verify preemption running path [Conformance]', async () => {
  const namespace = await makeNamespace();
  await setResource('node-1', '1000');
  using changes = await follow(client, pods, { namespace });
  const create = async (level: number, amount: string) => {
    const priorityClassName = `${namespace}-p${level}`;
    await client.create(priorityClasses, { metadata: { name: priorityClassName }, value: level });
    const labels = { name: `pod${level}` };
    const { metadata, spec } = template(labels);
    const podSpec = { ...spec!, ...onNode('node-1'), priorityClassName, containers: wanting({ [resource]: amount }) };
    await client.create(replicaSets, {
      metadata: { namespace, name: `rs-pod${level}` },
      spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata, spec: podSpec } },
    });
  };
  const whenRuns = (level: number) =>
    when(client, replicaSets, { namespace, name: `rs-pod${level}` }, (object) => object?.status?.readyReplicas === 1);
  await create(1, '200');
  await create(2, '300');
  await create(3, '450');
  for (const level of [1, 2, 3]) await whenRuns(level);
  // A node that did not know of its new capacity yet may have refused some of them, which were replaced then.
  const { items } = await client.list(pods, { namespace });
  const before = new Set(items.map(({ metadata }) => metadata.uid));
  await create(4, '500');
  await whenRuns(4);
  // The two lowest make room, and their ReplicaSets put others in their place, which wait.
  const replaced = new Set<string>();
  while (!replaced.has('pod1') || !replaced.has('pod2')) {
    const { type, object } = await changes.next();
    if (type === 'ADDED' && !before.has(object.metadata.uid)) replaced.add(object.metadata.labels?.name ?? '');
  }
  assert.ok(!replaced.has('pod3'));
  await whenRuns(3);
  await client.deleteCollection(replicaSets, { namespace });
  await clearNodes(namespace);
});

const taint = { key: 'kubernetes.io/e2e-evict-taint-key', value: 'evictTaintVal', effect: 'NoExecute' };
const setTaints = (taints: readonly object[] | null) =>
  client.patch(nodes, { name: 'node-1' }, { type: 'merge', body: { spec: { taints } } });
const tolerating = (tolerationSeconds: number) => ({
  ...onNode('node-1'),
  tolerations: [
    { key: taint.key, operator: 'Equal', value: taint.value, effect: 'NoExecute', tolerationSeconds } as const,
  ],
});
const seconds = (count: number) => new Promise<void>((resolve) => void clock.after(count * 1000, resolve));

test('[sig-node] NoExecuteTaintManager Single Pod [Serial] removing taint cancels eviction [Disruptive] [Conformance]', async () => {
  const running = await run(pod(await makeNamespace(), 'taint-eviction', tolerating(20)));
  await setTaints([taint]);
  await seconds(10);
  await setTaints(null);
  await seconds(20);
  assert.equal((await client.get(pods, referenceTo(running))).metadata.deletionTimestamp, undefined);
});

test('[sig-node] NoExecuteTaintManager Multiple Pods [Serial] evicts pods with minTolerationSeconds [Disruptive] [Conformance]', async () => {
  const namespace = await makeNamespace();
  const first = await run(pod(namespace, 'taint-eviction-1', tolerating(5)));
  const second = await run(pod(namespace, 'taint-eviction-2', tolerating(20)));
  const started = clock.monotonic();
  await setTaints([taint]);
  await when(client, pods, referenceTo(first), (object) => object?.metadata.deletionTimestamp !== undefined);
  await client.get(pods, referenceTo(second));
  const went = await when(
    client,
    pods,
    referenceTo(second),
    (object) => object?.metadata.deletionTimestamp !== undefined,
  );
  assert.ok(clock.monotonic() - started >= 19_000);
  assert.ok(hasCondition(went, 'DisruptionTarget'));
  await setTaints(null);
});
