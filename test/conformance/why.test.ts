/** `coracle why` on real states: a cluster with simulated nodes, and what is said of what does not come to be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deployments, statefulSets } from '../../src/api/gen/apps-v1.ts';
import { configMaps, namespaces, nodes, persistentVolumeClaims, pods } from '../../src/api/gen/core-v1.ts';
import { sleep } from '../../src/base/clock.ts';
import { type Explanation, explanationText } from '../../src/cli/why/explanation.ts';
import { explain, subjectFrom } from '../../src/cli/why/why.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { startCluster, when, whenAll, whenGone } from './cluster.ts';
import { fastClock } from './fast-clock.ts';
import { hasCondition, isRunning, startNode } from './nodes.ts';
import { referenceTo } from './operations.ts';
import { image, missingImage, template } from './workloads.ts';

const clock = fastClock(30);
const cluster = await startCluster({ clock });
const { client, namespace: makeNamespace } = cluster;
await startNode(cluster, 'node-1', { clock });

const containers = [{ name: 'c', image }];

const why = (word: string, namespace?: string): Promise<Explanation> =>
  subjectFrom(client, [word], { namespace }).then((subject) => explain(client, subject, { nowMs: clock.now() }));

async function textOf(word: string, namespace?: string): Promise<string> {
  return explanationText(await why(word, namespace), clock.now());
}

/** Asks again after each change of the objects until the answer is right: components tell in their own time. */
async function assertTold(word: string, namespace: string | undefined, right: RegExp): Promise<void> {
  await eventually(() => textOf(word, namespace), right, { pause: () => sleep(clock, 1500) });
}

test('a Pod that no node would take says what is missing, and a claim that is unbound why', async () => {
  const namespace = await makeNamespace();
  await client.create(persistentVolumeClaims, {
    metadata: { namespace, name: 'data' },
    spec: { storageClassName: 'fast', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  const made = await client.create(pods, { metadata: { namespace, name: 'web' }, spec: { volumes, containers } });
  await when(client, pods, referenceTo(made), (pod) => hasCondition(pod, 'PodScheduled', 'False'));
  const text = await textOf('pod/web', namespace);
  assert.match(text, /^pod\/web in \S+ is Pending: it has no node\n/);
  assert.match(text, /unbound immediate PersistentVolumeClaims.*\[condition PodScheduled/);
  assert.match(text, /\n {2}persistentvolumeclaim\/data in \S+ is Pending\n {4}- there is no StorageClass fast/);
  const { well, because } = await why('po/web', namespace);
  assert.equal(well, false);
  assert.deepEqual(
    because.map(({ subject }) => subject.kind),
    ['persistentvolumeclaim'],
  );
});

test('a rollout that is stuck leads to its Pod, and that to its image', async () => {
  const namespace = await makeNamespace();
  const labels = { app: 'web' };
  const made = await client.create(deployments, {
    metadata: { namespace, name: 'web' },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: template(labels, missingImage) },
  });
  await whenAll(client, pods, { namespace }, (all) =>
    all.some((pod) => pod.status?.containerStatuses?.[0]?.state?.waiting),
  );
  await when(client, deployments, referenceTo(made), (object) => (object?.status?.updatedReplicas ?? 0) === 1);
  await assertTold(
    'deploy/web',
    namespace,
    /^deployment\/web in \S+ is not rolled out\n[\s\S]*\n {2}pod\/web-\S+ in \S+ is Pending on node node-1\n {4}- (ErrImagePull|ImagePullBackOff)/,
  );
});

test('a StatefulSet tells which Pod it waits for, which no condition does', async () => {
  const namespace = await makeNamespace();
  const labels = { app: 'db' };
  await client.create(statefulSets, {
    metadata: { namespace, name: 'db' },
    spec: {
      replicas: 2,
      serviceName: 'db',
      selector: { matchLabels: labels },
      template: template(labels, missingImage),
    },
  });
  await assertTold('sts/db', namespace, /Pod db-0 is not Ready; the next step waits for it \[statefulset-controller/);
});

test('a claim that is being deleted tells who uses it', async () => {
  const namespace = await makeNamespace();
  const claim = await client.create(persistentVolumeClaims, {
    metadata: { namespace, name: 'data' },
    spec: {
      volumeName: 'none',
      storageClassName: '',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
    },
  });
  await when(
    client,
    persistentVolumeClaims,
    referenceTo(claim),
    (object) => (object?.metadata.finalizers ?? []).length > 0,
  );
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  await client.create(pods, {
    metadata: { namespace, name: 'user' },
    spec: { nodeName: 'node-1', volumes, containers },
  });
  await client.delete(persistentVolumeClaims, referenceTo(claim));
  await assertTold(
    'pvc/data',
    namespace,
    /is Terminating\n[\s\S]*it is used by a Pod and goes when they have ended[\s\S]*\n {2}pod\/user/,
  );
});

test('a namespace that will not go names what is left in it', async () => {
  const namespace = await makeNamespace();
  await client.create(configMaps, { metadata: { namespace, name: 'kept', finalizers: ['example.com/mine'] } });
  await client.delete(namespaces, { name: namespace });
  await assertTold(
    `ns/${namespace}`,
    undefined,
    /is Terminating\n[\s\S]*example\.com\/mine[\s\S]*\[condition NamespaceFinalizersRemaining/,
  );
  await client.patch(
    configMaps,
    { namespace, name: 'kept' },
    { type: 'merge', body: { metadata: { finalizers: null } } },
  );
  await whenGone(client, namespaces, { name: namespace });
});

test('an owner in foreground deletion tells which dependents it waits for', async () => {
  const namespace = await makeNamespace();
  const owner = await client.create(configMaps, { metadata: { namespace, name: 'owner' } });
  const reference = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: 'owner',
    uid: owner.metadata.uid!,
    blockOwnerDeletion: true,
  };
  await client.create(configMaps, {
    metadata: { namespace, name: 'dependent', finalizers: ['example.com/mine'], ownerReferences: [reference] },
  });
  await client.delete(configMaps, referenceTo(owner), { propagationPolicy: 'Foreground' });
  await assertTold(
    'cm/owner',
    namespace,
    /waits for a dependent to go first \[garbage-collector-controller[\s\S]*configmap\/dependent[\s\S]*example\.com\/mine/,
  );
});

test('a node that is not heard of, evictions that a rate holds back, and a Pod that nobody knows to have stopped', async () => {
  const namespace = await makeNamespace();
  const lost = await startNode(cluster, 'lost', { clock });
  const made = await client.create(pods, {
    metadata: { namespace, name: 'alone' },
    spec: { nodeName: 'lost', containers },
  });
  await when(client, pods, referenceTo(made), (pod) => pod !== undefined && isRunning(pod));
  // Of zone "lost" none is left: three more that never were.
  for (const name of ['ghost-1', 'ghost-2', 'ghost-3']) await client.create(nodes, { metadata: { name }, spec: {} });
  await lost.stop();
  await when(client, nodes, { name: 'lost' }, (node) => hasCondition(node, 'Ready', 'Unknown'));
  await assertTold(
    'node/lost',
    undefined,
    /^node\/lost is not heard of\n {2}- NodeStatusUnknown: Kubelet stopped posting node status\./,
  );
  await assertTold('node/ghost-3', undefined, /too many nodes of its zone are unhealthy|nodes a second in its zone/);
  await client.delete(pods, referenceTo(made));
  await assertTold(
    'pod/alone',
    namespace,
    /^pod\/alone in \S+ is Terminating\n {2}- node lost does not answer, and until it is known that the Pod has stopped it stays/,
  );
});

test('what is well says so, and what is not there is not found', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(pods, {
    metadata: { namespace, name: 'fine' },
    spec: { nodeName: 'node-1', containers },
  });
  await when(client, pods, referenceTo(made), (pod) => hasCondition(pod, 'Ready'));
  assert.deepEqual(await why('pod/fine', namespace), {
    subject: { kind: 'pod', namespace, name: 'fine' },
    state: 'is Running and Ready',
    well: true,
    reasons: [],
    because: [],
  });
  await assert.rejects(why('pod/none', namespace), { message: 'pod "none" not found' });
  await assert.rejects(subjectFrom(client, ['thing/none'], {}), {
    message: 'the server doesn\'t have a resource type "thing"',
  });
});
