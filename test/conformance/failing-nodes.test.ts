/**
 * A node that falls silent, in a whole cluster whose time runs sixty times as fast: API server, controllers, scheduler and simulated
 * kubelets. The sentences and numbers behind it are tested one by one in src/controllers/node-lifecycle/documents.test.ts.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deployments } from '../../src/api/gen/apps-v1.ts';
import { nodes, type Pod, pods } from '../../src/api/gen/core-v1.ts';
import { startCluster, when, whenAll, whenGone } from './cluster.ts';
import { fastClock } from './fast-clock.ts';
import { hasCondition, isReady, isRunning, startNode } from './nodes.ts';
import { change, referenceTo } from './operations.ts';
import { image, template } from './workloads.ts';

const clock = fastClock(60);
const cluster = await startCluster({ clock });
const { client, namespace: makeNamespace } = cluster;

const hasTaint = (key: string, effect: string) => (taint: { readonly key: string; readonly effect: string }) =>
  taint.key === key && taint.effect === effect;

/** A Pod of a name of its own on the node, and a Deployment that runs there too. */
async function startWorkloads(namespace: string, nodeName: string): Promise<Pod> {
  const labels = { app: 'web' };
  const { metadata, spec } = template(labels);
  // Anywhere, but this node first: there is no other yet.
  await client.create(deployments, {
    metadata: { namespace, name: 'web' },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata, spec: spec! } },
  });
  await client.create(pods, {
    metadata: { namespace, name: 'alone' },
    spec: { nodeName, containers: [{ name: 'c', image }] },
  });
  await whenAll(client, pods, { namespace }, (all) => all.length === 2 && all.every(isReady));
  return client.get(pods, { namespace, name: 'alone' });
}

test('a node that falls silent is Unknown, its Pods end Terminating and run elsewhere, and deleting it frees their names', async () => {
  const namespace = await makeNamespace();
  const lost = await startNode(cluster, 'lost', { clock });
  const alone = await startWorkloads(namespace, 'lost');
  for (const name of ['other-1', 'other-2']) await startNode(cluster, name, { clock });
  await lost.stop();
  const silentMs = clock.monotonic();
  const unknown = await when(client, nodes, { name: 'lost' }, (node) => hasCondition(node, 'Ready', 'Unknown'));
  const ready = unknown?.status?.conditions?.find(({ type }) => type === 'Ready');
  assert.partialDeepStrictEqual(ready, {
    reason: 'NodeStatusUnknown',
    message: 'Kubelet stopped posting node status.',
  });
  assert.ok(clock.monotonic() - silentMs >= 30_000);
  await when(client, nodes, { name: 'lost' }, (node) =>
    Boolean(node?.spec?.taints?.some(hasTaint('node.kubernetes.io/unreachable', 'NoExecute'))),
  );
  await when(client, pods, referenceTo(alone), (pod) => hasCondition(pod, 'Ready', 'False'));
  const going = await when(client, pods, referenceTo(alone), (pod) => pod?.metadata.deletionTimestamp !== undefined);
  assert.ok(clock.monotonic() - silentMs >= 300_000);
  assert.ok(hasCondition(going, 'DisruptionTarget'));
  await whenAll(client, pods, { namespace, labelSelector: 'app=web' }, (all) =>
    all.some((pod) => isRunning(pod) && pod.spec.nodeName !== 'lost'),
  );
  const { metadata } = await client.get(pods, referenceTo(alone));
  assert.equal(metadata.uid, alone.metadata.uid, 'nobody knows that it has stopped, so it stays');
  await client.delete(nodes, { name: 'lost' });
  await whenGone(client, pods, referenceTo(alone));
  await client.create(pods, { metadata: { namespace, name: 'alone' }, spec: { containers: [{ name: 'c', image }] } });
  await when(client, pods, referenceTo(alone), (pod) => pod !== undefined && isRunning(pod));
});

test('a node that is declared out of service loses its Pods at once', async () => {
  const namespace = await makeNamespace();
  const lost = await startNode(cluster, 'broken', { clock });
  const spec = { nodeName: 'broken', containers: [{ name: 'c', image }] };
  await client.create(pods, { metadata: { namespace, name: 'alone' }, spec });
  await when(client, pods, { namespace, name: 'alone' }, (pod) => pod !== undefined && isRunning(pod));
  await lost.stop();
  await when(client, nodes, { name: 'broken' }, (node) => hasCondition(node, 'Ready', 'Unknown'));
  const taint = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' } as const;
  await change(client, nodes, { name: 'broken' }, (node) => ({
    ...node,
    spec: { ...node.spec, taints: [...(node.spec?.taints ?? []), taint] },
  }));
  await whenGone(client, pods, { namespace, name: 'alone' });
});
