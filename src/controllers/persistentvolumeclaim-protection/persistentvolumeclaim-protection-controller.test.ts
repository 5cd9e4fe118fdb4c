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
