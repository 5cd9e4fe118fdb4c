import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PersistentVolumeClaim, persistentVolumeClaims, persistentVolumes } from '../../api/gen/core-v1.ts';
import { storageClasses } from '../../api/gen/storage-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runLocalProvisioner } from './local-provisioner.ts';

const root = '/data/volumes';
const rootOf = (nodeName: string) => ({ a: root, 'a-2': '/data/nodes/a-2/volumes' })[nodeName];

/** A provisioner of the nodes `a` and `a-2`; `folders` is what there is on it. */
async function start(reclaimPolicy: 'Delete' | 'Retain' = 'Delete') {
  const cluster = new MemoryCluster();
  const folders = new Set<string>();
  await cluster.client.create(storageClasses, {
    metadata: { name: 'local' },
    provisioner: 'coracle.io/local',
    reclaimPolicy,
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  const make = async (path: string) => void folders.add(path);
  const remove = async (path: string) => void folders.delete(path);
  cluster.run((context) => runLocalProvisioner(context, { nodeName: 'a', rootOf, folders: { make, remove } }));
  await cluster.settle();
  return { cluster, folders, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}

async function ask(
  cluster: MemoryCluster,
  node: string | undefined,
  spec: Partial<PersistentVolumeClaim['spec']> = {},
) {
  const annotations = {
    'volume.kubernetes.io/storage-provisioner': 'coracle.io/local',
    ...(node ? { 'volume.kubernetes.io/selected-node': node } : {}),
  };
  const claim = await cluster.client.create(persistentVolumeClaims, {
    metadata: { namespace: 'd', name: 'data', annotations },
    spec: {
      storageClassName: 'local',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      ...spec,
    },
  });
  await cluster.settle();
  return claim;
}

test('a further node of the machine has its own volumes, which are taken back from there', async () => {
  await using started = await start();
  const { cluster, folders } = started;
  const { metadata } = await ask(cluster, 'a-2');
  const name = `pvc-${metadata.uid}`;
  assert.deepEqual([...folders], [`/data/nodes/a-2/volumes/${name}`]);
  const [volume] = cluster.api.all(persistentVolumes);
  assert.deepEqual(volume?.spec?.nodeAffinity?.required?.nodeSelectorTerms, [
    { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['a-2'] }] },
  ]);
  cluster.api.alter(persistentVolumes, name, (released) => {
    released.status = { phase: 'Released' };
  });
  await cluster.settle();
  assert.deepEqual([[...folders], cluster.api.all(persistentVolumes)], [[], []]);
});

test('a claim of a class that somebody else provides gets nothing, whatever it says itself', async () => {
  await using started = await start();
  const { cluster, folders } = started;
  await cluster.client.create(storageClasses, { metadata: { name: 'other' }, provisioner: 'example.com/disks' });
  await ask(cluster, 'a', { storageClassName: 'other' });
  assert.deepEqual([[...folders], cluster.api.all(persistentVolumes)], [[], []]);
});

test('a claim whose Pod comes to this node gets a folder there, and a volume that says so', async () => {
  await using started = await start();
  const { cluster, folders } = started;
  const { metadata } = await ask(cluster, 'a');
  const path = `${root}/pvc-${metadata.uid}`;
  assert.deepEqual([...folders], [path]);
  const [volume] = cluster.api.all(persistentVolumes);
  assert.partialDeepStrictEqual(volume?.spec, {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Delete',
    storageClassName: 'local',
    local: { path },
    claimRef: { namespace: 'd', name: 'data', uid: metadata.uid },
  });
  assert.deepEqual(volume?.spec?.nodeAffinity?.required?.nodeSelectorTerms[0]?.matchExpressions?.[0]?.values, ['a']);
  assert.deepEqual(cluster.reasons('PersistentVolumeClaim/data'), ['Provisioning', 'ProvisioningSucceeded']);
});

test('a claim whose Pod goes elsewhere, or nowhere yet, is not ours', async () => {
  for (const node of ['b', undefined]) {
    await using started = await start();
    await ask(started.cluster, node);
    assert.deepEqual(started.cluster.api.all(persistentVolumes), []);
  }
});

test('what a folder cannot be is refused in words', async () => {
  await using started = await start();
  await ask(started.cluster, 'a', { volumeMode: 'Block' });
  assert.deepEqual(started.cluster.api.all(persistentVolumes), []);
  assert.match(started.cluster.events[0]?.message ?? '', /a folder is no block device/);
});

const release = (cluster: MemoryCluster, name: string) =>
  cluster.api.alter(persistentVolumes, name, (volume) => {
    volume.status = { phase: 'Released' };
  });

test('a volume that is given back goes with its folder, unless its class retains it', async () => {
  for (const [policy, left] of [
    ['Delete', 0],
    ['Retain', 1],
  ] as const) {
    await using started = await start(policy);
    const { cluster, folders } = started;
    const { metadata } = await ask(cluster, 'a');
    release(cluster, `pvc-${metadata.uid}`);
    await cluster.settle();
    assert.deepEqual([folders.size, cluster.api.all(persistentVolumes).length], [left, left], policy);
  }
});

test('an object that names another folder cannot have it removed', async () => {
  await using started = await start();
  const { cluster, folders } = started;
  folders.add('/etc');
  const { metadata } = await ask(cluster, 'a');
  cluster.api.alter(persistentVolumes, `pvc-${metadata.uid}`, (volume) => {
    volume.spec!.local = { path: '/etc' };
  });
  release(cluster, `pvc-${metadata.uid}`);
  await cluster.settle();
  assert.ok(folders.has('/etc'));
});
