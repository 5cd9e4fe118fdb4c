/** The objects of storage, and Pods that name volumes of CSI drivers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
} from '../../src/api/gen/core-v1.ts';
import {
  type CSIDriver,
  type CSINode,
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  storageClasses,
  type VolumeAttachment,
  volumeAttachments,
  volumeAttributesClasses,
} from '../../src/api/gen/storage-v1.ts';
import { isAlreadyExists, isNotFound } from '../../src/client/index.ts';
import { startCluster } from './cluster.ts';
import {
  annotate,
  assertDeleted,
  assertDiscovered,
  assertNewer,
  assertOperations,
  assertReadAndPatched,
  assertSubresourceRead,
  assertUpdatedAndCollected,
  assertValidVersion,
  change,
  referenceTo,
} from './operations.ts';

const { client, namespace: makeNamespace } = await startCluster();

test('[sig-storage] StorageClasses CSI Conformance should run through the lifecycle of a StorageClass [Conformance]', async () => {
  const make = () =>
    client.create(storageClasses, { metadata: { generateName: 'e2e-' }, provisioner: 'e2e-fake-provisioner' });
  const first = await make();
  await assertReadAndPatched(client, storageClasses, first);
  await assertDeleted(client, storageClasses, first);
  await make();
  await assertUpdatedAndCollected(client, storageClasses, [await make()]);
});

test('[sig-storage] VolumeAttributesClass [FeatureGate:VolumeAttributesClass] should run through the lifecycle of a VolumeAttributesClass [Conformance]', async () => {
  const make = () =>
    client.create(volumeAttributesClasses, {
      metadata: { generateName: 'e2e-' },
      driverName: 'e2e-fake-csi-driver',
      parameters: { foo: 'bar' },
    });
  const first = await make();
  await assertReadAndPatched(client, volumeAttributesClasses, first);
  await assertDeleted(client, volumeAttributesClasses, first);
  await make();
  await assertUpdatedAndCollected(client, volumeAttributesClasses, [await make()]);
});

test('[sig-storage] CSINodes CSI Conformance should run through the lifecycle of a csinode [Conformance]', async () => {
  // Upstream's sends no drivers either, which Go writes as null.
  const csiNode = (name: string) => ({ metadata: { name }, spec: { drivers: null } }) as unknown as CSINode;
  const first = await client.create(csiNodes, csiNode('e2e-csinode-1'));
  await assertReadAndPatched(client, csiNodes, first);
  await assertDeleted(client, csiNodes, first);
  await client.create(csiNodes, csiNode('e2e-csinode-2'));
  await assertUpdatedAndCollected(client, csiNodes, [await client.create(csiNodes, csiNode('e2e-csinode-3'))]);
});

const attachment = (name: string): VolumeAttachment => ({
  metadata: { name },
  spec: { attacher: 'e2e-test.storage.k8s.io', nodeName: 'a-node', source: { persistentVolumeName: `pv-${name}` } },
  status: { attached: false },
});

test('[sig-storage] VolumeAttachment Conformance should run through the lifecycle of a VolumeAttachment [Conformance]', async () => {
  const make = (name: string) => client.create(volumeAttachments, attachment(name));
  const first = await make('va-1');
  await assertReadAndPatched(client, volumeAttachments, first);
  await assertDeleted(client, volumeAttachments, first);
  await make('va-bystander');
  await assertUpdatedAndCollected(client, volumeAttachments, [await make('va-2'), await make('va-3')]);
});

test('[sig-storage] VolumeAttachment Conformance should apply changes to a volumeattachment status [Conformance]', async () => {
  const created = await client.create(volumeAttachments, attachment('va-status'));
  const ref = referenceTo(created);
  await assertReadAndPatched(client, volumeAttachments, created);
  const read = await assertSubresourceRead(client, volumeAttachments, created);
  assert.equal(read.status?.attached, false);
  const body = { status: { attached: true } };
  const patched = await client.patch(volumeAttachments, ref, { type: 'merge', body }, { subresource: 'status' });
  assert.equal(patched.status?.attached, true);
  const detach = (current: VolumeAttachment) => ({ ...current, status: { attached: false } });
  const updated = await change(client, volumeAttachments, ref, detach, 'status');
  assert.equal(updated.status?.attached, false);
  await assertDeleted(client, volumeAttachments, created);
});

test('[sig-storage] CSIInlineVolumes should run through the lifecycle of a CSIDriver [Conformance]', async () => {
  const driver = (name: string, volumeLifecycleModes: readonly string[]): CSIDriver => ({
    metadata: { name, labels: { 'e2e-test': 'inline' } },
    spec: { volumeLifecycleModes, fsGroupPolicy: 'ReadWriteOnceWithFSType' },
  });
  const first = await client.create(csiDrivers, driver('inline-driver-1', ['Ephemeral']));
  const second = await client.create(csiDrivers, driver('inline-driver-2', ['Persistent', 'Ephemeral']));
  for (const created of [first, second]) {
    assertValidVersion(created);
    assert.equal((await client.get(csiDrivers, referenceTo(created))).metadata.uid, created.metadata.uid);
  }
  await assert.rejects(client.create(csiDrivers, driver('inline-driver-1', ['Ephemeral'])), isAlreadyExists);
  await assertReadAndPatched(client, csiDrivers, second);
  const { items } = await client.list(csiDrivers, { labelSelector: 'e2e-test=inline' });
  assert.equal(items.length, 2);
  await assertDeleted(client, csiDrivers, first);
  await assertUpdatedAndCollected(client, csiDrivers, [second]);
});

test('[sig-storage] CSIStorageCapacity should support CSIStorageCapacities API operations [Conformance]', async () => {
  const namespace = await makeNamespace();
  const labels = { test: 'capacity' };
  await assertDiscovered(client, csiStorageCapacities);
  await assertOperations(client, csiStorageCapacities, {
    objects: ['csc1', 'csc2', 'csc3'].map((name) => ({
      metadata: { name, namespace, labels },
      storageClassName: 'e2e.example.com',
    })),
    bystander: { metadata: { name: 'bystander', namespace }, storageClassName: 'e2e.example.com' },
    labelSelector: 'test=capacity',
  });
});

test('[sig-storage] CSIInlineVolumes should support CSIVolumeSource in Pod API [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'pod-csi-inline-volumes' };
  const volumes = [
    { name: 'csi-inline-vol1', csi: { driver: 'e2e.example.com' } },
    { name: 'csi-inline-vol2', csi: { driver: 'e2e.example.com', fsType: 'ext4', readOnly: true } },
  ];
  const volumeMounts = [
    { name: 'csi-inline-vol1', mountPath: '/mnt/vol1' },
    { name: 'csi-inline-vol2', mountPath: '/mnt/vol2' },
  ];
  const pod = {
    metadata: ref,
    spec: { volumes, containers: [{ name: 'main', image: 'busybox', command: ['ls'], volumeMounts }] },
  };
  const created = await client.create(pods, pod);
  await assert.rejects(client.create(pods, pod), isAlreadyExists);
  const read = await client.get(pods, ref);
  assert.equal(read.metadata.uid, created.metadata.uid);
  assert.deepEqual(read.spec?.volumes?.slice(0, 2), volumes);
  assert.equal((await client.list(pods, { namespace })).items.length, 1);
  const patched = await annotate(client, pods, ref, 'patched');
  assert.equal(patched.metadata.annotations?.patched, 'true');
  assertNewer(patched, created);
  await client.delete(pods, ref);
  const left = await client.get(pods, ref).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
  assert.ok(left === undefined || left.metadata.deletionTimestamp !== undefined);
});

const volumeLabels = { 'e2e-pv-pool': 'conformance' };

/** A volume and a claim that fit each other, and nobody else's. */
function volumeAndClaim(namespace: string, name: string): readonly [PersistentVolume, PersistentVolumeClaim] {
  const volume: PersistentVolume = {
    metadata: { name: `${namespace}-${name}`, labels: volumeLabels },
    spec: {
      persistentVolumeReclaimPolicy: 'Retain',
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany'],
      storageClassName: namespace,
      csi: { driver: 'e2e-driver.example.com', volumeHandle: 'e2e-conformance' },
    },
  };
  const claim: PersistentVolumeClaim = {
    metadata: { name, namespace },
    spec: {
      accessModes: ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany'],
      resources: { requests: { storage: '1Gi' } },
      storageClassName: namespace,
    },
  };
  return [volume, claim];
}

async function createVolumeAndClaim(namespace: string, name: string) {
  const [volume, claim] = volumeAndClaim(namespace, name);
  const pair = {
    volume: await client.create(persistentVolumes, volume),
    claim: await client.create(persistentVolumeClaims, claim),
  };
  const listed = await client.list(persistentVolumes, { labelSelector: 'e2e-pv-pool=conformance' });
  assert.deepEqual(
    listed.items.map(({ metadata }) => metadata.uid),
    [pair.volume.metadata.uid],
  );
  assert.deepEqual(
    (await client.list(persistentVolumeClaims, { namespace })).items.map(({ metadata }) => metadata.uid),
    [pair.claim.metadata.uid],
  );
  return pair;
}

test('[sig-storage] PersistentVolumes CSI Conformance should run through the lifecycle of a PV and a PVC [Conformance]', async () => {
  const namespace = await makeNamespace();
  const first = await createVolumeAndClaim(namespace, 'first');
  await assertReadAndPatched(client, persistentVolumes, first.volume);
  await assertReadAndPatched(client, persistentVolumeClaims, first.claim);
  await assertDeleted(client, persistentVolumeClaims, first.claim);
  await assertDeleted(client, persistentVolumes, first.volume);
  const second = await createVolumeAndClaim(namespace, 'second');
  await assertUpdatedAndCollected(client, persistentVolumeClaims, [second.claim]);
  await assertUpdatedAndCollected(client, persistentVolumes, [second.volume]);
});

test('[sig-storage] PersistentVolumes CSI Conformance should apply changes to a pv/pvc status [Conformance]', async () => {
  const namespace = await makeNamespace();
  const { volume, claim } = await createVolumeAndClaim(namespace, 'status');
  const volumeRef = referenceTo(volume);
  const claimRef = referenceTo(claim);
  const claimRead = await assertSubresourceRead(client, persistentVolumeClaims, claim);
  assert.ok(['Pending', 'Bound'].includes(claimRead.status?.phase ?? ''));
  const volumeRead = await assertSubresourceRead(client, persistentVolumes, volume);
  assert.ok(['Available', 'Bound', 'Pending'].includes(volumeRead.status?.phase ?? ''));

  const condition = (type: string, reason: string) => ({ type, status: 'True', reason, message: 'Set from e2e test' });
  const conditions = [condition('StatusPatched', 'E2E patchedStatus')];
  const viaStatus = { subresource: 'status' };
  const patchedClaim = await client.patch(
    persistentVolumeClaims,
    claimRef,
    { type: 'merge', body: { status: { conditions } } },
    viaStatus,
  );
  assert.partialDeepStrictEqual(patchedClaim.status, { conditions });
  const told = { message: 'StatusPatched', reason: 'E2E patchStatus' };
  const patchedVolume = await client.patch(
    persistentVolumes,
    volumeRef,
    { type: 'merge', body: { status: told } },
    viaStatus,
  );
  assert.partialDeepStrictEqual(patchedVolume.status, told);

  const added = condition('StatusUpdated', 'E2E updateStatus');
  const updatedClaim = await change(
    client,
    persistentVolumeClaims,
    claimRef,
    (current) => ({
      ...current,
      status: { ...current.status, conditions: [...(current.status?.conditions ?? []), added] },
    }),
    'status',
  );
  assert.partialDeepStrictEqual(updatedClaim.status, { conditions: [...conditions, added] });
  const toldAgain = { message: 'StatusUpdated', reason: 'E2E updateStatus' };
  const updatedVolume = await change(
    client,
    persistentVolumes,
    volumeRef,
    (current) => ({ ...current, status: { ...current.status, ...toldAgain } }),
    'status',
  );
  assert.partialDeepStrictEqual(updatedVolume.status, toldAgain);
});
