/** Workloads as far as they need no node: CronJobs, disruption budgets, and a ReplicationController that a quota stops. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CronJob, cronJobs } from '../../src/api/gen/batch-v1.ts';
import { pods, replicationControllers, resourceQuotas } from '../../src/api/gen/core-v1.ts';
import { type PodDisruptionBudget, podDisruptionBudgets } from '../../src/api/gen/policy-v1.ts';
import { startCluster, when, whenAll } from './cluster.ts';
import {
  assertDeleted,
  assertDiscovered,
  assertNewer,
  assertOperations,
  assertSubresourceRead,
  assertValidVersion,
  change,
  referenceTo,
} from './operations.ts';

const { client, namespace: makeNamespace } = await startCluster();
const containers = [{ name: 'c', image: 'registry.k8s.io/pause:3.10' }];

test('[sig-apps] CronJob should support CronJob API operations [Conformance]', async () => {
  const namespace = await makeNamespace();
  const cronJob = (name: string, labels = {}): CronJob => ({
    metadata: { namespace, name, labels },
    spec: {
      schedule: '* */1 * * ?',
      concurrencyPolicy: 'Allow',
      // So that nothing but the test writes it.
      suspend: true,
      successfulJobsHistoryLimit: 1,
      failedJobsHistoryLimit: 0,
      jobTemplate: { spec: { template: { spec: { restartPolicy: 'OnFailure', containers } } } },
    },
  });
  const labels = { 'special-label': 'cronjob' };
  await assertDiscovered(client, cronJobs, ['status']);
  await assertOperations(client, cronJobs, {
    objects: [cronJob('test-api', labels), cronJob('for-removal', labels)],
    bystander: cronJob('bystander'),
    labelSelector: 'special-label=cronjob',
    async meanwhile(created) {
      const ref = referenceTo(created);
      const lastScheduleTime = '2026-01-02T03:04:05Z';
      const patched = await client.patch(
        cronJobs,
        ref,
        { type: 'merge', body: { metadata: { annotations: { patchedstatus: 'true' } }, status: { lastScheduleTime } } },
        { subresource: 'status' },
      );
      assert.equal(patched.status?.lastScheduleTime, lastScheduleTime);
      assert.equal(patched.metadata.annotations?.patchedstatus, 'true');
      const later = '2026-01-02T03:05:05Z';
      const withLater = (current: CronJob) => ({ ...current, status: { ...current.status, lastScheduleTime: later } });
      assert.equal((await change(client, cronJobs, ref, withLater, 'status')).status?.lastScheduleTime, later);
      assert.equal((await assertSubresourceRead(client, cronJobs, created)).status?.lastScheduleTime, later);
    },
  });
});

const budget = (namespace: string, name: string, minAvailable: number | string, labels = {}): PodDisruptionBudget => ({
  metadata: { namespace, name, labels },
  spec: { minAvailable, selector: { matchLabels: { foo: 'bar' } } },
});

test('[sig-apps] DisruptionController should create a PodDisruptionBudget [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'foo' };
  await client.create(podDisruptionBudgets, budget(namespace, 'foo', '1%'));
  const processed = await when(client, podDisruptionBudgets, ref, (object) => object?.status?.observedGeneration === 1);
  assert.equal(processed?.spec?.minAvailable, '1%');
  const withTwo = (current: PodDisruptionBudget) => ({ ...current, spec: { ...current.spec, minAvailable: '2%' } });
  const updated = await change(client, podDisruptionBudgets, ref, withTwo);
  assert.equal(updated.spec?.minAvailable, '2%');
  assertValidVersion(updated);
  await when(client, podDisruptionBudgets, ref, (object) => object?.status?.observedGeneration === 2);
  const body = { spec: { minAvailable: '3%' } };
  const patched = await client.patch(podDisruptionBudgets, ref, { type: 'merge', body });
  assert.equal(patched.spec?.minAvailable, '3%');
  assertNewer(patched, updated);
  await when(client, podDisruptionBudgets, ref, (object) => object?.status?.observedGeneration === 3);
  await assertDeleted(client, podDisruptionBudgets, patched);
});

test('[sig-apps] DisruptionController Listing PodDisruptionBudgets for all namespaces should list and delete a collection of PodDisruptionBudgets [Conformance]', async () => {
  const [namespace, another] = [await makeNamespace(), await makeNamespace()];
  const labels = { foo_pdb: 'bar_pdb' };
  const labelSelector = 'foo_pdb=bar_pdb';
  await client.create(podDisruptionBudgets, budget(namespace, 'foo', 2, labels));
  await client.create(podDisruptionBudgets, budget(namespace, 'foo2', '1%', labels));
  await client.create(podDisruptionBudgets, budget(another, 'foo3', 2, labels));
  const found = async (within?: string) => {
    const { items } = await client.list(podDisruptionBudgets, { namespace: within, labelSelector });
    return items.map(({ metadata }) => metadata.name).sort();
  };
  assert.deepEqual(await found(), ['foo', 'foo2', 'foo3']);
  assert.deepEqual(await found(namespace), ['foo', 'foo2']);
  await client.deleteCollection(podDisruptionBudgets, { namespace });
  await whenAll(client, podDisruptionBudgets, { namespace }, (left) => left.length === 0);
  assert.deepEqual(await found(), ['foo3']);
});

test('[sig-apps] ReplicationController should surface a failure condition on a common issue like exceeded quota [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'condition-test' };
  await client.create(resourceQuotas, { metadata: ref, spec: { hard: { pods: '2' } } });
  await when(client, resourceQuotas, ref, (object) => object?.status?.hard?.pods === '2');
  const labels = { name: 'condition-test' };
  await client.create(replicationControllers, {
    metadata: ref,
    spec: { replicas: 3, selector: labels, template: { metadata: { labels }, spec: { containers } } },
  });
  const failing = await when(client, replicationControllers, ref, (object) =>
    Boolean(object?.status?.conditions?.some(({ type }) => type === 'ReplicaFailure')),
  );
  assert.ok(failing?.status?.observedGeneration);
  assert.partialDeepStrictEqual(failing.status.conditions, [
    { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' },
  ]);
  assert.match(failing.status.conditions?.[0]?.message ?? '', /exceeded quota: condition-test/);
  assert.equal((await client.list(pods, { namespace })).items.length, 2);
  const scaled = await change(client, replicationControllers, ref, (current) => ({
    ...current,
    spec: { ...current.spec, replicas: 2 },
  }));
  await when(
    client,
    replicationControllers,
    ref,
    (object) =>
      (object?.status?.observedGeneration ?? 0) >= scaled.metadata.generation! &&
      !object?.status?.conditions?.some(({ type }) => type === 'ReplicaFailure'),
  );
});
