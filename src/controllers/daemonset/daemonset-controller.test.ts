import assert from 'node:assert/strict';
import { test } from 'node:test';
import { controllerRevisions, type DaemonSet, type DaemonSetSpec, daemonSets } from '../../api/gen/apps-v1.ts';
import { nodes, pods, type Taint } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runDaemonSetController } from './daemonset-controller.ts';
import { targetNodeOf } from './placement.ts';

const agent = (spec: Partial<DaemonSetSpec> = {}): DaemonSet => ({
  metadata: { namespace: 'default', name: 'agent' },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    template: { metadata: { labels: { app: 'agent' } }, spec: { containers: [{ name: 'c', image: 'one' }] } },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
    ...spec,
  },
});

const addNode = (cluster: MemoryCluster, name: string, labels: Record<string, string> = {}, taints: Taint[] = []) =>
  cluster.client.create(nodes, { metadata: { name, labels }, spec: { taints } });

async function start(
  spec: Partial<DaemonSetSpec> = {},
  names: readonly string[] = ['a', 'b', 'c'],
): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  for (const name of names) await addNode(cluster, name, { disk: name === 'c' ? 'hdd' : 'ssd' });
  cluster.run(runDaemonSetController);
  await cluster.client.create(daemonSets, agent(spec));
  await cluster.settle();
  return cluster;
}

/** Binds every Pod to its Node and makes it ready. */
async function runPods(cluster: MemoryCluster, rounds = 1): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const pod of cluster.api.all(pods)) {
      if (pod.metadata.deletionTimestamp) cluster.api.erase(pods, `default/${pod.metadata.name}`);
      else if (pod.status?.phase !== 'Running') {
        cluster.api.alter(pods, `default/${pod.metadata.name}`, (live) => {
          live.spec.nodeName = targetNodeOf(pod);
          const lastTransitionTime = formatTime(cluster.clock.now());
          live.status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] };
        });
      }
    }
    await cluster.settle();
  }
}

const placed = (cluster: MemoryCluster) => cluster.api.all(pods).map(targetNodeOf).sort();
const images = (cluster: MemoryCluster) =>
  cluster.api
    .all(pods)
    .map(({ spec }) => spec.containers[0]?.image)
    .sort();
const status = (cluster: MemoryCluster) => cluster.api.find(daemonSets, 'default/agent')?.status;
const setImage = async (cluster: MemoryCluster, image: string) => {
  const body = { spec: { template: { spec: { containers: [{ name: 'c', image }] } } } };
  await cluster.client.patch(daemonSets, { namespace: 'default', name: 'agent' }, { type: 'strategic', body });
  await cluster.settle();
};

test('puts one Pod on every Node, pinned by name, tolerating what ails Nodes', async () => {
  await using cluster = await start();
  assert.deepEqual(placed(cluster), ['a', 'b', 'c']);
  const [pod] = cluster.api.all(pods);
  assert.equal(pod?.spec.nodeName, undefined);
  const keys = pod?.spec.tolerations?.map(({ key, effect }) => `${key?.split('/')[1]}:${effect}`);
  assert.deepEqual(keys, [
    'not-ready:NoExecute',
    'unreachable:NoExecute',
    'disk-pressure:NoSchedule',
    'memory-pressure:NoSchedule',
    'pid-pressure:NoSchedule',
    'unschedulable:NoSchedule',
  ]);
  await runPods(cluster);
  const { desiredNumberScheduled, currentNumberScheduled, numberReady, numberAvailable, updatedNumberScheduled } =
    status(cluster)!;
  assert.deepEqual(
    [desiredNumberScheduled, currentNumberScheduled, numberReady, numberAvailable, updatedNumberScheduled],
    [3, 3, 3, 3, 3],
  );
  assert.deepEqual(cluster.complaints, []);
});

test('follows Nodes that come, go and change their labels', async () => {
  const template = { ...agent().spec.template, spec: { ...agent().spec.template.spec, nodeSelector: { disk: 'ssd' } } };
  await using cluster = await start({ template });
  assert.deepEqual(placed(cluster), ['a', 'b']);
  await addNode(cluster, 'd', { disk: 'ssd' });
  await cluster.client.patch(nodes, { name: 'b' }, { type: 'merge', body: { metadata: { labels: { disk: 'hdd' } } } });
  await cluster.settle();
  assert.deepEqual(placed(cluster), ['a', 'd']);
});

test('stays away from taints it does not tolerate; NoSchedule spares what runs', async () => {
  await using cluster = await start({}, ['a']);
  await addNode(cluster, 'tainted', {}, [{ key: 'k', effect: 'NoSchedule' }]);
  await cluster.settle();
  assert.deepEqual(placed(cluster), ['a']);
  await cluster.client.patch(
    nodes,
    { name: 'a' },
    { type: 'merge', body: { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } } },
  );
  await cluster.settle();
  assert.deepEqual(placed(cluster), ['a']);
  await cluster.client.patch(
    nodes,
    { name: 'a' },
    { type: 'merge', body: { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } } },
  );
  await cluster.settle();
  assert.deepEqual(placed(cluster), []);
});

test('a rolling update replaces one Pod at a time and records revisions', async () => {
  await using cluster = await start();
  await runPods(cluster);
  await setImage(cluster, 'two');
  for (let round = 0; round < 8; round++) {
    const ready = cluster.api
      .all(pods)
      .filter(({ status: is, metadata }) => is?.phase === 'Running' && !metadata.deletionTimestamp);
    assert.ok(ready.length >= 2, `${ready.length} ready`);
    await runPods(cluster);
  }
  assert.deepEqual(images(cluster), ['two', 'two', 'two']);
  const revisions = cluster.api.all(controllerRevisions);
  assert.deepEqual(
    revisions.map(({ revision }) => revision),
    [1, 2],
  );
  // Upstream compares bytes.
  const { spec: template, metadata } = cluster.api.all(daemonSets)[0]!.spec.template;
  assert.deepEqual(Object.keys(template!), ['containers']);
  const [container] = template!.containers;
  assert.equal(
    JSON.stringify(revisions[1]?.data),
    `{"spec":{"template":{"$patch":"replace","metadata":${JSON.stringify(metadata)},"spec":{"containers":[{"image":"two","name":"${container?.name}","resources":{}}]}}}}`,
  );
  const hash = revisions[1]?.metadata.labels?.['controller-revision-hash'];
  assert.equal(revisions[1]?.metadata.name, `agent-${hash}`);
  assert.ok(cluster.api.all(pods).every(({ metadata }) => metadata.labels?.['controller-revision-hash'] === hash));
});

test('with surge the new Pod is ready before the old one goes', async () => {
  await using cluster = await start({
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
  });
  await runPods(cluster);
  await setImage(cluster, 'two');
  for (let round = 0; round < 12; round++) {
    const live = cluster.api.all(pods).filter(({ metadata }) => !metadata.deletionTimestamp);
    assert.ok(live.filter(({ status: is }) => is?.phase === 'Running').length >= 3);
    assert.ok(live.length <= 4);
    await runPods(cluster);
  }
  assert.deepEqual(images(cluster), ['two', 'two', 'two']);
});

test('OnDelete waits for people to delete', async () => {
  await using cluster = await start({ updateStrategy: { type: 'OnDelete' } });
  await runPods(cluster);
  await setImage(cluster, 'two');
  await runPods(cluster, 3);
  assert.deepEqual(images(cluster), ['one', 'one', 'one']);
  await cluster.client.delete(pods, { namespace: 'default', name: cluster.api.all(pods)[0]!.metadata.name! });
  await runPods(cluster, 3);
  assert.deepEqual(images(cluster), ['one', 'one', 'two']);
});

test('a failed Pod is replaced, ever more slowly', async () => {
  await using cluster = await start({}, ['a']);
  const fail = async () => {
    const { name } = cluster.api.all(pods)[0]!.metadata;
    cluster.api.alter(pods, `default/${name}`, (live) => {
      live.status = { phase: 'Failed' };
    });
    await cluster.settle();
    return name;
  };
  const first = await fail();
  assert.notEqual(cluster.api.all(pods)[0]?.metadata.name, first);
  assert.ok(cluster.reasons('DaemonSet/agent').includes('FailedDaemonPod'));
  for (let times = 0; times < 4; times++) await fail();
  const stuck = await fail();
  assert.equal(cluster.api.all(pods)[0]?.metadata.name, stuck);
  await cluster.clock.advance(60_000);
  await cluster.settle();
  assert.notEqual(cluster.api.all(pods)[0]?.metadata.name, stuck);
});
