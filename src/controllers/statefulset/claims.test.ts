import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StatefulSet } from '../../api/gen/apps-v1.ts';
import type { PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import type { OwnerReference } from '../../apimachinery/meta.ts';
import { planClaimOwners } from './claims.ts';

type Policy = NonNullable<NonNullable<StatefulSet['spec']>['persistentVolumeClaimRetentionPolicy']>;

const setOf = (policy: Policy): StatefulSet => ({
  metadata: { name: 'db', uid: 'set' },
  spec: {
    selector: {},
    serviceName: '',
    template: { spec: { containers: [] } },
    persistentVolumeClaimRetentionPolicy: policy,
  },
});
const pod: Pod = { metadata: { name: 'db-0', uid: 'pod' }, spec: { containers: [] } };
const claimOf = (...ownerReferences: OwnerReference[]): PersistentVolumeClaim => ({
  metadata: { name: 'data-db-0', ownerReferences },
  spec: {},
});

const controls = { controller: true, blockOwnerDeletion: true };
const ofSet = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'set', ...controls };
const ofPod = { apiVersion: 'v1', kind: 'Pod', name: 'db-0', uid: 'pod', ...controls };
const external = { apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: 'map' };

const withSet = setOf({ whenDeleted: 'Delete', whenScaled: 'Retain' });
const whenScaled = setOf({ whenDeleted: 'Delete', whenScaled: 'Delete' });
const kept = setOf({ whenDeleted: 'Retain', whenScaled: 'Retain' });

test('the set controls the claims that go with it, beside owners that control nothing', () => {
  assert.deepEqual(planClaimOwners(withSet, claimOf(), pod, false), [ofSet]);
  assert.deepEqual(planClaimOwners(withSet, claimOf(external), pod, false), [external, ofSet]);
  assert.equal(planClaimOwners(withSet, claimOf(external, ofSet), pod, false), undefined);
});

test('the claim of a Pod that is scaled away is the Pod´s', () => {
  assert.deepEqual(planClaimOwners(whenScaled, claimOf(ofSet), pod, true), [ofPod]);
  assert.deepEqual(planClaimOwners(whenScaled, claimOf(ofPod), pod, false), [ofSet]);
});

test('claims that are retained are nobody´s', () => {
  assert.deepEqual(planClaimOwners(kept, claimOf(ofSet, external), pod, false), [external]);
  assert.equal(planClaimOwners(kept, claimOf(external), pod, false), undefined);
});

test('an owner that does not control becomes one that does', () => {
  const { controller: _, ...plain } = ofSet;
  assert.deepEqual(planClaimOwners(withSet, claimOf(plain), pod, false), [ofSet]);
});

test('beside another controller the set and its Pod own nothing', () => {
  const foreign = { ...external, controller: true };
  assert.equal(planClaimOwners(withSet, claimOf(foreign), pod, false), undefined);
  assert.deepEqual(planClaimOwners(withSet, claimOf(foreign, ofSet), pod, false), [foreign]);
});

test('what a former set or Pod of the name owned is left to the garbage collector', () => {
  for (const stale of [
    { ...ofSet, uid: 'former' },
    { ...ofPod, uid: 'former' },
  ])
    assert.equal(planClaimOwners(withSet, claimOf(stale), pod, false), undefined);
});
