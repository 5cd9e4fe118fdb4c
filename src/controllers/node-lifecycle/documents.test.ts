/**
 * What Kubernetes' documents say of the node controller ("Node controller", "Rate limits on eviction", "Heartbeats", "Condition",
 * "Non-graceful node shutdown"), sentence by sentence: the names of the tests are theirs, shortened. Numbers that are not given are the
 * defaults of kube-controller-manager's flags; those that are given are given as flags.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodes, pods, type Toleration } from '../../api/gen/core-v1.ts';
import { parseFlags } from '../../serving/flags.ts';
import type { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { controllerManagerFlags, controllerManagerOptions } from '../options.ts';
import { runPodGarbageCollectorController } from '../pod-garbage-collector/pod-garbage-collector-controller.ts';
import { runTaintEvictionController } from '../taint-eviction/taint-eviction-controller.ts';
import { addNode, node as nodeOf, numbered, pass, ready, report, start, tainted, taints } from './nodes.fixture.ts';

/** A cluster whose controllers are as these flags say. */
function startWith(flags: readonly string[], names: readonly string[], zoneOf?: (name: string) => string) {
  const { nodeLifecycle } = controllerManagerOptions(parseFlags(controllerManagerFlags, flags).values);
  return start(names, zoneOf, nodeLifecycle);
}

const unreachable = 'node.kubernetes.io/unreachable';

/** What the API server gives every Pod that says nothing itself. */
const defaultTolerations: readonly Toleration[] = ['not-ready', 'unreachable'].map((problem) => ({
  key: `node.kubernetes.io/${problem}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 300,
}));

async function addPod(cluster: MemoryCluster, name: string, nodeName: string, tolerations = defaultTolerations) {
  await cluster.client.create(pods, {
    metadata: { namespace: 'd', name },
    spec: { nodeName, containers: [], tolerations },
  });
}

const isLeaving = (cluster: MemoryCluster, name: string) =>
  cluster.api.find(pods, `d/${name}`)?.metadata.deletionTimestamp !== undefined;

test('in the case that a node becomes unreachable, the node controller sets the Ready condition to Unknown, 40 s after its last heartbeat', async () => {
  await using cluster = await startWith([], ['a', 'b']);
  await pass(cluster, 40, ['a']);
  assert.equal(ready(cluster, 'b')?.status, 'True');
  await pass(cluster, 6, ['a']);
  assert.partialDeepStrictEqual(ready(cluster, 'b'), { status: 'Unknown', reason: 'NodeStatusUnknown' });
  assert.equal(ready(cluster, 'a')?.status, 'True');
});

test('--node-monitor-grace-period: how long a node may be silent', async () => {
  await using cluster = await startWith(['--node-monitor-grace-period=120s'], ['a', 'b']);
  await pass(cluster, 110, ['a']);
  assert.equal(ready(cluster, 'b')?.status, 'True');
  await pass(cluster, 20, ['a']);
  assert.equal(ready(cluster, 'b')?.status, 'Unknown');
});

test('--node-startup-grace-period: how long a node that never reported may be silent', async () => {
  await using cluster = await startWith(['--node-startup-grace-period=5m'], ['a']);
  await cluster.client.create(nodes, { metadata: { name: 'ghost' }, spec: {} });
  await pass(cluster, 290, ['a']);
  assert.equal(ready(cluster, 'ghost'), undefined);
  await pass(cluster, 20, ['a']);
  assert.partialDeepStrictEqual(ready(cluster, 'ghost'), { status: 'Unknown', reason: 'NodeStatusNeverUpdated' });
});

test('the node controller checks the state of each node every 5 seconds, or every --node-monitor-period', async () => {
  for (const [flags, seconds] of [
    [[], 5],
    [['--node-monitor-period=1m', '--node-monitor-grace-period=5m'], 60],
  ] as const) {
    await using cluster = await startWith(flags, ['a', 'b']);
    // Just after a look.
    await pass(cluster, seconds, ['a', 'b']);
    report(cluster, 'b', 'False');
    await cluster.clock.advance(seconds * 1000 - 1100);
    assert.deepEqual(cluster.reasons('Node/b'), ['RegisteredNode']);
    await cluster.clock.advance(1200);
    assert.equal(tainted(cluster).join(), 'b');
  }
});

test('by default, the node controller waits 5 minutes between marking the node as Unknown and submitting the first eviction request', async () => {
  await using cluster = await startWith([], ['a', 'b']);
  cluster.run(runTaintEvictionController);
  await addPod(cluster, 'p', 'b');
  await pass(cluster, 46, ['a']);
  assert.equal(ready(cluster, 'b')?.status, 'Unknown');
  await pass(cluster, 290, ['a']);
  assert.ok(!isLeaving(cluster, 'p'));
  await pass(cluster, 20, ['a']);
  assert.ok(isLeaving(cluster, 'p'));
});

test('the node controller waits for an update of the node or of its Lease: either is a heartbeat', async () => {
  await using cluster = await startWith([], ['lease', 'status']);
  for (let round = 0; round < 20; round++) {
    report(cluster, 'status', 'True');
    await pass(cluster, 10, ['lease']);
  }
  assert.equal(ready(cluster, 'lease')?.status, 'True');
  assert.equal(ready(cluster, 'status')?.status, 'True');
});

test('the eviction rate is limited to 0.1 per second: pods are not evicted from more than 1 node per 10 seconds', async () => {
  const all = numbered('n', 12);
  await using cluster = await startWith([], all);
  const [dead, alive] = [all.slice(0, 5), all.slice(5)];
  await pass(cluster, 40, alive);
  const counts: number[] = [];
  for (let step = 0; step < 7; step++) {
    await pass(cluster, 10, alive);
    counts.push(tainted(cluster).length);
  }
  counts.reduce((before, now) => {
    assert.ok(now - before <= 1, counts.join());
    return now;
  }, 0);
  assert.equal(counts.at(-1), dead.length);
});

test('--node-eviction-rate: how many nodes a second', async () => {
  const all = numbered('n', 12);
  await using cluster = await startWith(['--node-eviction-rate=1'], all);
  await pass(cluster, 56, all.slice(5));
  assert.equal(tainted(cluster).length, 5);
});

test('if the fraction of unhealthy nodes is at least 0.55 and the cluster is small, evictions are stopped', async () => {
  const all = numbered('n', 20);
  await using cluster = await startWith([], all);
  await pass(cluster, 600, all.slice(11));
  assert.equal(ready(cluster, 'n0')?.status, 'Unknown');
  assert.deepEqual(tainted(cluster), []);
  // One more of twenty is healthy, and fewer than 0.55 are not.
  report(cluster, 'n0', 'True');
  await pass(cluster, 200, [...all.slice(11), 'n0']);
  assert.equal(tainted(cluster).length, 10);
});

test('--unhealthy-zone-threshold: from which fraction on', async () => {
  const all = numbered('n', 20);
  await using cluster = await startWith(['--unhealthy-zone-threshold=0.6'], all);
  await pass(cluster, 200, all.slice(11));
  assert.equal(tainted(cluster).length, 11);
});

test('a cluster is small that has less than or equal to 50 nodes; otherwise the eviction rate is reduced to 0.01 per second', async () => {
  for (const [size, most] of [
    [50, 0],
    [51, 3],
  ] as const) {
    const all = numbered('n', size);
    await using cluster = await startWith([], all);
    await pass(cluster, 250, all.slice(30));
    assert.equal(tainted(cluster).length, most, `${size} nodes`);
  }
});

test('--large-cluster-size-threshold and --secondary-node-eviction-rate: what is small, and how fast the rest', async () => {
  const all = numbered('n', 10);
  const flags = ['--large-cluster-size-threshold=9', '--secondary-node-eviction-rate=0.05'];
  await using cluster = await startWith(flags, all);
  await pass(cluster, 52, all.slice(6));
  assert.equal(tainted(cluster).length, 1);
  await pass(cluster, 40, all.slice(6));
  assert.equal(tainted(cluster).length, 3);
});

test('these policies are implemented per availability zone: one might become partitioned while the others remain connected', async () => {
  const [east, west] = [numbered('e', 10), numbered('w', 10)];
  await using cluster = await startWith([], [...east, ...west], (name) => name[0]!);
  // Six of ten in the east, one of ten in the west.
  await pass(cluster, 120, [...east.slice(6), ...west.slice(1)]);
  assert.deepEqual(tainted(cluster), ['w0']);
});

test('if all nodes in a zone are unhealthy, the node controller evicts at the normal rate', async () => {
  const [east, west] = [numbered('e', 4), numbered('w', 4)];
  await using cluster = await startWith([], [...east, ...west], (name) => name[0]!);
  await pass(cluster, 46, west);
  assert.equal(tainted(cluster).length, 1);
  await pass(cluster, 30, west);
  assert.deepEqual(tainted(cluster), east);
});

test('when all zones are completely unhealthy it assumes that there is some problem with connectivity, and does not perform any evictions', async () => {
  const all = [...numbered('e', 3), ...numbered('w', 3)];
  await using cluster = await startWith([], all, (name) => name[0]!);
  cluster.run(runTaintEvictionController);
  await addPod(cluster, 'p', 'e0');
  await pass(cluster, 900, []);
  assert.equal(ready(cluster, 'e0')?.status, 'Unknown');
  assert.deepEqual(tainted(cluster), []);
  assert.ok(!isLeaving(cluster, 'p'));
});

test('if there has been an outage and some nodes reappear, pods are evicted from the remaining nodes that are unhealthy', async () => {
  const all = [...numbered('e', 3), ...numbered('w', 3)];
  await using cluster = await startWith([], all, (name) => name[0]!);
  cluster.run(runTaintEvictionController);
  await addPod(cluster, 'stays', 'e0');
  await addPod(cluster, 'goes', 'w0');
  await pass(cluster, 300, []);
  for (const name of all.slice(0, 3)) report(cluster, name, 'True');
  await pass(cluster, 500, all.slice(0, 3));
  assert.deepEqual(tainted(cluster), ['w0', 'w1', 'w2']);
  assert.deepEqual([isLeaving(cluster, 'stays'), isLeaving(cluster, 'goes')], [false, true]);
});

test('the node controller evicts pods running on nodes with NoExecute taints, unless those pods tolerate that taint', async () => {
  await using cluster = await startWith([], ['a']);
  cluster.run(runTaintEvictionController);
  await addPod(cluster, 'tolerant', 'a', [{ key: 'gone', operator: 'Exists', effect: 'NoExecute' }]);
  await addPod(cluster, 'other', 'a');
  cluster.api.alter(nodes, 'a', (live) => {
    live.spec.taints = [{ key: 'gone', effect: 'NoExecute' }];
  });
  await cluster.settle();
  assert.deepEqual([isLeaving(cluster, 'tolerant'), isLeaving(cluster, 'other')], [false, true]);
});

test('it also adds taints corresponding to node problems like node unreachable or not ready', async () => {
  await using cluster = await startWith([], ['a', 'silent', 'sick', 'b', 'c']);
  report(cluster, 'sick', 'False');
  await pass(cluster, 90, ['a', 'sick', 'b', 'c']);
  assert.deepEqual(taints(nodeOf(cluster, 'silent')), ['unreachable:NoExecute', 'unreachable:NoSchedule']);
  assert.deepEqual(taints(nodeOf(cluster, 'sick')), ['not-ready:NoExecute', 'not-ready:NoSchedule']);
});

test('the node controller does not force delete pods until it is confirmed that they have stopped running: they stay Terminating', async () => {
  await using cluster = await startWith([], ['a', 'b']);
  cluster.run(runTaintEvictionController);
  cluster.run(runPodGarbageCollectorController);
  await addPod(cluster, 'p', 'b');
  await pass(cluster, 3600, ['a']);
  assert.ok(isLeaving(cluster, 'p'));
});

test('deleting the Node object deletes all the Pod objects that were on it, and frees up their names', async () => {
  await using cluster = await startWith([], ['a', 'b']);
  cluster.run(runTaintEvictionController);
  cluster.run(runPodGarbageCollectorController);
  await addPod(cluster, 'p', 'b');
  await pass(cluster, 600, ['a']);
  assert.ok(isLeaving(cluster, 'p'));
  await cluster.client.delete(nodes, { name: 'b' });
  await pass(cluster, 120, ['a']);
  assert.equal(cluster.api.find(pods, 'd/p'), undefined);
  await addPod(cluster, 'p', 'a');
  await pass(cluster, 60, ['a']);
  assert.ok(!isLeaving(cluster, 'p'));
});

test('Kubernetes keeps the object for the invalid Node and continues checking to see whether it becomes healthy', async () => {
  await using cluster = await startWith([], ['a']);
  await cluster.client.create(nodes, { metadata: { name: 'invalid' }, spec: {} });
  await pass(cluster, 3600, ['a']);
  assert.deepEqual(taints(nodeOf(cluster, 'invalid')), ['unreachable:NoExecute', 'unreachable:NoSchedule']);
  report(cluster, 'invalid', 'True');
  await pass(cluster, 20, ['a']);
  assert.deepEqual(taints(nodeOf(cluster, 'invalid')), []);
});

test('a node that is shut down without warning: with the out-of-service taint its pods are forcefully deleted if they do not tolerate it', async () => {
  await using cluster = await startWith([], ['a', 'b']);
  cluster.run(runTaintEvictionController);
  cluster.run(runPodGarbageCollectorController);
  const outOfService = {
    key: 'node.kubernetes.io/out-of-service',
    value: 'nodeshutdown',
    effect: 'NoExecute',
  } as const;
  await addPod(cluster, 'p', 'b');
  await addPod(cluster, 'tolerant', 'b', [
    { key: outOfService.key, operator: 'Exists', effect: 'NoExecute' },
    { key: unreachable, operator: 'Exists', effect: 'NoExecute' },
  ]);
  await pass(cluster, 60, ['a']);
  cluster.api.alter(nodes, 'b', (live) => {
    live.spec.taints = [...(live.spec.taints ?? []), outOfService];
  });
  await pass(cluster, 40, ['a']);
  assert.equal(cluster.api.find(pods, 'd/p'), undefined);
  assert.ok(cluster.api.find(pods, 'd/tolerant'));
  assert.ok(!isLeaving(cluster, 'tolerant'));
});

test('a new Node is watched from the moment it comes', async () => {
  await using cluster = await startWith([], ['a']);
  await pass(cluster, 100, ['a']);
  await addNode(cluster, 'late');
  await pass(cluster, 60, ['a']);
  assert.equal(ready(cluster, 'late')?.status, 'Unknown');
});
