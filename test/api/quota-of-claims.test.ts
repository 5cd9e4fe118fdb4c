/** What claims for volumes take from quotas, and when it is given back: by deletion, by shrinking, by another class. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type PersistentVolumeClaim,
  type PersistentVolumeClaimSpec,
  type PersistentVolumeClaimStatus,
  persistentVolumeClaims,
  type ResourceQuotaSpec,
  resourceQuotas,
} from '../../src/api/gen/core-v1.ts';
import { storageClasses } from '../../src/api/gen/storage-v1.ts';
import { isForbidden } from '../../src/client/index.ts';
import { startCluster, when } from '../conformance/cluster.ts';

// Nothing binds or fills volumes here, so that claims say what the tests write into them.
const { client, namespace: makeNamespace } = await startCluster({
  controllers: ['resourcequota-controller', 'persistentvolumeclaim-protection-controller'],
  scheduler: false,
});

type Amounts = Readonly<Record<string, string>>;

/** A new namespace with a quota that has counted. */
async function quotaOf(spec: ResourceQuotaSpec): Promise<string> {
  const namespace = await makeNamespace();
  await client.create(resourceQuotas, { metadata: { namespace, name: 'quota' }, spec });
  await whenUsed(namespace, Object.fromEntries(Object.keys(spec.hard ?? {}).map((name) => [name, '0'])));
  return namespace;
}

async function whenUsed(namespace: string, used: Amounts): Promise<void> {
  await when(client, resourceQuotas, { namespace, name: 'quota' }, (quota) =>
    Object.entries(used).every(([name, amount]) => quota?.status?.used?.[name] === amount),
  );
}

const claim = (namespace: string, name: string, storage: string, more: Partial<PersistentVolumeClaimSpec> = {}) => ({
  metadata: { namespace, name },
  spec: { accessModes: ['ReadWriteOnce' as const], resources: { requests: { storage } }, ...more },
});

async function changeSpec(object: PersistentVolumeClaim, spec: Partial<PersistentVolumeClaimSpec>): Promise<void> {
  const body = { spec };
  await client.patch(persistentVolumeClaims, refOf(object), { type: 'merge', body });
}

async function changeStatus(object: PersistentVolumeClaim, status: PersistentVolumeClaimStatus): Promise<void> {
  const body = { status };
  await client.patch(persistentVolumeClaims, refOf(object), { type: 'merge', body }, { subresource: 'status' });
}

const refOf = ({ metadata: { namespace = '', name = '' } }: PersistentVolumeClaim) => ({ namespace, name });
const asking = (storage: string) => ({ resources: { requests: { storage } } });

describe('A quota for claims', () => {
  test('is paid by each, for its class too, and has it back when the claim is gone', async () => {
    const goldStorage = 'gold.storageclass.storage.k8s.io/requests.storage';
    const goldClaims = 'gold.storageclass.storage.k8s.io/persistentvolumeclaims';
    const hard = {
      persistentvolumeclaims: '3',
      'count/persistentvolumeclaims': '3',
      'requests.storage': '10Gi',
      [goldStorage]: '4Gi',
      [goldClaims]: '1',
    };
    const namespace = await quotaOf({ hard });
    const gold = { storageClassName: 'gold' };
    const first = await client.create(persistentVolumeClaims, claim(namespace, 'first', '3Gi', gold));
    const annotated = claim(namespace, 'second', '2Gi');
    const annotations = { 'volume.beta.kubernetes.io/storage-class': 'silver' };
    await client.create(persistentVolumeClaims, { ...annotated, metadata: { ...annotated.metadata, annotations } });
    const counts = { persistentvolumeclaims: '2', 'count/persistentvolumeclaims': '2' };
    await whenUsed(namespace, { ...counts, 'requests.storage': '5Gi', [goldStorage]: '3Gi', [goldClaims]: '1' });
    await assert.rejects(client.create(persistentVolumeClaims, claim(namespace, 'third', '1Gi', gold)), (error) => {
      assert.ok(isForbidden(error));
      assert.equal(
        error.message,
        `persistentvolumeclaims "third" is forbidden: exceeded quota: quota, requested: ${goldClaims}=1, used: ${goldClaims}=1, limited: ${goldClaims}=1`,
      );
      return true;
    });
    await client.delete(persistentVolumeClaims, refOf(first));
    await whenUsed(namespace, {
      persistentvolumeclaims: '1',
      'requests.storage': '2Gi',
      [goldStorage]: '0',
      [goldClaims]: '0',
    });
    await client.create(persistentVolumeClaims, claim(namespace, 'third', '4Gi', gold));
  });

  test('is still paid by a claim that is being deleted and not gone', async () => {
    const namespace = await quotaOf({ hard: { persistentvolumeclaims: '1', configmaps: '5' } });
    const held = claim(namespace, 'held', '1Gi');
    const metadata = { ...held.metadata, finalizers: ['example.com/hold'] };
    const object = await client.create(persistentVolumeClaims, { ...held, metadata });
    await client.delete(persistentVolumeClaims, refOf(object));
    await assert.rejects(client.create(persistentVolumeClaims, claim(namespace, 'other', '1Gi')), isForbidden);
    const body = { metadata: { finalizers: null } };
    await client.patch(persistentVolumeClaims, refOf(object), { type: 'merge', body });
    await whenUsed(namespace, { persistentvolumeclaims: '0' });
    await client.create(persistentVolumeClaims, claim(namespace, 'other', '1Gi'));
  });

  test('has back what a claim no longer asks for, once the volume is no longer given it', async () => {
    const namespace = await quotaOf({ hard: { 'requests.storage': '10Gi' } });
    const used = (storage: string) => whenUsed(namespace, { 'requests.storage': storage });
    await client.create(storageClasses, {
      metadata: { name: 'growing' },
      provisioner: 'example.com/none',
      allowVolumeExpansion: true,
    });
    const made = claim(namespace, 'data', '2Gi', { storageClassName: 'growing' });
    const object = await client.create(persistentVolumeClaims, made);
    await changeStatus(object, { phase: 'Bound', capacity: { storage: '2Gi' } });
    await changeSpec(object, asking('8Gi'));
    await used('8Gi');
    await assert.rejects(changeSpec(object, asking('11Gi')), isForbidden);
    await changeStatus(object, { allocatedResources: { storage: '8Gi' } });
    await changeSpec(object, asking('3Gi'));
    await assert.rejects(client.create(persistentVolumeClaims, claim(namespace, 'more', '3Gi')), isForbidden);
    await changeStatus(object, { allocatedResources: { storage: '3Gi' } });
    await used('3Gi');
    await client.create(persistentVolumeClaims, claim(namespace, 'more', '7Gi'));
    await used('10Gi');
  });

  test('is charged for what a volume was given, beyond its limit if need be, for that has happened', async () => {
    const namespace = await quotaOf({ hard: { 'requests.storage': '5Gi' } });
    const object = await client.create(persistentVolumeClaims, claim(namespace, 'data', '2Gi'));
    await changeStatus(object, { allocatedResources: { storage: '6Gi' } });
    await whenUsed(namespace, { 'requests.storage': '6Gi' });
    await assert.rejects(client.create(persistentVolumeClaims, claim(namespace, 'more', '1')), isForbidden);
  });

  test('counts whole bytes', async () => {
    const namespace = await quotaOf({ hard: { 'requests.storage': '5' } });
    await client.create(persistentVolumeClaims, claim(namespace, 'data', '2500m'));
    await whenUsed(namespace, { 'requests.storage': '3' });
  });

  test('for a class of attributes counts claims while they have, had or are to have it', async () => {
    const scopeSelector = {
      matchExpressions: [{ scopeName: 'VolumeAttributesClass' as const, operator: 'In' as const, values: ['gold'] }],
    };
    const namespace = await quotaOf({ hard: { persistentvolumeclaims: '1' }, scopeSelector });
    const used = (count: string) => whenUsed(namespace, { persistentvolumeclaims: count });
    const make = (name: string, volumeAttributesClassName: string) =>
      client.create(persistentVolumeClaims, claim(namespace, name, '1Gi', { volumeAttributesClassName }));
    await make('other', 'silver');
    const object = await make('data', 'gold');
    await used('1');
    await assert.rejects(make('one-too-many', 'gold'), isForbidden);
    await changeStatus(object, { phase: 'Bound', currentVolumeAttributesClassName: 'gold' });
    await changeSpec(object, { volumeAttributesClassName: 'silver' });
    await assert.rejects(make('one-too-many', 'gold'), isForbidden);
    await changeStatus(object, { currentVolumeAttributesClassName: 'silver' });
    await used('0');
    await changeSpec(object, { volumeAttributesClassName: 'gold' });
    await used('1');
  });
});
