import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodes, pods, type Toleration } from '../../api/gen/core-v1.ts';
import { runTaintEvictionController } from '../taint-eviction/taint-eviction-controller.ts';
import { node, numbered, pass, ready, report, start, tainted, taints } from './nodes.fixture.ts';

test('a Node whose Lease is renewed stays Ready; a silent one is Unknown after 40 s, with the words clients know', async () => {
  await using cluster = await start(['a', 'b']);
  await pass(cluster, 30, ['a']);
  assert.equal(ready(cluster, 'b')?.status, 'True');
  await pass(cluster, 30, ['a']);
  assert.equal(ready(cluster, 'a')?.status, 'True');
  assert.deepEqual(
    [ready(cluster, 'b')?.status, ready(cluster, 'b')?.reason, ready(cluster, 'b')?.message],
    ['Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.'],
  );
  const memory = node(cluster, 'b').status?.conditions?.find(({ type }) => type === 'MemoryPressure');
  assert.deepEqual([memory?.reason, memory?.message], ['NodeStatusNeverUpdated', 'Kubelet never posted node status.']);
  assert.deepEqual(taints(node(cluster, 'b')), ['unreachable:NoExecute', 'unreachable:NoSchedule']);
  assert.deepEqual(cluster.reasons('Node/b'), ['RegisteredNode', 'NodeNotReady']);
  assert.deepEqual(cluster.complaints, []);
});

test('a Node that comes back loses its taints', async () => {
  await using cluster = await start(['a', 'b']);
  await pass(cluster, 60, ['a']);
  report(cluster, 'b', 'True');
  await pass(cluster, 20, ['a', 'b']);
  assert.deepEqual(taints(node(cluster, 'b')), []);
});

test('a Node without any kubelet is given 60 s, then Unknown', async () => {
  await using cluster = await start(['a']);
  await cluster.client.create(nodes, { metadata: { name: 'ghost' }, spec: {} });
  await pass(cluster, 50, ['a']);
  assert.equal(ready(cluster, 'ghost'), undefined);
  await pass(cluster, 20, ['a']);
  assert.deepEqual(
    [ready(cluster, 'ghost')?.status, ready(cluster, 'ghost')?.reason],
    ['Unknown', 'NodeStatusNeverUpdated'],
  );
});

test('conditions and cordoning become NoSchedule taints at once', async () => {
  await using cluster = await start(['a']);
  cluster.api.alter(nodes, 'a', (live) => {
    live.spec.unschedulable = true;
    live.status = { conditions: [...(live.status?.conditions ?? []), { type: 'DiskPressure', status: 'True' }] };
  });
  await cluster.settle();
  assert.deepEqual(taints(node(cluster, 'a')), ['disk-pressure:NoSchedule', 'unschedulable:NoSchedule']);
  assert.equal(node(cluster, 'a').metadata.labels?.['beta.kubernetes.io/os'], 'linux');
});

test('a Node that says it is not ready gets the not-ready taint, and its Pods are not ready', async () => {
  await using cluster = await start(['a', 'b']);
  await cluster.client.create(pods, {
    metadata: { namespace: 'd', name: 'p' },
    spec: { nodeName: 'b', containers: [] },
  });
  cluster.api.alter(pods, 'd/p', (pod) => {
    pod.status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  });
  report(cluster, 'b', 'False');
  await pass(cluster, 20, ['a', 'b']);
  assert.deepEqual(taints(node(cluster, 'b')), ['not-ready:NoExecute', 'not-ready:NoSchedule']);
  assert.equal(cluster.api.find(pods, 'd/p')?.status?.conditions?.[0]?.status, 'False');
});

test('unhealthy Nodes of a zone are tainted one in ten seconds', async () => {
  const all = numbered('n', 10);
  await using cluster = await start(all);
  const dead = all.slice(0, 4);
  const alive = all.slice(4);
  await pass(cluster, 44, alive);
  const first = tainted(cluster).length;
  assert.ok(first <= 1, `${first} tainted`);
  await pass(cluster, 20, alive);
  assert.ok(tainted(cluster).length >= 2 && tainted(cluster).length <= 3, `${tainted(cluster).length} tainted`);
  await pass(cluster, 40, alive);
  assert.deepEqual(tainted(cluster).sort(), dead);
});

test('a partly disrupted small zone is not emptied; a wholly disrupted zone is, at the normal rate', async () => {
  const small = numbered('s', 10);
  const whole = numbered('w', 3);
  const fine = numbered('f', 3);
  await using cluster = await start([...small, ...whole, ...fine], (name) => name[0]);
  const alive = [...small.slice(6), ...fine];
  await pass(cluster, 150, alive);
  assert.deepEqual(tainted(cluster).sort(), whole);
});

test('when every zone is wholly unhealthy nothing is tainted, and what was tainted is spared; it resumes with the first return', async () => {
  const all = numbered('n', 4);
  await using cluster = await start(all);
  await pass(cluster, 120, []);
  assert.deepEqual(
    all.map((name) => ready(cluster, name)?.status),
    Array(4).fill('Unknown'),
  );
  assert.deepEqual(tainted(cluster), []);
  report(cluster, 'n0', 'True');
  await pass(cluster, 60, ['n0']);
  // Three of four are unhealthy: more than 55 percent of a small zone.
  assert.deepEqual(tainted(cluster), []);
  report(cluster, 'n1', 'True');
  await pass(cluster, 60, ['n0', 'n1']);
  assert.deepEqual(tainted(cluster).sort(), ['n2', 'n3']);
});

test('Pods leave a tainted Node when their tolerations run out, those that tolerate for ever stay', async () => {
  await using cluster = await start(['a', 'b']);
  cluster.run(runTaintEvictionController);
  const add = (name: string, tolerations: Toleration[]) =>
    cluster.client.create(pods, {
      metadata: { namespace: 'd', name },
      spec: { nodeName: 'b', containers: [], tolerations },
    });
  const key = 'node.kubernetes.io/unreachable';
  await add('none', []);
  await add('limited', [{ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }]);
  await add('forever', [{ key, operator: 'Exists', effect: 'NoExecute' }]);
  await pass(cluster, 60, ['a']);
  const leaving = () =>
    cluster.api
      .all(pods)
      .filter(({ metadata }) => metadata.deletionTimestamp)
      .map(({ metadata }) => metadata.name);
  assert.deepEqual(leaving(), ['none']);
  const condition = cluster.api
    .find(pods, 'd/none')
    ?.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  assert.deepEqual(
    [condition?.reason, condition?.message],
    ['DeletionByTaintManager', 'Taint manager: deleting due to NoExecute taint'],
  );
  assert.equal(
    cluster.events.find(({ reason }) => reason === 'TaintManagerEviction')?.message,
    'Marking for deletion Pod d/none',
  );
  await pass(cluster, 310, ['a']);
  assert.deepEqual(leaving(), ['none', 'limited']);
});

test('a return in time cancels the eviction', async () => {
  await using cluster = await start(['a', 'b']);
  cluster.run(runTaintEvictionController);
  const key = 'node.kubernetes.io/unreachable';
  const tolerations = [{ key, operator: 'Exists' as const, effect: 'NoExecute' as const, tolerationSeconds: 300 }];
  await cluster.client.create(pods, {
    metadata: { namespace: 'd', name: 'p' },
    spec: { nodeName: 'b', containers: [], tolerations },
  });
  await pass(cluster, 100, ['a']);
  report(cluster, 'b', 'True');
  await pass(cluster, 400, ['a', 'b']);
  assert.equal(cluster.api.find(pods, 'd/p')?.metadata.deletionTimestamp, undefined);
  assert.equal(
    cluster.events.find(({ reason }) => reason === 'TaintManagerEviction')?.message,
    'Cancelling deletion of Pod d/p',
  );
});
