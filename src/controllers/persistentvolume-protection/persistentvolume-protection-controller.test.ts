import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumes } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runPersistentVolumeProtectionController } from './persistentvolume-protection-controller.ts';

test('a bound volume outlives its deletion until it is released', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runPersistentVolumeProtectionController);
  await cluster.client.create(persistentVolumes, { metadata: { name: 'v' }, spec: {} });
  cluster.api.alter(persistentVolumes, 'v', (volume) => {
    volume.status = { phase: 'Bound' };
  });
  await cluster.settle();
  await cluster.client.delete(persistentVolumes, { name: 'v' });
  await cluster.settle();
  assert.ok(cluster.api.find(persistentVolumes, 'v')?.metadata.deletionTimestamp);
  cluster.api.alter(persistentVolumes, 'v', (volume) => {
    volume.status = { phase: 'Released' };
  });
  await cluster.settle();
  assert.equal(cluster.api.find(persistentVolumes, 'v'), undefined);
});

test('a volume nobody is bound to goes at once', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runPersistentVolumeProtectionController);
  await cluster.client.create(persistentVolumes, { metadata: { name: 'v' }, spec: {} });
  await cluster.settle();
  assert.deepEqual(cluster.api.find(persistentVolumes, 'v')?.metadata.finalizers, ['kubernetes.io/pv-protection']);
  await cluster.client.delete(persistentVolumes, { name: 'v' });
  await cluster.settle();
  assert.equal(cluster.api.find(persistentVolumes, 'v'), undefined);
});
