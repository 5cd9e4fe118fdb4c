/** What the API server does to Pods and to the objects that shape them: RuntimeClasses, LimitRanges, PriorityClasses, templates. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type LimitRange,
  limitRanges,
  nodes,
  type Pod,
  type PodTemplate,
  pods,
  podTemplates,
} from '../../src/api/gen/core-v1.ts';
import { runtimeClasses } from '../../src/api/gen/node-v1.ts';
import { type PriorityClass, priorityClasses } from '../../src/api/gen/scheduling-v1.ts';
import { isForbidden, isInvalid } from '../../src/client/index.ts';
import { follow, startCluster } from './cluster.ts';
import {
  assertDeleted,
  assertDiscovered,
  assertNewer,
  assertOperations,
  assertReadAndPatched,
  assertUpdatedAndCollected,
  assertValidVersion,
  change,
  referenceTo,
} from './operations.ts';

const { client, namespace: makeNamespace } = await startCluster();
const image = 'registry.k8s.io/pause:3.10';

test('[sig-node] Pods Extended Pods Set QOS Class should be set on Pods with matching resource requests and limits for memory and cpu [Conformance]', async () => {
  const namespace = await makeNamespace();
  const amounts = { cpu: '100m', memory: '100Mi' };
  const resources = { limits: amounts, requests: amounts };
  const ref = { namespace, name: 'pod-qos-class' };
  await client.create(pods, { metadata: ref, spec: { containers: [{ name: 'agnhost', image, resources }] } });
  assert.equal((await client.get(pods, ref)).status?.qosClass, 'Guaranteed');
});

async function assertRejected(namespace: string, runtimeClassName: string): Promise<void> {
  const pod: Pod = {
    metadata: { namespace, generateName: 'test-runtimeclass-' },
    spec: { runtimeClassName, containers: [{ name: 'test', image }] },
  };
  await assert.rejects(client.create(pods, pod, { dryRun: true }), isForbidden);
  await assert.rejects(client.create(pods, pod), isForbidden);
  assert.deepEqual((await client.list(pods, { namespace })).items, []);
}

test('[sig-node] RuntimeClass should reject a Pod requesting a non-existent RuntimeClass [NodeConformance] [Conformance]', async () => {
  await assertRejected(await makeNamespace(), 'nonexistent');
});

test('[sig-node] RuntimeClass should reject a Pod requesting a deleted RuntimeClass [NodeConformance] [Conformance]', async () => {
  const namespace = await makeNamespace();
  const created = await client.create(runtimeClasses, { metadata: { name: 'delete-me' }, handler: 'runc' });
  await assertDeleted(client, runtimeClasses, created);
  await assertRejected(namespace, 'delete-me');
});

test('[sig-node] RuntimeClass should support RuntimeClasses API operations [Conformance]', async () => {
  const labels = { test: 'runtimeclass' };
  await assertDiscovered(client, runtimeClasses);
  await assertOperations(client, runtimeClasses, {
    objects: [1, 2, 3].map((index) => ({ metadata: { name: `class${index}`, labels }, handler: `handler${index}` })),
    bystander: { metadata: { name: 'bystander' }, handler: 'other' },
    labelSelector: 'test=runtimeclass',
  });
});

const template = (namespace: string, name: string, labels = {}): PodTemplate => ({
  metadata: { namespace, name, labels },
  template: { spec: { containers: [{ name: 'nginx', image }] } },
});

test('[sig-node] PodTemplates should run the lifecycle of PodTemplates [Conformance]', async () => {
  const namespace = await makeNamespace();
  const everywhere = { labelSelector: 'podtemplate-static=true' };
  assert.deepEqual((await client.list(podTemplates, everywhere)).items, []);
  const created = await client.create(podTemplates, template(namespace, 'lives', { 'podtemplate-static': 'true' }));
  await assertReadAndPatched(client, podTemplates, created);
  const { items } = await client.list(podTemplates, everywhere);
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ['lives'],
  );
  await assertDeleted(client, podTemplates, created);
  assert.deepEqual((await client.list(podTemplates, everywhere)).items, []);
});

test('[sig-node] PodTemplates should delete a collection of pod templates [Conformance]', async () => {
  const namespace = await makeNamespace();
  const names = ['test-podtemplate-1', 'test-podtemplate-2', 'test-podtemplate-3'];
  await client.create(podTemplates, template(namespace, 'bystander'));
  const created: PodTemplate[] = [];
  for (const name of names) created.push(await client.create(podTemplates, template(namespace, name)));
  await assertUpdatedAndCollected(client, podTemplates, created);
});

test('[sig-node] PodTemplates should replace a pod template [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'replaced' };
  const created = await client.create(podTemplates, template(namespace, 'replaced'));
  const replaced = await change(client, podTemplates, ref, (current) => ({
    ...current,
    metadata: { ...current.metadata, annotations: { updated: 'true' } },
  }));
  assert.deepEqual(replaced.metadata.annotations, { updated: 'true' });
  assertNewer(replaced, created);
  assert.deepEqual((await client.get(podTemplates, ref)).metadata.annotations, { updated: 'true' });
});

test('[sig-node] Node Lifecycle should run through the lifecycle of a node [Conformance]', async () => {
  const conditions = [{ type: 'Ready', status: 'True', reason: 'E2E', message: 'Set from e2e test' }];
  const created = await client.create(nodes, {
    metadata: { name: 'e2e-fake-node' },
    spec: { unschedulable: true },
    status: { phase: 'Running', conditions },
  });
  assert.equal(created.metadata.name, 'e2e-fake-node');
  assert.partialDeepStrictEqual(created.status, { phase: 'Running', conditions });
  await assertReadAndPatched(client, nodes, created);
  const updated = await change(client, nodes, referenceTo(created), (current) => ({
    ...current,
    metadata: { ...current.metadata, labels: { ...current.metadata.labels, lifecycle: 'updated' } },
  }));
  assert.equal(updated.metadata.labels?.lifecycle, 'updated');
  await assertDeleted(client, nodes, created);
});

const amounts = (cpu: string, memory: string, storage: string) => ({ cpu, memory, 'ephemeral-storage': storage });
const limits = {
  type: 'Container',
  min: amounts('50m', '100Mi', '100Gi'),
  max: amounts('500m', '500Mi', '500Gi'),
  default: amounts('500m', '500Mi', '500Gi'),
  defaultRequest: amounts('100m', '200Mi', '200Gi'),
};

test('[sig-scheduling] LimitRange should create a LimitRange with defaults and ensure pod has those defaults applied. [Conformance]', async () => {
  const namespace = await makeNamespace();
  const submit = (name: string, requests?: Record<string, string>, asked?: Record<string, string>) => {
    const resources = { ...(requests && { requests }), ...(asked && { limits: asked }) };
    return client.create(pods, {
      metadata: { namespace, name },
      spec: { containers: [1, 2].map((index) => ({ name: `pause-${index}`, image, resources })) },
    });
  };
  const resourcesOf = async (name: string) =>
    (await client.get(pods, { namespace, name })).spec.containers.map(({ resources }) => resources);
  const twice = <T>(value: T) => [value, value];

  using changes = await follow(client, limitRanges, { namespace, labelSelector: 'time=now' });
  const limitRange: LimitRange = {
    metadata: { namespace, name: 'limit-range', labels: { time: 'now' } },
    spec: { limits: [limits] },
  };
  const created = await client.create(limitRanges, limitRange);
  assert.equal((await changes.next()).type, 'ADDED');
  assert.deepEqual((await client.get(limitRanges, referenceTo(limitRange))).spec, limitRange.spec);

  await submit('no-resources');
  const standard = { limits: limits.default, requests: limits.defaultRequest };
  assert.deepEqual(await resourcesOf('no-resources'), twice(standard));
  await submit('partial', { memory: '150Mi', 'ephemeral-storage': '150Gi' }, { cpu: '300m' });
  assert.deepEqual(
    await resourcesOf('partial'),
    twice({ limits: amounts('300m', '500Mi', '500Gi'), requests: amounts('300m', '150Mi', '150Gi') }),
  );
  await assert.rejects(submit('small', amounts('10m', '50Mi', '50Gi')), isForbidden);
  await assert.rejects(submit('large', amounts('600m', '600Mi', '600Gi')), { code: 422 });
  await assert.rejects(submit('large', {}, amounts('600m', '600Mi', '600Gi')), isForbidden);

  const min = amounts('9m', '49Mi', '49Gi');
  await client.update(limitRanges, { ...created, spec: { limits: [{ ...limits, min }] } });
  assert.equal((await changes.next()).type, 'MODIFIED');
  assert.deepEqual((await client.get(limitRanges, referenceTo(limitRange))).spec?.limits?.[0]?.min, min);
  await submit('small', amounts('10m', '50Mi', '50Gi'));
  await assert.rejects(submit('large', {}, amounts('600m', '600Mi', '600Gi')), isForbidden);

  await assertDeleted(client, limitRanges, created);
  await submit('large', amounts('600m', '600Mi', '600Gi'));
  assert.deepEqual(await resourcesOf('large'), twice({ requests: amounts('600m', '600Mi', '600Gi') }));
});

test('[sig-scheduling] LimitRange should list, patch and delete a LimitRange by collection [Conformance]', async () => {
  const namespaces = [await makeNamespace(), await makeNamespace()];
  const metadata = { name: 'e2e-limitrange', labels: { 'e2e-test': 'limits', state: 'created' } };
  const [first] = await Promise.all(
    namespaces.map((namespace) =>
      client.create(limitRanges, { metadata: { ...metadata, namespace }, spec: { limits: [limits] } }),
    ),
  );
  assertValidVersion(first!);
  const found = async () => {
    const { items } = await client.list(limitRanges, { labelSelector: 'e2e-test=limits' });
    return items.map((item) => item.metadata.namespace).sort();
  };
  assert.deepEqual(await found(), namespaces.toSorted());
  const min = amounts('9m', '49Mi', '49Gi');
  const body = { metadata: { labels: { state: 'patched' } }, spec: { limits: [{ ...limits, min }] } };
  const patched = await client.patch(limitRanges, referenceTo(first!), { type: 'strategic', body });
  assert.equal(patched.metadata.labels?.state, 'patched');
  assert.deepEqual(patched.spec?.limits, [{ ...limits, min }]);
  assertNewer(patched, first!);
  await client.deleteCollection(limitRanges, { namespace: namespaces[0], labelSelector: 'state=patched' });
  assert.deepEqual(await found(), [namespaces[1]]);
});

test('[sig-scheduling] SchedulerPreemption [Serial] PriorityClass endpoints verify PriorityClass endpoints can be operated with different HTTP methods [Conformance]', async () => {
  const make = (name: string, value: number) =>
    client.create(priorityClasses, { metadata: { name, labels: { e2e: 'priority' } }, value });
  const [p1, p2] = [await make('p1', 1), await make('p2', 2)];
  const patch = (type: 'strategic' | 'merge', body: Partial<PriorityClass>) =>
    client.patch(priorityClasses, { name: 'p1' }, { type, body });
  await assert.rejects(patch('strategic', { value: 10 }), isInvalid);
  await assert.rejects(client.update(priorityClasses, { ...p2, value: 20 }), isInvalid);
  const description = 'updated description';
  await patch('strategic', { description });
  await client.update(priorityClasses, { ...p2, description });
  const { items } = await client.list(priorityClasses, { labelSelector: 'e2e=priority' });
  assert.deepEqual(
    items.map((item) => [item.metadata.name, item.value, item.description]),
    [
      ['p1', 1, description],
      ['p2', 2, description],
    ],
  );
  for (const before of [p1, p2]) {
    assertNewer(await client.get(priorityClasses, referenceTo(before)), before);
  }
});
