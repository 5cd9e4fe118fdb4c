/** Namespaces and their end, and objects that own one another in a circle. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Namespace, namespaces, pods, serviceAccounts, services } from '../../src/api/gen/core-v1.ts';
import { isNotFound } from '../../src/client/index.ts';
import { startCluster, when, whenAll, whenGone } from './cluster.ts';
import { assertNewer, assertSubresourceRead, assertValidVersion, change } from './operations.ts';

const { client, namespace: makeNamespace } = await startCluster();
const create = (name: string) => client.create(namespaces, { metadata: { name }, spec: {} });

test('[sig-api-machinery] Namespaces [Serial] should ensure that all services are removed when a namespace is deleted [Conformance]', async () => {
  const namespace = 'nsdeletetest';
  await create(namespace);
  await when(client, serviceAccounts, { namespace, name: 'default' }, (object) => object !== undefined);
  const ref = { namespace, name: 'test-service' };
  await client.create(services, {
    metadata: ref,
    spec: { selector: { foo: 'bar', baz: 'blah' }, ports: [{ port: 80, targetPort: 80 }] },
  });
  await client.delete(namespaces, { name: namespace });
  await whenGone(client, namespaces, { name: namespace });
  await create(namespace);
  await assert.rejects(client.get(services, ref), isNotFound);
});

test('[sig-api-machinery] Namespaces [Serial] should patch a Namespace [Conformance]', async () => {
  const name = await makeNamespace();
  const before = await client.get(namespaces, { name });
  assertValidVersion(before);
  const body = { metadata: { labels: { testLabel: 'testValue' } } };
  assertNewer(await client.patch(namespaces, { name }, { type: 'strategic', body }), before);
  assert.equal((await client.get(namespaces, { name })).metadata.labels?.testLabel, 'testValue');
});

test('[sig-api-machinery] Namespaces [Serial] should apply an update to a Namespace [Conformance]', async () => {
  const name = await makeNamespace();
  const updated = await change(client, namespaces, { name }, (current) => ({
    ...current,
    metadata: { ...current.metadata, labels: { ...current.metadata.labels, [name]: 'updated' } },
  }));
  assert.equal(updated.metadata.labels?.[name], 'updated');
  assert.equal((await client.get(namespaces, { name })).metadata.labels?.[name], 'updated');
});

test('[sig-api-machinery] Namespaces [Serial] should apply changes to a namespace status [Conformance]', async () => {
  const name = await makeNamespace();
  const created = await client.get(namespaces, { name });
  assert.equal((await assertSubresourceRead(client, namespaces, created)).status?.phase, 'Active');
  const condition = (type: string, message: string) => ({ type, status: 'True', reason: 'E2E', message });
  const first = condition('StatusPatch', 'Patched by an e2e test');
  const patched = await client.patch(
    namespaces,
    { name },
    {
      type: 'merge',
      body: { metadata: { annotations: { 'e2e-patched-ns-status': name } }, status: { conditions: [first] } },
    },
    { subresource: 'status' },
  );
  assert.equal(patched.metadata.annotations?.['e2e-patched-ns-status'], name);
  assert.partialDeepStrictEqual(patched.status, { phase: 'Active', conditions: [first] });
  const second = condition('StatusUpdate', 'Updated by an e2e test');
  const append = (current: Namespace) => ({
    ...current,
    status: { ...current.status, conditions: [...(current.status?.conditions ?? []), second] },
  });
  await change(client, namespaces, { name }, append, 'status');
  const read = await client.get(namespaces, { name });
  assert.partialDeepStrictEqual(read.status, { phase: 'Active', conditions: [first, second] });
});

test('[sig-api-machinery] Namespaces [Serial] should apply a finalizer to a Namespace [Conformance]', async () => {
  const name = await makeNamespace();
  const finalizer = 'e2e.example.com/fakeFinalizer';
  const withFinalizers = (how: (finalizers: readonly string[]) => readonly string[]) => (current: Namespace) => ({
    ...current,
    spec: { ...current.spec, finalizers: how(current.spec?.finalizers ?? []) },
  });
  const finalizersNow = async () => (await client.get(namespaces, { name })).spec?.finalizers;
  const add = withFinalizers((present) => [...present, finalizer]);
  await change(client, namespaces, { name }, add, 'finalize');
  assert.deepEqual(await finalizersNow(), ['kubernetes', finalizer]);
  const remove = withFinalizers((present) => present.filter((other) => other !== finalizer));
  await change(client, namespaces, { name }, remove, 'finalize');
  assert.deepEqual(await finalizersNow(), ['kubernetes']);
});

test('[sig-api-machinery] Garbage collector should not be blocked by dependency circle [Conformance]', async () => {
  const namespace = await makeNamespace();
  const names = ['pod1', 'pod2', 'pod3'] as const;
  const created = await Promise.all(
    names.map((name) =>
      client.create(pods, {
        metadata: { namespace, name },
        spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'nginx', image: 'nginx' }] },
      }),
    ),
  );
  for (const [index, { metadata }] of created.entries()) {
    const owner = created[(index + 2) % 3]!.metadata;
    const reference = { apiVersion: 'v1', kind: 'Pod', name: owner.name, uid: owner.uid };
    const ownerReferences = [{ ...reference, controller: true, blockOwnerDeletion: true }];
    const patch = { type: 'strategic', body: { metadata: { ownerReferences } } } as const;
    const patched = await client.patch(pods, { namespace, name: metadata.name! }, patch);
    assert.deepEqual(patched.metadata.ownerReferences, ownerReferences);
  }
  await client.delete(
    pods,
    { namespace, name: 'pod1' },
    { propagationPolicy: 'Foreground', preconditions: { uid: created[0]?.metadata.uid } },
  );
  await whenAll(client, pods, { namespace }, (left) => left.length === 0);
});
