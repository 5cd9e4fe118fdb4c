/** ResourceQuotas: what is counted, what is refused, and what is given back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replicaSets } from '../../src/api/gen/apps-v1.ts';
import {
  configMaps,
  type Pod,
  pods,
  type ResourceQuota,
  type ResourceQuotaScope,
  replicationControllers,
  resourceQuotas,
  secrets,
  services,
} from '../../src/api/gen/core-v1.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import type { ResourceType } from '../../src/apimachinery/resource.ts';
import { isForbidden, isInvalid, isNotFound } from '../../src/client/index.ts';
import { follow, startCluster, when, whenAll } from './cluster.ts';
import {
  assertDeleted,
  assertNewer,
  assertSubresourceRead,
  assertValidVersion,
  change,
  referenceTo,
} from './operations.ts';

const { client, namespace: makeNamespace } = await startCluster();
const image = 'registry.k8s.io/pause:3.10';
const extended = 'example.com/dongle';

type Amounts = Readonly<Record<string, string>>;

const everything: Amounts = {
  pods: '5',
  services: '10',
  'services.nodeports': '1',
  'services.loadbalancers': '1',
  replicationcontrollers: '10',
  resourcequotas: '1',
  cpu: '1',
  memory: '500Mi',
  configmaps: '10',
  secrets: '10',
  persistentvolumeclaims: '10',
  'requests.storage': '10Gi',
  'ephemeral-storage': '50Gi',
  'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '10',
  'gold.storageclass.storage.k8s.io/requests.storage': '10Gi',
  'count/replicasets.apps': '5',
  [`requests.${extended}`]: '3',
};

/** Waits until the status says all of the limits, and of what is used at least this. */
async function whenUsed(quota: ResourceQuota, used: Amounts): Promise<void> {
  const { hard } = quota.spec!;
  await when(client, resourceQuotas, referenceTo(quota), (object) => {
    const { status } = object ?? {};
    return (
      Object.entries(hard ?? {}).every(([name, amount]) => status?.hard?.[name] === amount) &&
      Object.entries(used).every(([name, amount]) => status?.used?.[name] === amount)
    );
  });
}

/** A new namespace with a quota for everything, whose status is there. */
async function withQuota(hard: Amounts = {}): Promise<{ readonly namespace: string; readonly quota: ResourceQuota }> {
  const namespace = await makeNamespace();
  // What every namespace has must be there before it is counted.
  await when(client, configMaps, { namespace, name: 'kube-root-ca.crt' }, (object) => object !== undefined);
  const quota = await client.create(resourceQuotas, {
    metadata: { namespace, name: 'test-quota' },
    spec: { hard: { ...everything, ...hard } },
  });
  await whenUsed(quota, { resourcequotas: '1' });
  return { namespace, quota };
}

/** One object more is used while it is there; one too many is refused. */
async function assertCounted<T extends KubeObject>(
  type: ResourceType<T>,
  resource: string,
  make: (namespace: string, name: string) => T,
): Promise<void> {
  const existing = resource === 'configmaps' ? 1 : 0;
  const { namespace, quota } = await withQuota({ [resource]: String(existing + 1) });
  await whenUsed(quota, { [resource]: String(existing) });
  const created = await client.create(type, make(namespace, 'counted'));
  await whenUsed(quota, { resourcequotas: '1', [resource]: String(existing + 1) });
  await assert.rejects(client.create(type, make(namespace, 'too-many')), isForbidden);
  await client.delete(type, referenceTo(created));
  await whenUsed(quota, { [resource]: String(existing) });
  await client.create(type, make(namespace, 'again'));
}

test('[sig-api-machinery] ResourceQuota should create a ResourceQuota and ensure its status is promptly calculated. [Conformance]', async () => {
  const { quota } = await withQuota();
  const { status } = await client.get(resourceQuotas, referenceTo(quota));
  assert.deepEqual(status?.hard, everything);
  assert.deepEqual(Object.keys(status?.used ?? {}).sort(), Object.keys(everything).sort());
  assert.equal(status?.used?.resourcequotas, '1');
});

test('[sig-api-machinery] ResourceQuota should create a ResourceQuota and capture the life of a configMap. [Conformance]', async () => {
  await assertCounted(configMaps, 'configmaps', (namespace, name) => ({ metadata: { namespace, name } }));
});

test('[sig-api-machinery] ResourceQuota should create a ResourceQuota and capture the life of a secret. [Conformance]', async () => {
  await assertCounted(secrets, 'secrets', (namespace, name) => ({ metadata: { namespace, name } }));
});

const template = (name: string) => ({
  metadata: { labels: { name } },
  spec: { containers: [{ name: 'pause', image }] },
});

test('[sig-api-machinery] ResourceQuota should create a ResourceQuota and capture the life of a replication controller. [Conformance]', async () => {
  await assertCounted(replicationControllers, 'replicationcontrollers', (namespace, name) => ({
    metadata: { namespace, name },
    spec: { replicas: 0, selector: { name }, template: template(name) },
  }));
});

test('[sig-api-machinery] ResourceQuota should create a ResourceQuota and capture the life of a replica set. [Conformance]', async () => {
  await assertCounted(replicaSets, 'count/replicasets.apps', (namespace, name) => ({
    metadata: { namespace, name },
    spec: { replicas: 0, selector: { matchLabels: { name } }, template: template(name) },
  }));
});

test('[sig-api-machinery] ResourceQuota should create a ResourceQuota and capture the life of a service. [Conformance]', async () => {
  const { namespace, quota } = await withQuota();
  const make = (name: string, type: 'ClusterIP' | 'NodePort' | 'LoadBalancer') =>
    client.create(services, { metadata: { namespace, name }, spec: { type, ports: [{ port: 80, targetPort: 80 }] } });
  const created = [await make('test-service', 'ClusterIP'), await make('test-service-np', 'NodePort')];
  await assert.rejects(make('test-service-lb', 'LoadBalancer'), isForbidden);
  await whenUsed(quota, { resourcequotas: '1', services: '2', 'services.nodeports': '1' });
  for (const service of created) await client.delete(services, referenceTo(service));
  await whenUsed(quota, { services: '0', 'services.nodeports': '0' });
});

/** On no node, so that nothing but the test changes it. */
function podWith(namespace: string, name: string, requests?: Amounts, limits?: Amounts): Pod {
  const resources = { ...(requests && { requests }), ...(limits && { limits }) };
  return {
    metadata: { namespace, name },
    spec: {
      nodeSelector: { 'x-test.k8s.io/unsatisfiable': 'not-schedulable' },
      containers: [{ name: 'pause', image, resources }],
    },
  };
}

test('[sig-api-machinery] ResourceQuota should create a ResourceQuota and capture the life of a pod. [Conformance]', async () => {
  const { namespace, quota } = await withQuota();
  const requests = { cpu: '500m', memory: '252Mi', 'ephemeral-storage': '30Gi', [extended]: '2' };
  const pod = await client.create(pods, podWith(namespace, 'test-pod', requests, { [extended]: '2' }));
  const used = {
    resourcequotas: '1',
    pods: '1',
    cpu: '500m',
    memory: '252Mi',
    'ephemeral-storage': '30Gi',
    [`requests.${extended}`]: '2',
  };
  await whenUsed(quota, used);
  const tooMuch = podWith(namespace, 'fail-pod', { cpu: '600m', memory: '100Mi' });
  await assert.rejects(client.create(pods, tooMuch), isForbidden);
  const incomplete = podWith(namespace, 'fail-pod', { cpu: '100m' });
  await assert.rejects(client.create(pods, incomplete), isForbidden);
  const more = { cpu: '500m', memory: '100Mi', 'ephemeral-storage': '10Gi', [extended]: '2' };
  const tooMany = podWith(namespace, 'fail-pod-for-extended-resource', more, { [extended]: '2' });
  await assert.rejects(client.create(pods, tooMany), isForbidden);

  const current = await client.get(pods, referenceTo(pod));
  const less = { cpu: '100m', memory: '100Mi', 'ephemeral-storage': '10Gi' };
  const [container] = current.spec.containers;
  const changed = { ...current.spec, containers: [{ ...container!, resources: { requests: less } }] };
  await assert.rejects(client.update(pods, { ...current, spec: changed }), isInvalid);
  await whenUsed(quota, used);

  await client.delete(pods, referenceTo(pod), { gracePeriodSeconds: 0 });
  await whenUsed(quota, {
    resourcequotas: '1',
    pods: '0',
    cpu: '0',
    memory: '0',
    'ephemeral-storage': '0',
    [`requests.${extended}`]: '0',
  });
});

/**
 * A quota of each of two scopes that exclude each other; a Pod of the first counts in the first alone, one of the second in the second
 * alone.
 */
async function assertScopes(
  scopes: readonly [ResourceQuotaScope, ResourceQuotaScope],
  hard: Amounts,
  used: readonly [Amounts, Amounts],
  make: (namespace: string, scope: string) => Pod,
): Promise<void> {
  const namespace = await makeNamespace();
  const nothing = Object.fromEntries(Object.keys(hard).map((name) => [name, '0']));
  const quotas: ResourceQuota[] = [];
  for (const scope of scopes) {
    const metadata = { namespace, name: `quota-${scope.toLowerCase()}` };
    quotas.push(await client.create(resourceQuotas, { metadata, spec: { hard, scopes: [scope] } }));
  }
  for (const quota of quotas) await whenUsed(quota, nothing);
  for (const [index, scope] of scopes.entries()) {
    const pod = await client.create(pods, make(namespace, scope));
    await whenUsed(quotas[index]!, used[index]!);
    // The other has counted too by the time it has seen a Pod come and go in its own scope.
    await whenUsed(quotas[1 - index]!, nothing);
    await client.delete(pods, referenceTo(pod), { gracePeriodSeconds: 0 });
    await whenUsed(quotas[index]!, nothing);
    await whenUsed(quotas[1 - index]!, nothing);
  }
}

test('[sig-api-machinery] ResourceQuota should verify ResourceQuota with terminating scopes. [Conformance]', async () => {
  const hard = {
    pods: '5',
    'requests.cpu': '1',
    'requests.memory': '500Mi',
    'limits.cpu': '2',
    'limits.memory': '1Gi',
  };
  const used = {
    pods: '1',
    'requests.cpu': '500m',
    'requests.memory': '200Mi',
    'limits.cpu': '1',
    'limits.memory': '400Mi',
  };
  await assertScopes(['NotTerminating', 'Terminating'], hard, [used, used], (namespace, scope) => {
    const requests = { cpu: '500m', memory: '200Mi' };
    const pod = podWith(namespace, `pod-${scope.toLowerCase()}`, requests, { cpu: '1', memory: '400Mi' });
    return scope === 'Terminating' ? { ...pod, spec: { ...pod.spec, activeDeadlineSeconds: 3600 } } : pod;
  });
});

test('[sig-api-machinery] ResourceQuota should verify ResourceQuota with best effort scope. [Conformance]', async () => {
  const hard = { pods: '5' };
  await assertScopes(['BestEffort', 'NotBestEffort'], hard, [{ pods: '1' }, { pods: '1' }], (namespace, scope) =>
    scope === 'BestEffort'
      ? podWith(namespace, 'best-effort')
      : podWith(namespace, 'not-best-effort', { cpu: '500m', memory: '200Mi' }, { cpu: '1', memory: '400Mi' }),
  );
});

const small = { cpu: '1', memory: '500Mi' };

test('[sig-api-machinery] ResourceQuota should be able to update and delete ResourceQuota. [Conformance]', async () => {
  const namespace = await makeNamespace();
  const quota: ResourceQuota = { metadata: { namespace, name: 'test-quota' }, spec: { hard: small } };
  const ref = referenceTo(quota);
  const created = await client.create(resourceQuotas, quota);
  assert.deepEqual((await client.get(resourceQuotas, ref)).spec?.hard, small);
  const hard = { cpu: '2', memory: '1Gi' };
  const updated = await client.update(resourceQuotas, { ...quota, spec: { hard } });
  assert.deepEqual(updated.spec?.hard, hard);
  assert.deepEqual((await client.get(resourceQuotas, ref)).spec?.hard, hard);
  await assertDeleted(client, resourceQuotas, created);
});

test('[sig-api-machinery] ResourceQuota should manage the lifecycle of a ResourceQuota [Conformance]', async () => {
  const namespace = await makeNamespace();
  const labelSelector = 'e2e-rq-label=lifecycle';
  const metadata = { namespace, name: 'e2e-quota', labels: { 'e2e-rq-label': 'lifecycle' } };
  await client.create(resourceQuotas, { metadata, spec: { hard: small } });
  await client.create(resourceQuotas, { metadata: { namespace, name: 'bystander' }, spec: { hard: small } });
  const ref = { namespace, name: 'e2e-quota' };
  const read = await client.get(resourceQuotas, ref);
  assert.deepEqual(read.spec?.hard, small);
  assertValidVersion(read);
  const [found, ...more] = (await client.list(resourceQuotas, { labelSelector })).items;
  assert.deepEqual(more, []);
  assert.equal(found?.metadata.uid, read.metadata.uid);
  const body = { metadata: { labels: { 'e2e-quota': 'patched' } }, spec: { hard: { memory: '750Mi' } } };
  const patched = await client.patch(resourceQuotas, ref, { type: 'strategic', body });
  assert.equal(patched.metadata.labels?.['e2e-quota'], 'patched');
  assert.deepEqual(patched.spec?.hard, { cpu: '1', memory: '750Mi' });
  assertNewer(patched, found!);
  await client.deleteCollection(resourceQuotas, { namespace, labelSelector });
  await assert.rejects(client.get(resourceQuotas, ref), isNotFound);
  await whenAll(client, resourceQuotas, { namespace }, (left) => left.length === 1);
});

test('[sig-api-machinery] ResourceQuota should apply changes to a resourcequota status [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'e2e-rq-status' };
  const initial = { cpu: '500m', memory: '500Mi' };
  using changes = await follow(client, resourceQuotas, { namespace });
  const created = await client.create(resourceQuotas, { metadata: ref, spec: { hard: initial } });
  assert.deepEqual(created.spec?.hard, initial);
  const hasHard = (hard: Amounts) => (object: ResourceQuota) =>
    object.status?.hard?.cpu === hard.cpu && object.status?.hard?.memory === hard.memory;

  const withStatus = (current: ResourceQuota) => ({ ...current, status: { hard: initial } });
  const updated = await change(client, resourceQuotas, ref, withStatus, 'status');
  assert.deepEqual(updated.status?.hard, updated.spec?.hard);
  await changes.until(({ object }) => hasHard(initial)(object));

  const hard = { cpu: '1', memory: '1Gi' };
  const patched = await client.patch(resourceQuotas, ref, { type: 'strategic', body: { spec: { hard } } });
  assert.deepEqual(patched.spec?.hard, hard);
  const patchStatus = (amounts: Amounts) =>
    client.patch(
      resourceQuotas,
      ref,
      { type: 'strategic', body: { status: { hard: amounts } } },
      { subresource: 'status' },
    );
  assert.deepEqual((await patchStatus(hard)).status?.hard, hard);
  await changes.until(({ object }) => hasHard(hard)(object));
  assert.deepEqual((await assertSubresourceRead(client, resourceQuotas, created)).status?.hard, hard);

  const other = { cpu: '2', memory: '2Gi' };
  const repatched = await patchStatus(other);
  assert.deepEqual(repatched.status?.hard, other);
  assert.deepEqual(repatched.spec?.hard, hard);
  await changes.until(({ object }) => hasHard(other)(object));
  assert.deepEqual((await client.get(resourceQuotas, ref)).spec?.hard, hard);
});
