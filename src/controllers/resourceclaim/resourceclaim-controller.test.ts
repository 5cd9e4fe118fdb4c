import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pods } from '../../api/gen/core-v1.ts';
import { type ResourceClaim, resourceClaims, resourceClaimTemplates } from '../../api/gen/resource-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runResourceClaimController } from './resourceclaim-controller.ts';

/** A Pod that wants what a template describes. */
async function start(withTemplate = true): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  if (withTemplate) await addTemplate(cluster);
  await cluster.client.create(pods, {
    metadata: { namespace: 'd', name: 'p' },
    spec: { containers: [], resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'one-gpu' }] },
  });
  cluster.run(runResourceClaimController);
  await cluster.settle();
  return cluster;
}

const addTemplate = (cluster: MemoryCluster) =>
  cluster.client.create(resourceClaimTemplates, {
    metadata: { namespace: 'd', name: 'one-gpu' },
    spec: { metadata: { labels: { of: 'template' } }, spec: {} },
  });
const claims = (cluster: MemoryCluster): readonly ResourceClaim[] => cluster.api.all(resourceClaims);
const pod = (cluster: MemoryCluster) => cluster.api.find(pods, 'd/p');

test('a claim is made for the Pod from its template, once, and the Pod is told its name', async () => {
  await using cluster = await start();
  const [claim] = claims(cluster);
  assert.equal(claims(cluster).length, 1);
  assert.match(claim?.metadata.name ?? '', /^p-gpu-/);
  assert.equal(claim?.metadata.annotations?.['resource.kubernetes.io/pod-claim-name'], 'gpu');
  assert.equal(claim?.metadata.labels?.of, 'template');
  assert.equal(claim?.metadata.ownerReferences?.[0]?.uid, pod(cluster)?.metadata.uid);
  assert.deepEqual(pod(cluster)?.status?.resourceClaimStatuses, [
    { name: 'gpu', resourceClaimName: claim?.metadata.name },
  ]);
});

test('a template that is missing is told, and waited for', async () => {
  await using cluster = await start(false);
  assert.match(
    cluster.events[0]?.message ?? '',
    /^PodResourceClaim gpu: resource claim template "one-gpu": .* not found$/,
  );
  await addTemplate(cluster);
  await cluster.clock.advance(60_000);
  assert.equal(claims(cluster).length, 1);
});

/** As the scheduler leaves it: with a device, reserved for the Pod. */
function allocate(cluster: MemoryCluster): void {
  const [claim] = claims(cluster);
  cluster.api.alter(resourceClaims, `d/${claim?.metadata.name}`, (live) => {
    live.metadata.finalizers = ['resource.kubernetes.io/delete-protection'];
    live.status = {
      allocation: {},
      reservedFor: [{ resource: 'pods', name: 'p', uid: pod(cluster)?.metadata.uid ?? '' }],
    };
  });
}

test('a claim is reserved as long as its Pod may run; with its end the device is free, and the claim goes', async () => {
  await using cluster = await start();
  allocate(cluster);
  await cluster.settle();
  assert.equal(claims(cluster)[0]?.status?.reservedFor?.length, 1);
  cluster.api.alter(pods, 'd/p', (live) => {
    live.status = { ...live.status, phase: 'Succeeded' };
  });
  await cluster.settle();
  await cluster.settle();
  assert.deepEqual(claims(cluster), []);
});

test('a claim that somebody made for himself is freed by a Pod that is gone, and stays', async () => {
  await using cluster = new MemoryCluster();
  await cluster.client.create(resourceClaims, { metadata: { namespace: 'd', name: 'own' }, spec: {} });
  cluster.api.alter(resourceClaims, 'd/own', (live) => {
    live.metadata.finalizers = ['resource.kubernetes.io/delete-protection'];
    live.status = { allocation: {}, reservedFor: [{ resource: 'pods', name: 'gone', uid: 'u' }] };
  });
  cluster.run(runResourceClaimController);
  await cluster.settle();
  const [claim] = claims(cluster);
  assert.deepEqual(claim?.status?.reservedFor, []);
  assert.equal(claim?.status?.allocation, undefined);
  assert.deepEqual(claim?.metadata.finalizers, []);
});

test('a claim that is about to get devices keeps its protection', async () => {
  await using cluster = await start();
  const [claim] = claims(cluster);
  cluster.api.alter(resourceClaims, `d/${claim?.metadata.name}`, (live) => {
    live.metadata.finalizers = ['resource.kubernetes.io/delete-protection'];
  });
  await cluster.settle();
  assert.deepEqual(claims(cluster)[0]?.metadata.finalizers, ['resource.kubernetes.io/delete-protection']);
});

test('a Pod that was bound without the scheduler uses its claims all the same', async () => {
  await using cluster = await start();
  const [claim] = claims(cluster);
  cluster.api.alter(resourceClaims, `d/${claim?.metadata.name}`, (live) => {
    live.status = { allocation: {} };
  });
  cluster.api.alter(pods, 'd/p', (live) => {
    live.spec = { ...live.spec, nodeName: 'n' };
  });
  await cluster.settle();
  const uid = pod(cluster)?.metadata.uid;
  assert.deepEqual(claims(cluster)[0]?.status?.reservedFor, [{ resource: 'pods', name: 'p', uid }]);
});
