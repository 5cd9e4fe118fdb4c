/** Services, their Endpoints and EndpointSlices, and the Service of the API server itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Endpoints, endpoints, type Service, services } from '../../src/api/gen/core-v1.ts';
import { type EndpointSlice, endpointSlices } from '../../src/api/gen/discovery-v1.ts';
import { isNotFound } from '../../src/client/index.ts';
import { follow, startCluster, when, whenAll, whenGone } from './cluster.ts';
import {
  assertDiscovered,
  assertNewer,
  assertOperations,
  assertSubresourceRead,
  assertUpdatedAndCollected,
  assertValidVersion,
  change,
  referenceTo,
} from './operations.ts';

const { client, url, namespace: makeNamespace } = await startCluster({ advertiseAddress: '192.0.2.1' });
const apiServer = { namespace: 'default', name: 'kubernetes' };
const sliceOf = (service: string) => `kubernetes.io/service-name=${service}`;

test('[sig-network] API Server should provide secure master service [Conformance]', async () => {
  const service = await when(client, services, apiServer, (object) => object !== undefined);
  const spec = service?.spec;
  assert.partialDeepStrictEqual(spec?.ports, [{ name: 'https', port: 443, protocol: 'TCP' }]);
  assert.match(spec?.clusterIP ?? '', /^\d+\.\d+\.\d+\.\d+$/);
});

test('[sig-network] API Server should have Endpoints and EndpointSlices pointing to API Server [Conformance]', async () => {
  // The server writes them once it is ready.
  const made = await when(client, endpoints, apiServer, (object) => object !== undefined);
  const subsets = made?.subsets ?? [];
  const places = {
    addresses: subsets.flatMap((subset) => subset.addresses?.map(({ ip }) => ip) ?? []).sort(),
    ports: subsets.flatMap((subset) => subset.ports?.map(({ port }) => port) ?? []).sort(),
  };
  assert.deepEqual(places, { addresses: ['192.0.2.1'], ports: [Number(new URL(url).port)] });
  const selection = { namespace: 'default', labelSelector: sliceOf('kubernetes') };
  const all = await whenAll(client, endpointSlices, selection, (some) => some.length > 0);
  const slices = all.filter(({ addressType }) => addressType === 'IPv4');
  assert.deepEqual(
    {
      addresses: slices.flatMap((slice) => slice.endpoints?.flatMap(({ addresses }) => addresses) ?? []).sort(),
      ports: slices.flatMap((slice) => slice.ports?.map(({ port }) => port) ?? []).sort(),
    },
    places,
  );
});

test('[sig-network] Services should find a service from listing all namespaces [Conformance]', async () => {
  const { items } = await client.list(services);
  assert.ok(items.some(({ metadata }) => metadata.namespace === 'default' && metadata.name === 'kubernetes'));
});

test('[sig-network] Services should complete a service status lifecycle [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'test-service' };
  using changes = await follow(client, services, { namespace, labelSelector: 'test-service-static=true' });
  const created = await client.create(services, {
    metadata: { ...ref, labels: { 'test-service-static': 'true' } },
    spec: {
      type: 'LoadBalancer',
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 80 }],
      loadBalancerClass: 'example.com/internal-vip',
    },
  });
  assert.equal((await changes.next()).type, 'ADDED');
  assert.deepEqual((await assertSubresourceRead(client, services, created)).status, { loadBalancer: {} });

  const loadBalancer = { ingress: [{ ip: '203.0.113.1', ipMode: 'VIP' }] };
  await client.patch(
    services,
    ref,
    {
      type: 'merge',
      body: {
        metadata: { annotations: { patchedstatus: 'true' } },
        status: { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } },
      },
    },
    { subresource: 'status' },
  );
  const patched = await changes.until(({ object }) => object.metadata.annotations?.patchedstatus === 'true');
  assert.equal(patched.type, 'MODIFIED');
  assert.deepEqual(patched.object.status?.loadBalancer, loadBalancer);

  const condition = { type: 'StatusUpdate', status: 'True', reason: 'E2E', message: 'Set from e2e test' };
  await change(
    client,
    services,
    ref,
    // A condition needs a time; Go's clients write null for none, and upstream's validation lets that pass.
    (current) => ({
      ...current,
      status: { ...current.status, conditions: [{ ...condition, lastTransitionTime: null as unknown as string }] },
    }),
    'status',
  );
  const updated = await changes.until(({ object }) => object.status?.conditions !== undefined);
  assert.partialDeepStrictEqual(updated.object.status, { loadBalancer, conditions: [condition] });

  const body = { metadata: { labels: { 'test-service': 'patched' } } };
  await client.patch(services, ref, { type: 'strategic', body });
  const labelled = await changes.until(({ object }) => object.metadata.labels?.['test-service'] === 'patched');
  assert.deepEqual(labelled.object.status, updated.object.status);
  await client.delete(services, ref);
  await changes.until(({ type }) => type === 'DELETED');
  await assert.rejects(client.get(services, ref), isNotFound);
});

test('[sig-network] Services should delete a collection of services [Conformance]', async () => {
  const namespace = await makeNamespace();
  const make = (name: string, port: number) =>
    client.create(services, {
      metadata: { namespace, name },
      spec: { type: 'ClusterIP', ports: [{ name: 'http', protocol: 'TCP', port, targetPort: port }] },
    });
  const created = [await make('e2e-svc-a', 8001), await make('e2e-svc-b', 8002)];
  await make('e2e-svc-c', 8003);
  assert.equal((await client.list(services, { namespace })).items.length, 3);
  await assertUpdatedAndCollected(client, services, created);
  const { items } = await client.list(services, { namespace });
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ['e2e-svc-c'],
  );
});

const withoutPods = (namespace: string): Service => ({
  metadata: { namespace, name: 'example-empty-selector' },
  spec: {
    selector: { 'does-not-match-anything': 'endpoints-and-endpoint-slices-should-still-be-created' },
    ports: [{ name: 'example', port: 80, protocol: 'TCP' }],
  },
});

test('[sig-network] EndpointsController should create and delete Endpoints for a Service with a selector that matches no pods [Conformance]', async () => {
  const namespace = await makeNamespace();
  const service = await client.create(services, withoutPods(namespace));
  const made = await when(client, endpoints, referenceTo(service), (object) => object !== undefined);
  assert.deepEqual(made?.subsets ?? [], []);
  await client.delete(services, referenceTo(service));
  await whenGone(client, endpoints, referenceTo(service));
});

test('[sig-network] EndpointSlice should create and delete EndpointSlices for a Service with a selector that matches no pods [Conformance]', async () => {
  const namespace = await makeNamespace();
  const service = await client.create(services, withoutPods(namespace));
  const selection = { namespace, labelSelector: sliceOf(service.metadata.name!) };
  const [slice] = await whenAll(client, endpointSlices, selection, (slices) => slices.length === 1);
  assert.equal(slice?.metadata.labels?.['endpointslice.kubernetes.io/managed-by'], 'endpointslice-controller.k8s.io');
  assert.deepEqual(slice?.endpoints ?? [], []);
  await client.delete(services, referenceTo(service));
  await whenAll(client, endpointSlices, selection, (slices) => slices.length === 0);
});

test('[sig-network] EndpointSliceMirroring should mirror a custom Endpoints resource through create update and delete [Conformance]', async () => {
  await assertDiscovered(client, endpointSlices);
  const namespace = await makeNamespace();
  const name = 'example-custom-endpoints';
  await client.create(services, {
    metadata: { namespace, name },
    spec: { ports: [{ name: 'example', port: 80, protocol: 'TCP' }] },
  });
  const custom = (ip: string): Endpoints => ({
    metadata: { namespace, name },
    subsets: [{ ports: [{ port: 80 }], addresses: [{ ip }] }],
  });
  const selection = { namespace, labelSelector: sliceOf(name) };
  const mirrors = (ip: string) => (slices: readonly EndpointSlice[]) =>
    slices.length === 1 &&
    slices[0]?.ports?.length === 1 &&
    slices[0].ports[0]?.port === 80 &&
    JSON.stringify(slices[0].endpoints?.map(({ addresses }) => addresses)) === JSON.stringify([[ip]]);
  await client.create(endpoints, custom('10.1.2.3'));
  await whenAll(client, endpointSlices, selection, mirrors('10.1.2.3'));
  await client.update(endpoints, custom('10.2.3.4'));
  await whenAll(client, endpointSlices, selection, mirrors('10.2.3.4'));
  await client.delete(endpoints, { namespace, name });
  await whenAll(client, endpointSlices, selection, (slices) => slices.length === 0);
});

test('[sig-network] EndpointSlice should support creating EndpointSlice API operations [Conformance]', async () => {
  const namespace = await makeNamespace();
  const slice: EndpointSlice = {
    metadata: { namespace, generateName: 'e2e-example-ing', labels: { 'special-label': 'slices' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['1.2.3.4', '5.6.7.8'] }, { addresses: ['2.2.3.4', '6.6.7.8'] }],
  };
  await assertDiscovered(client, endpointSlices);
  await assertOperations(client, endpointSlices, {
    objects: [slice, slice, slice],
    bystander: { ...slice, metadata: { namespace, name: 'bystander' } },
    labelSelector: 'special-label=slices',
  });
});

test('[sig-network] Endpoints should test the lifecycle of an Endpoint [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ref = { namespace, name: 'testservice' };
  const labels = { 'test-endpoint-static': 'true' };
  const labelSelector = 'test-endpoint-static=true';
  using changes = await follow(client, endpoints, { namespace, labelSelector });
  const created = await client.create(endpoints, {
    metadata: { ...ref, labels },
    subsets: [{ addresses: [{ ip: '10.0.0.24' }], ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }],
  });
  assertValidVersion(created);
  assert.equal((await changes.next()).type, 'ADDED');
  const [found, ...more] = (await client.list(endpoints, { labelSelector })).items;
  assert.deepEqual(more, []);
  assert.equal(found?.metadata.uid, created.metadata.uid);
  await client.update(endpoints, {
    ...found!,
    metadata: { ...found!.metadata, labels: { ...labels, 'test-service': 'updated' } },
  });
  const updated = await changes.next();
  assert.equal(updated.type, 'MODIFIED');
  assert.equal(updated.object.metadata.labels?.['test-service'], 'updated');
  assert.equal((await client.get(endpoints, ref)).metadata.labels?.['test-service'], 'updated');

  const subsets = [{ addresses: [{ ip: '10.0.0.25' }], ports: [{ name: 'http-test', port: 8080 }] }];
  const body = { metadata: { labels: { 'test-service': 'patched' } }, subsets };
  assertNewer(await client.patch(endpoints, ref, { type: 'strategic', body }), created);
  assert.equal((await changes.next()).type, 'MODIFIED');
  const patched = await client.get(endpoints, ref);
  assert.equal(patched.metadata.labels?.['test-service'], 'patched');
  assert.deepEqual(patched.subsets, [
    { addresses: [{ ip: '10.0.0.25' }], ports: [{ name: 'http-test', port: 8080, protocol: 'TCP' }] },
  ]);
  await client.deleteCollection(endpoints, { namespace, labelSelector });
  assert.equal((await changes.next()).type, 'DELETED');
  await assert.rejects(client.get(endpoints, ref), isNotFound);
});
