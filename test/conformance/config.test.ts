/** ConfigMaps, Secrets and Leases as objects. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Lease, leases } from '../../src/api/gen/coordination-v1.ts';
import { type ConfigMap, configMaps, type Secret, secrets } from '../../src/api/gen/core-v1.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import type { ResourceType } from '../../src/apimachinery/resource.ts';
import { isInvalid, isNotFound } from '../../src/client/index.ts';
import { startCluster } from './cluster.ts';
import { assertDeleted, assertNewer, assertValidVersion, referenceTo } from './operations.ts';

const { client, namespace: makeNamespace } = await startCluster();
const base64 = (text: string) => Buffer.from(text).toString('base64');
const namesOf = (items: readonly KubeObject[]) => items.map(({ metadata }) => metadata.name);

test('[sig-node] ConfigMap should fail to create ConfigMap with empty key [Conformance]', async () => {
  const namespace = await makeNamespace();
  const creating = client.create(configMaps, { metadata: { namespace, name: 'empty-key' }, data: { '': 'value-1' } });
  await assert.rejects(creating, isInvalid);
  await assert.rejects(client.get(configMaps, { namespace, name: 'empty-key' }), isNotFound);
});

test('[sig-node] Secrets should fail to create secret due to empty secret key [Conformance]', async () => {
  const namespace = await makeNamespace();
  const data = { '': base64('value-1\n') };
  await assert.rejects(client.create(secrets, { metadata: { namespace, name: 'empty-key' }, data }), isInvalid);
  await assert.rejects(client.get(secrets, { namespace, name: 'empty-key' }), isNotFound);
});

test('[sig-node] ConfigMap should update ConfigMap successfully [NodeConformance] [Conformance]', async () => {
  const namespace = await makeNamespace();
  const configMap: ConfigMap = { metadata: { namespace, name: 'updated' }, data: { 'data-1': 'value-1' } };
  await client.create(configMaps, configMap);
  // Without a resourceVersion, whatever is there is replaced.
  await client.update(configMaps, { ...configMap, data: { data: 'value' } });
  assert.deepEqual((await client.get(configMaps, referenceTo(configMap))).data, { data: 'value' });
});

test('[sig-node] ConfigMap should run through a ConfigMap lifecycle [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'test-configmap' };
  const labels = { 'test-configmap-static': 'true' };
  await client.create(configMaps, { metadata: { ...ref, labels }, data: { valueName: 'value' } });
  await client.create(configMaps, { metadata: { namespace, name: 'bystander' } });
  const read = await client.get(configMaps, ref);
  assert.deepEqual(read.data, { valueName: 'value' });
  assert.deepEqual(read.metadata.labels, labels);
  assertValidVersion(read);
  const body = { metadata: { labels: { 'test-configmap': 'patched' } }, data: { valueName: 'value1' } };
  assertNewer(await client.patch(configMaps, ref, { type: 'strategic', body }), read);
  const [found, ...more] = (await client.list(configMaps, { labelSelector: 'test-configmap=patched' })).items;
  assert.deepEqual(more, []);
  assert.partialDeepStrictEqual(found, {
    metadata: { ...ref, labels: { ...labels, 'test-configmap': 'patched' } },
    data: { valueName: 'value1' },
  });
  const labelSelector = 'test-configmap-static=true';
  await client.deleteCollection(configMaps, { namespace, labelSelector });
  assert.deepEqual((await client.list(configMaps, { namespace, labelSelector })).items, []);
  assert.ok(await client.get(configMaps, { namespace, name: 'bystander' }));
});

test('[sig-node] Secrets should patch a secret [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'test-secret' };
  const metadata = { ...ref, labels: { 'testsecret-constant': 'true' } };
  const created = await client.create(secrets, { metadata, data: { key: base64('value') }, type: 'Opaque' });
  assertValidVersion(created);
  const everywhere = { labelSelector: 'testsecret-constant=true' };
  assert.deepEqual(namesOf((await client.list(secrets, everywhere)).items), [ref.name]);
  const body = { metadata: { labels: { testsecret: 'true' } }, data: { key: base64('value1') } };
  await client.patch(secrets, ref, { type: 'strategic', body });
  const read = await client.get(secrets, ref);
  assertNewer(read, created);
  assert.deepEqual(read.data, { key: base64('value1') });
  assert.deepEqual(read.metadata.labels, { 'testsecret-constant': 'true', testsecret: 'true' });
  await client.deleteCollection(secrets, { namespace, labelSelector: 'testsecret=true' });
  assert.deepEqual((await client.list(secrets, everywhere)).items, []);
});

interface Immutable extends KubeObject {
  readonly data?: Readonly<Record<string, string>> | undefined;
  readonly immutable?: boolean | undefined;
}

/** Data can be changed until the object says it cannot, and then neither can that; labels can, and it can be deleted. */
async function assertImmutable<T extends Immutable>(type: ResourceType<T>, object: T): Promise<void> {
  const created = await client.create(type, object);
  const ref = referenceTo(created);
  const withData = (current: T, key: string): T => ({ ...current, data: { ...current.data, [key]: base64(key) } });
  const changed = await client.update(type, withData(created, 'data-4'));
  assert.equal(changed.data?.['data-4'], base64('data-4'));
  const closed = await client.update(type, { ...changed, immutable: true });
  assert.equal(closed.immutable, true);
  await assert.rejects(client.update(type, withData(closed, 'data-5')), isInvalid);
  const { 'data-4': _, ...fewer } = closed.data ?? {};
  await assert.rejects(client.update(type, { ...closed, data: fewer }), isInvalid);
  const current = await client.get(type, ref);
  assert.equal(current.immutable, true);
  assert.deepEqual(current.data, changed.data);
  await assert.rejects(client.update(type, { ...current, immutable: false }), isInvalid);
  const labels = { label1: 'value1' };
  const labelled = await client.update(type, { ...current, metadata: { ...current.metadata, labels } });
  assert.deepEqual(labelled.metadata.labels, labels);
  await assertDeleted(client, type, labelled);
}

test('[sig-storage] ConfigMap should be immutable if `immutable` field is set [Conformance]', async () => {
  const namespace = await makeNamespace();
  await assertImmutable<ConfigMap>(configMaps, { metadata: { namespace, name: 'immutable' }, data: { 'data-1': 'a' } });
});

test('[sig-storage] Secrets should be immutable if `immutable` field is set [Conformance]', async () => {
  const namespace = await makeNamespace();
  const data = { 'data-1': base64('a') };
  await assertImmutable<Secret>(secrets, { metadata: { namespace, name: 'immutable' }, data });
});

test('[sig-node] Lease lease API should be available [Conformance]', async () => {
  const namespace = await makeNamespace();
  const time = (second: number) => `0001-01-01T00:00:${String(second).padStart(2, '0')}.000000Z`;
  const spec = (holderIdentity: string, seconds: number, acquired: number, renewed: number, transitions: number) => ({
    holderIdentity,
    leaseDurationSeconds: seconds,
    acquireTime: time(acquired),
    renewTime: time(renewed),
    leaseTransitions: transitions,
  });
  const ref = { namespace, name: 'lease' };
  const specNow = async () => (await client.get(leases, ref)).spec;
  const lease: Lease = { metadata: ref, spec: spec('holder', 30, 2, 5, 0) };
  const created = await client.create(leases, lease);
  assertValidVersion(created);
  assert.deepEqual(await specNow(), lease.spec);
  await client.update(leases, { ...created, spec: spec('holder2', 30, 20, 50, 1) });
  assert.deepEqual(await specNow(), spec('holder2', 30, 20, 50, 1));
  await client.patch(leases, ref, { type: 'strategic', body: { spec: spec('holder3', 60, 50, 59, 2) } });
  assert.deepEqual(await specNow(), spec('holder3', 60, 50, 59, 2));
  assertNewer(await client.get(leases, ref), created);

  const labels = { deletecollection: 'true' };
  await client.create(leases, { metadata: { namespace, name: 'lease2', labels }, spec: spec('holder', 30, 2, 5, 0) });
  assert.deepEqual(namesOf((await client.list(leases, { namespace })).items), ['lease', 'lease2']);
  await client.deleteCollection(leases, { namespace, labelSelector: 'deletecollection=true' });
  assert.deepEqual(namesOf((await client.list(leases, { namespace })).items), ['lease']);
  await assertDeleted(client, leases, lease);
  assert.ok(!(await client.list(leases)).items.some(({ metadata }) => metadata.namespace === namespace));
});
