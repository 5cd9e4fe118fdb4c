import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims, persistentVolumes } from '../../api/gen/core-v1.ts';
import { volumeAttributesClasses } from '../../api/gen/storage-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runVolumeAttributesClassProtectionController } from './volumeattributesclass-protection-controller.ts';

const attributesClass = { metadata: { name: 'gold' }, driverName: 'example.com' };

test('a class that nothing names goes when it is deleted', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runVolumeAttributesClassProtectionController);
  await cluster.client.create(volumeAttributesClasses, attributesClass);
  await cluster.settle();
  const { finalizers } = cluster.api.find(volumeAttributesClasses, 'gold')!.metadata;
  assert.deepEqual(finalizers, ['kubernetes.io/vac-protection']);
  await cluster.client.delete(volumeAttributesClasses, { name: 'gold' });
  await cluster.settle();
  assert.equal(cluster.api.find(volumeAttributesClasses, 'gold'), undefined);
});

test('a class outlives its deletion until no volume names it and no claim wants, has or moves to it', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runVolumeAttributesClassProtectionController);
  const { client, api } = cluster;
  await client.create(volumeAttributesClasses, attributesClass);
  await client.create(persistentVolumes, { metadata: { name: 'v' }, spec: { volumeAttributesClassName: 'gold' } });
  const spec = { volumeAttributesClassName: 'gold' };
  await client.create(persistentVolumeClaims, { metadata: { namespace: 'a', name: 'wants' }, spec });
  for (const name of ['has', 'moves']) {
    await client.create(persistentVolumeClaims, { metadata: { namespace: 'a', name }, spec: {} });
  }
  api.alter(persistentVolumeClaims, 'a/has', (claim) => {
    claim.status = { currentVolumeAttributesClassName: 'gold' };
  });
  api.alter(persistentVolumeClaims, 'a/moves', (claim) => {
    claim.status = { modifyVolumeStatus: { targetVolumeAttributesClassName: 'gold', status: 'InProgress' } };
  });
  await cluster.settle();
  await client.delete(volumeAttributesClasses, { name: 'gold' });
  const remove = [
    () => client.delete(persistentVolumes, { name: 'v' }),
    () => client.delete(persistentVolumeClaims, { namespace: 'a', name: 'wants' }),
    () => client.delete(persistentVolumeClaims, { namespace: 'a', name: 'has' }),
    async () =>
      api.alter(persistentVolumeClaims, 'a/moves', (claim) => {
        claim.status = {};
      }),
  ];
  for (const next of remove) {
    await cluster.settle();
    assert.ok(api.find(volumeAttributesClasses, 'gold'));
    await next();
  }
  await cluster.settle();
  assert.equal(api.find(volumeAttributesClasses, 'gold'), undefined);
});
