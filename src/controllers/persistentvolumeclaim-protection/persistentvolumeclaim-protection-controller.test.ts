import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims, pods } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runPersistentVolumeClaimProtectionController } from './persistentvolumeclaim-protection-controller.ts';

test('a claim in use outlives its deletion until the Pod has ended', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runPersistentVolumeClaimProtectionController);
  const at = { namespace: 'a', name: 'c' };
  await cluster.client.create(persistentVolumeClaims, { metadata: at, spec: {} });
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }];
  await cluster.client.create(pods, {
    metadata: { namespace: 'a', name: 'p' },
    spec: { nodeName: 'n', containers: [], volumes },
  });
  await cluster.settle();
  assert.deepEqual(cluster.api.find(persistentVolumeClaims, 'a/c')?.metadata.finalizers, [
    'kubernetes.io/pvc-protection',
  ]);
  await cluster.client.delete(persistentVolumeClaims, at);
  await cluster.settle();
  assert.ok(cluster.api.find(persistentVolumeClaims, 'a/c'));
  cluster.api.alter(pods, 'a/p', (pod) => {
    pod.status = { phase: 'Succeeded' };
  });
  await cluster.settle();
  assert.equal(cluster.api.find(persistentVolumeClaims, 'a/c'), undefined);
});

test('Pods that no node has taken on, that use other claims, or that live elsewhere, keep no claim', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runPersistentVolumeClaimProtectionController);
  const at = { namespace: 'a', name: 'c' };
  await cluster.client.create(persistentVolumeClaims, { metadata: at, spec: {} });
  const use = (claimName: string) => [{ name: 'v', persistentVolumeClaim: { claimName } }];
  const add = (namespace: string, name: string, claimName: string, nodeName?: string) =>
    cluster.client.create(pods, {
      metadata: { namespace, name },
      spec: { containers: [], volumes: use(claimName), ...(nodeName ? { nodeName } : {}) },
    });
  await add('a', 'unscheduled', 'c');
  await add('a', 'other', 'd', 'n');
  await add('b', 'elsewhere', 'c', 'n');
  await cluster.settle();
  await cluster.client.delete(persistentVolumeClaims, at);
  await cluster.settle();
  assert.equal(cluster.api.find(persistentVolumeClaims, 'a/c'), undefined);
});

test('the claim of an ephemeral volume is kept by its own Pod', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runPersistentVolumeClaimProtectionController);
  const at = { namespace: 'a', name: 'p-scratch' };
  await cluster.client.create(persistentVolumeClaims, { metadata: at, spec: {} });
  const volumes = [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } }];
  await cluster.client.create(pods, {
    metadata: { namespace: 'a', name: 'p' },
    spec: { nodeName: 'n', containers: [], volumes },
  });
  await cluster.settle();
  await cluster.client.delete(persistentVolumeClaims, at);
  await cluster.settle();
  assert.deepEqual(
    cluster.causes.all().map(({ about, reason, waitsFor }) => [about.name, reason, waitsFor?.[0]?.name]),
    [['p-scratch', 'InUse', 'p']],
  );
});
