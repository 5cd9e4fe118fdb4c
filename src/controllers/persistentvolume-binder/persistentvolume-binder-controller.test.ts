import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type PersistentVolumeClaimSpec,
  type PersistentVolumeSpec,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../api/gen/core-v1.ts';
import { storageClasses } from '../../api/gen/storage-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runPersistentVolumeBinderController } from './persistentvolume-binder-controller.ts';

const addVolume = (cluster: MemoryCluster, name: string, storage: string, spec: Partial<PersistentVolumeSpec> = {}) =>
  cluster.client.create(persistentVolumes, {
    metadata: { name },
    spec: { capacity: { storage }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' }, ...spec },
  });
const addClaim = (
  cluster: MemoryCluster,
  name: string,
  storage: string,
  spec: Partial<PersistentVolumeClaimSpec> = {},
) =>
  cluster.client.create(persistentVolumeClaims, {
    metadata: { namespace: 'a', name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, storageClassName: '', ...spec },
  });
const volume = (cluster: MemoryCluster, name: string) => cluster.api.find(persistentVolumes, name);
const claim = (cluster: MemoryCluster, name: string) => cluster.api.find(persistentVolumeClaims, `a/${name}`);

async function start(): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  cluster.run(runPersistentVolumeBinderController);
  return cluster;
}

test('a claim gets the smallest volume that is large enough, and both sides say so', async () => {
  await using cluster = await start();
  await addVolume(cluster, 'large', '10Gi');
  await addVolume(cluster, 'fitting', '2Gi');
  await addVolume(cluster, 'small', '500Mi');
  await addClaim(cluster, 'c', '1Gi');
  await cluster.settle();
  assert.deepEqual([claim(cluster, 'c')?.spec.volumeName, claim(cluster, 'c')?.status?.phase], ['fitting', 'Bound']);
  assert.deepEqual(claim(cluster, 'c')?.status?.capacity, { storage: '2Gi' });
  assert.deepEqual(
    [volume(cluster, 'fitting')?.spec.claimRef?.name, volume(cluster, 'fitting')?.status?.phase],
    ['c', 'Bound'],
  );
  assert.equal(volume(cluster, 'large')?.status?.phase, 'Available');
  assert.equal(claim(cluster, 'c')?.metadata.annotations?.['pv.kubernetes.io/bind-completed'], 'yes');
  assert.deepEqual(cluster.complaints, []);
});

test('a volume that grows changes nothing in its claim: that is for who grows what lies on it', async () => {
  await using cluster = await start();
  await addVolume(cluster, 'v', '1Gi');
  await addClaim(cluster, 'c', '1Gi');
  await cluster.settle();
  const body = { spec: { capacity: { storage: '2Gi' } } };
  await cluster.client.patch(persistentVolumes, { name: 'v' }, { type: 'merge', body });
  await cluster.settle();
  assert.deepEqual(claim(cluster, 'c')?.status?.capacity, { storage: '1Gi' });
});

test('a claim waits for a volume and takes it when it comes', async () => {
  await using cluster = await start();
  await addClaim(cluster, 'c', '1Gi');
  await cluster.settle();
  assert.equal(claim(cluster, 'c')?.status?.phase, 'Pending');
  assert.ok(cluster.reasons().includes('FailedBinding'));
  await addVolume(cluster, 'v', '1Gi');
  await cluster.settle();
  assert.equal(claim(cluster, 'c')?.status?.phase, 'Bound');
});

test('two claims never share a volume', async () => {
  await using cluster = await start();
  await addVolume(cluster, 'v', '1Gi');
  await addClaim(cluster, 'one', '1Gi');
  await addClaim(cluster, 'two', '1Gi');
  await cluster.settle();
  assert.deepEqual([claim(cluster, 'one')?.status?.phase, claim(cluster, 'two')?.status?.phase].sort(), [
    'Bound',
    'Pending',
  ]);
});

test('a volume whose claim is gone is Released, one whose claim never came is Available', async () => {
  await using cluster = await start();
  await addVolume(cluster, 'v', '1Gi');
  await addClaim(cluster, 'c', '1Gi');
  await cluster.settle();
  await cluster.client.delete(persistentVolumeClaims, { namespace: 'a', name: 'c' });
  await cluster.settle();
  assert.equal(volume(cluster, 'v')?.status?.phase, 'Released');
  await addClaim(cluster, 'c', '1Gi');
  await cluster.settle();
  assert.equal(claim(cluster, 'c')?.status?.phase, 'Pending');
});

test('a claim whose volume vanished is Lost', async () => {
  await using cluster = await start();
  await addVolume(cluster, 'v', '1Gi');
  await addClaim(cluster, 'c', '1Gi');
  await cluster.settle();
  cluster.api.erase(persistentVolumes, 'v');
  await cluster.settle();
  assert.equal(claim(cluster, 'c')?.status?.phase, 'Lost');
  assert.ok(cluster.reasons().includes('ClaimLost'));
});

test('a class with a provisioner has it asked; one that waits for a consumer waits', async () => {
  await using cluster = await start();
  await cluster.client.create(storageClasses, {
    metadata: { name: 'now' },
    provisioner: 'example.com/disk',
    volumeBindingMode: 'Immediate',
  });
  await cluster.client.create(storageClasses, {
    metadata: { name: 'later' },
    provisioner: 'example.com/disk',
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  await addClaim(cluster, 'now', '1Gi', { storageClassName: 'now' });
  await addClaim(cluster, 'later', '1Gi', { storageClassName: 'later' });
  await cluster.settle();
  assert.equal(
    claim(cluster, 'now')?.metadata.annotations?.['volume.kubernetes.io/storage-provisioner'],
    'example.com/disk',
  );
  assert.equal(claim(cluster, 'later')?.metadata.annotations?.['volume.kubernetes.io/storage-provisioner'], undefined);
  const told = new Set(cluster.reasons());
  assert.ok(told.has('ExternalProvisioning') && told.has('WaitForFirstConsumer'), [...told].join());
});

test('a claim without a class gets the default one, also when that comes later; one that wants none does not', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runPersistentVolumeBinderController);
  const create = (name: string, storageClassName?: string) =>
    cluster.client.create(persistentVolumeClaims, {
      metadata: { namespace: 'd', name },
      spec: { accessModes: ['ReadWriteOnce'], ...(storageClassName === undefined ? {} : { storageClassName }) },
    });
  await create('any');
  await create('none', '');
  await cluster.settle();
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  await cluster.client.create(storageClasses, { metadata: { name: 'usual', annotations }, provisioner: 'p' });
  await cluster.settle();
  const classOf = (name: string) => cluster.api.find(persistentVolumeClaims, `d/${name}`)?.spec?.storageClassName;
  assert.deepEqual([classOf('any'), classOf('none')], ['usual', '']);
});
