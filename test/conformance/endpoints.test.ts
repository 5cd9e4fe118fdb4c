/** What stands behind a Service, and how many of it may be disrupted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpoints, type Pod, pods, type Service, services } from '../../src/api/gen/core-v1.ts';
import { type EndpointSlice, endpointSlices } from '../../src/api/gen/discovery-v1.ts';
import { type PodDisruptionBudget, podDisruptionBudgets } from '../../src/api/gen/policy-v1.ts';
import { systemClock } from '../../src/base/clock.ts';
import { isTooManyRequests } from '../../src/client/index.ts';
import { startCluster, when, whenAll, whenGone } from './cluster.ts';
import { isReady, startNode } from './nodes.ts';
import { assertNewer, change, referenceTo } from './operations.ts';
import { image } from './workloads.ts';

const cluster = await startCluster();
const { client, namespace: makeNamespace } = cluster;
await startNode(cluster, 'node-1');

function pod(namespace: string, name: string, labels: Record<string, string>): Pod {
  const ports = [{ name: 'example-name', containerPort: 3000 }];
  const containers = [{ name: 'c', image, ports }];
  return { metadata: { namespace, name, labels }, spec: { terminationGracePeriodSeconds: 1, containers } };
}

function service(namespace: string, name: string, selector: Record<string, string>): Service {
  return {
    metadata: { namespace, name },
    spec: { selector, ports: [{ name: 'example', port: 80, targetPort: 'example-name', protocol: 'TCP' }] },
  };
}

const ready = ({ endpoints: all }: EndpointSlice) => (all ?? []).filter(({ conditions }) => conditions?.ready);

/** Waits until the EndpointSlices of the Service hold the addresses of exactly these Ready Pods. */
async function whenSlicesHold(namespace: string, name: string, wanted: readonly string[]): Promise<void> {
  const labelSelector = `kubernetes.io/service-name=${name}`;
  const slices = await whenAll(client, endpointSlices, { namespace, labelSelector }, (all) => {
    const found = all.flatMap(ready);
    return JSON.stringify(found.map(({ targetRef }) => targetRef?.name).sort()) === JSON.stringify(wanted);
  });
  const { items } = await client.list(pods, { namespace });
  for (const endpoint of slices.flatMap(ready)) {
    const target = items.find(({ metadata }) => metadata.uid === endpoint.targetRef?.uid);
    assert.deepEqual(endpoint.addresses, [target?.status?.podIP]);
    assert.equal(endpoint.nodeName, 'node-1');
  }
  for (const slice of slices.filter((one) => (one.endpoints ?? []).length > 0))
    assert.partialDeepStrictEqual(slice.ports, [{ name: 'example', port: 3000, protocol: 'TCP' }]);
}

/** Waits until the Endpoints of the Service name exactly these Pods. */
function whenEndpointsHold(namespace: string, name: string, wanted: readonly string[]) {
  return when(client, endpoints, { namespace, name }, (object) => {
    const found = object?.subsets?.flatMap(({ addresses = [] }) => addresses.map(({ targetRef }) => targetRef?.name));
    return JSON.stringify((found ?? []).sort()) === JSON.stringify(wanted);
  });
}

async function assertFollowed(hold: (namespace: string, name: string, wanted: readonly string[]) => Promise<unknown>) {
  const namespace = await makeNamespace();
  const both = await client.create(services, service(namespace, 'example-1', { app: 'a' }));
  await client.create(services, service(namespace, 'example-2', { app: 'a', role: 'second' }));
  await hold(namespace, 'example-1', []);
  const first = await client.create(pods, pod(namespace, 'pod-1', { app: 'a' }));
  const second = await client.create(pods, pod(namespace, 'pod-2', { app: 'a', role: 'second' }));
  await hold(namespace, 'example-1', ['pod-1', 'pod-2']);
  await hold(namespace, 'example-2', ['pod-2']);
  await client.delete(pods, referenceTo(second));
  await hold(namespace, 'example-1', ['pod-1']);
  await hold(namespace, 'example-2', []);
  await client.create(pods, pod(namespace, 'pod-3', { app: 'a', role: 'second' }));
  await hold(namespace, 'example-1', ['pod-1', 'pod-3']);
  await hold(namespace, 'example-2', ['pod-3']);
  await client.delete(services, referenceTo(both));
  await whenGone(client, endpoints, referenceTo(both));
  const labelSelector = 'kubernetes.io/service-name=example-1';
  await whenAll(client, endpointSlices, { namespace, labelSelector }, (left) => left.length === 0);
  await client.get(pods, referenceTo(first));
}

test('[sig-network] EndpointSlice should create Endpoints and EndpointSlices for Pods matching a Service [Conformance]', async () => {
  await assertFollowed(async (namespace, name, wanted) => {
    await whenSlicesHold(namespace, name, wanted);
    await whenEndpointsHold(namespace, name, wanted);
  });
});

test('[sig-network] EndpointsController should create Endpoints for Pods matching a Service [Conformance]', async () => {
  await assertFollowed(whenEndpointsHold);
});

test('[sig-network] Service endpoints latency should not be very high [Conformance]', async () => {
  const namespace = await makeNamespace();
  const name = 'svc-latency-rc';
  const made = await client.create(pods, pod(namespace, name, { name }));
  await when(client, pods, referenceTo(made), (object) => object !== undefined && isReady(object));
  const latencies: number[] = [];
  for (let round = 0; round < 100; round++) {
    const started = systemClock.monotonic();
    const created = await client.create(services, service(namespace, `latency-svc-${round}`, { name }));
    await when(client, endpoints, referenceTo(created), (object) => (object?.subsets?.length ?? 0) > 0);
    latencies.push(systemClock.monotonic() - started);
  }
  const sorted = latencies.toSorted((a, b) => a - b);
  assert.ok(sorted[49]! < 20_000);
  assert.ok(sorted[89]! < 50_000);
});

const labels = { foo: 'bar' };

/** A budget that the controller has seen. */
async function budget(namespace: string, minAvailable: number | string): Promise<PodDisruptionBudget> {
  const made = await client.create(podDisruptionBudgets, {
    metadata: { namespace, name: 'foo' },
    spec: { minAvailable, selector: { matchLabels: labels } },
  });
  return (await when(
    client,
    podDisruptionBudgets,
    referenceTo(made),
    (object) => object?.status?.observedGeneration === 1,
  ))!;
}

async function runPods(namespace: string, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await client.create(pods, pod(namespace, `pod-${index}`, labels));
  await whenAll(client, pods, { namespace }, (all) => all.length === count && all.every(isReady));
}

const whenAllowed = (namespace: string, right: (allowed: number) => boolean) =>
  when(client, podDisruptionBudgets, { namespace, name: 'foo' }, (object) =>
    right(object?.status?.disruptionsAllowed ?? 0),
  );

test('[sig-apps] DisruptionController should observe PodDisruptionBudget status updated [Conformance]', async () => {
  const namespace = await makeNamespace();
  await budget(namespace, 1);
  await runPods(namespace, 3);
  await whenAllowed(namespace, (allowed) => allowed > 0);
  await whenAllowed(namespace, (allowed) => allowed === 2);
});

test('[sig-apps] DisruptionController should update/patch PodDisruptionBudget status [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await budget(namespace, 1);
  const ref = referenceTo(made);
  await runPods(namespace, 1);
  const disruptedPods = { pod: '2026-01-02T03:04:05Z' };
  const withPod = (current: PodDisruptionBudget) => ({ ...current, status: { ...current.status!, disruptedPods } });
  const updated = await change(client, podDisruptionBudgets, ref, withPod, 'status');
  assert.ok(updated.status?.disruptedPods?.pod);
  assertNewer(updated, made);
  const body = { status: { disruptedPods: { another: '2026-01-02T03:04:05Z' } } };
  const patched = await client.patch(podDisruptionBudgets, ref, { type: 'merge', body }, { subresource: 'status' });
  assert.ok(patched.status?.disruptedPods?.another);
});

test('[sig-apps] DisruptionController should block an eviction until the PDB is updated to allow it [Conformance]', async () => {
  const namespace = await makeNamespace();
  const evict = (name: string) => {
    const ref = { namespace, name };
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: ref };
    return client.createSubresource(pods, ref, 'eviction', body);
  };
  const made = await budget(namespace, 3);
  const ref = referenceTo(made);
  await runPods(namespace, 3);
  await when(client, podDisruptionBudgets, ref, (object) => object?.status?.currentHealthy === 3);
  await assert.rejects(evict('pod-0'), isTooManyRequests);
  await change(client, podDisruptionBudgets, ref, (current) => ({
    ...current,
    spec: { ...current.spec, minAvailable: 2 },
  }));
  await whenAllowed(namespace, (allowed) => allowed === 1);
  await evict('pod-0');
  await whenGone(client, pods, { namespace, name: 'pod-0' });
  await when(client, podDisruptionBudgets, ref, (object) => object?.status?.currentHealthy === 2);
  await assert.rejects(evict('pod-1'), isTooManyRequests);
  await client.patch(podDisruptionBudgets, ref, { type: 'merge', body: { spec: { minAvailable: 1 } } });
  await whenAllowed(namespace, (allowed) => allowed === 1);
  await evict('pod-1');
  await whenGone(client, pods, { namespace, name: 'pod-1' });
  await when(client, podDisruptionBudgets, ref, (object) => object?.status?.currentHealthy === 1);
  await assert.rejects(evict('pod-2'), isTooManyRequests);
  await client.delete(podDisruptionBudgets, ref);
  await whenGone(client, podDisruptionBudgets, ref);
  await evict('pod-2');
  await whenGone(client, pods, { namespace, name: 'pod-2' });
});
