import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PersistentVolumeSpec, persistentVolumeClaims, persistentVolumes } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runPersistentVolumeExpanderController } from './persistentvolume-expander-controller.ts';

/** A claim of 1Gi that is bound to a volume of this source. */
async function start(source: Partial<PersistentVolumeSpec>): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  const { metadata } = await cluster.client.create(persistentVolumeClaims, {
    metadata: { namespace: 'd', name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: 'v' },
  });
  const claimRef = { namespace: 'd', name: 'c', uid: metadata.uid };
  await cluster.client.create(persistentVolumes, {
    metadata: { name: 'v' },
    spec: { capacity: { storage: '1Gi' }, claimRef, ...source },
  });
  cluster.api.alter(persistentVolumeClaims, 'd/c', (claim) => {
    claim.status = { phase: 'Bound', capacity: { storage: '1Gi' } };
  });
  cluster.run(runPersistentVolumeExpanderController);
  await cluster.settle();
  return cluster;
}

async function ask(cluster: MemoryCluster, storage: string): Promise<void> {
  const body = { spec: { resources: { requests: { storage } } } };
  await cluster.client.patch(persistentVolumeClaims, { namespace: 'd', name: 'c' }, { type: 'merge', body });
  await cluster.settle();
}

const annotations = (cluster: MemoryCluster) => cluster.api.find(persistentVolumeClaims, 'd/c')?.metadata.annotations;
const messages = (cluster: MemoryCluster) => cluster.events.map(({ reason, message }) => `${reason}: ${message}`);
const aws: Partial<PersistentVolumeSpec> = { awsElasticBlockStore: { volumeID: 'vol-1' } };

test('a claim that asks for no more is left alone', async () => {
  await using cluster = await start(aws);
  assert.deepEqual([messages(cluster), annotations(cluster)], [[], undefined]);
});

test('a volume of a driver that moved to CSI: the claim names the resizer that took over', async () => {
  await using cluster = await start(aws);
  await ask(cluster, '2Gi');
  assert.deepEqual(messages(cluster), [
    'ExternalExpanding: CSI migration enabled for kubernetes.io/aws-ebs; waiting for external resizer to expand the pvc',
  ]);
  assert.deepEqual(annotations(cluster), { 'volume.kubernetes.io/storage-resizer': 'ebs.csi.aws.com' });
});

test('a volume of a CSI driver, or of none that can grow: somebody outside is waited for, until the claim has what it asks for', async () => {
  for (const source of [{ csi: { driver: 'x.example.com', volumeHandle: 'h' } }, { hostPath: { path: '/x' } }]) {
    await using cluster = await start(source);
    await ask(cluster, '2Gi');
    assert.deepEqual(messages(cluster), ['ExternalExpanding: waiting for an external controller to expand this PVC']);
    assert.equal(annotations(cluster), undefined);
    assert.deepEqual(
      cluster.causes.all().map(({ about, reason }) => [about.kind, about.name, reason]),
      [['PersistentVolumeClaim', 'c', 'ExternalExpanding']],
    );
    cluster.api.alter(persistentVolumeClaims, 'd/c', (claim) => {
      claim.status = { phase: 'Bound', capacity: { storage: '2Gi' } };
    });
    await cluster.settle();
    assert.deepEqual(cluster.causes.all(), []);
    assert.equal(cluster.events.length, 1);
  }
});

test('a volume that belongs to another claim is none of its own to grow', async () => {
  await using cluster = await start({ claimRef: { namespace: 'd', name: 'c', uid: 'of-one-before' } });
  await ask(cluster, '2Gi');
  assert.match(cluster.complaints[0] ?? '', /persistent Volume is not bound to PVC being updated : d\/c/);
  assert.deepEqual(messages(cluster), []);
});
