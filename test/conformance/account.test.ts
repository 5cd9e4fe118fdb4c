/** ServiceAccounts, their tokens, what every namespace has of them, and what they may do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TokenRequest, TokenReview } from '../../src/api/gen/authentication-v1.ts';
import type { SubjectAccessReview } from '../../src/api/gen/authorization-v1.ts';
import { configMaps, serviceAccounts } from '../../src/api/gen/core-v1.ts';
import { roleBindings, roles } from '../../src/api/gen/rbac-v1.ts';
import { isForbidden } from '../../src/client/index.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { follow, startCluster, when } from './cluster.ts';
import { assertNewer, assertValidVersion, change } from './operations.ts';

const { client, clientWith, connection, namespace: makeNamespace } = await startCluster();

test('[sig-auth] ServiceAccounts should run through the lifecycle of a ServiceAccount [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'testserviceaccount' };
  const labels = { 'test-serviceaccount-static': 'true' };
  const labelSelector = 'test-serviceaccount-static=true';
  using changes = await follow(client, serviceAccounts, { namespace, labelSelector });
  const created = await client.create(serviceAccounts, { metadata: { ...ref, labels } });
  assertValidVersion(created);
  assert.equal((await client.get(serviceAccounts, ref)).metadata.uid, created.metadata.uid);
  assert.equal((await changes.next()).type, 'ADDED');
  const body = { automountServiceAccountToken: false };
  assertNewer(await client.patch(serviceAccounts, ref, { type: 'strategic', body }), created);
  assert.equal((await changes.next()).type, 'MODIFIED');
  const [found, ...more] = (await client.list(serviceAccounts, { labelSelector })).items;
  assert.deepEqual(more, []);
  assert.equal(found?.metadata.uid, created.metadata.uid);
  assert.equal(found?.automountServiceAccountToken, false);
  await client.deleteCollection(serviceAccounts, { namespace });
  assert.equal((await changes.next()).type, 'DELETED');
});

test('[sig-auth] ServiceAccounts should update a ServiceAccount [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'e2e-sa' };
  const created = await client.create(serviceAccounts, { metadata: ref, automountServiceAccountToken: false });
  assert.equal(created.automountServiceAccountToken, false);
  await change(client, serviceAccounts, ref, (current) => ({ ...current, automountServiceAccountToken: true }));
  assert.equal((await client.get(serviceAccounts, ref)).automountServiceAccountToken, true);
});

test('[sig-auth] ServiceAccounts should guarantee kube-root-ca.crt exist in any namespace [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'kube-root-ca.crt' };
  const first = await when(client, configMaps, ref, (object) => object !== undefined);
  assert.equal(first?.data?.['ca.crt'], connection.tls?.ca);
  await client.delete(configMaps, ref, { gracePeriodSeconds: 0 });
  const uid = first?.metadata.uid;
  await when(client, configMaps, ref, (object) => object !== undefined && object.metadata.uid !== uid);
  await client.update(configMaps, { metadata: ref, data: { 'ca.crt': '' } });
  await when(client, configMaps, ref, (object) => object?.data?.['ca.crt'] === first?.data?.['ca.crt']);
});

test('[sig-auth] ServiceAccounts should create a serviceAccountToken and ensure a successful TokenReview [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'e2e-sa' };
  const account = await client.create(serviceAccounts, { metadata: ref });
  const request = { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', metadata: {}, spec: {} };
  const { status } = await client.createSubresource<TokenRequest>(serviceAccounts, ref, 'token', request);
  assert.ok(status?.token);
  const review = (await client.raw({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body: { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', spec: { token: status.token } },
  })) as TokenReview;
  assert.equal(review.status?.authenticated, true);
  assert.equal(review.status?.error, undefined);
  assert.partialDeepStrictEqual(review.status?.user, {
    username: `system:serviceaccount:${namespace}:e2e-sa`,
    uid: account.metadata.uid,
  });
  // And the server takes it.
  const ca = connection.tls?.ca;
  const asAccount = clientWith({ token: status.token, tls: { ca } });
  await assert.rejects(asAccount.list(configMaps, { namespace }), isForbidden);
});

test('[sig-auth] SubjectReview should support SubjectReview API operations [Conformance]', async () => {
  const namespace = await makeNamespace();
  const account = await client.create(serviceAccounts, { metadata: { namespace, name: 'e2e' } });
  const user = `system:serviceaccount:${namespace}:e2e`;
  const groups = ['system:authenticated', 'system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  const { uid } = account.metadata;
  const impersonated = clientWith({ impersonate: { user, groups, uid } });
  const resourceAttributes = { verb: 'list', resource: 'configmaps', namespace, version: 'v1' };
  const spec = { resourceAttributes, user, groups, uid };
  const group = '/apis/authorization.k8s.io/v1';
  const allowed = async (kind: string, path: string, metadata = {}) => {
    const body = { kind, apiVersion: 'authorization.k8s.io/v1', metadata, spec };
    const { status } = (await client.raw({ method: 'POST', path, body })) as SubjectAccessReview;
    return status?.allowed;
  };
  const assertAllowed = async (expected: boolean) => {
    assert.equal(await allowed('SubjectAccessReview', `${group}/subjectaccessreviews`), expected);
    const local = `${group}/namespaces/${namespace}/localsubjectaccessreviews`;
    assert.equal(await allowed('LocalSubjectAccessReview', local, { namespace }), expected);
    const listing = impersonated.list(configMaps, { namespace });
    if (expected) assert.ok((await listing).resourceVersion);
    else await assert.rejects(listing, isForbidden);
  };
  await assertAllowed(false);

  // Upstream's asks once; here the account is given the right, and the same is asked again.
  const metadata = { namespace, name: 'readers' };
  await client.create(roles, { metadata, rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }] });
  await client.create(roleBindings, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'readers' },
    subjects: [{ kind: 'ServiceAccount', namespace, name: 'e2e' }],
  });
  // A right that was just given reaches the authorizer a moment later, and nothing tells when.
  await eventually(async () =>
    assert.equal(await allowed('SubjectAccessReview', `${group}/subjectaccessreviews`), true),
  );
  await assertAllowed(true);
});
