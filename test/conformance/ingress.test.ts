/** Ingresses, their classes, and the addresses of Services as objects. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Ingress,
  type IPAddress,
  ingressClasses,
  ingresses,
  ipAddresses,
  serviceCIDRs,
} from '../../src/api/gen/networking-v1.ts';
import { follow, startCluster } from './cluster.ts';
import { assertDiscovered, assertOperations, assertSubresourceRead, change, referenceTo } from './operations.ts';

const { client, namespace: makeNamespace } = await startCluster();
const labels = { purpose: 'conformance' };
const labelSelector = 'purpose=conformance';

test('[sig-network] Ingress API should support creating Ingress API operations [Conformance]', async () => {
  const namespace = await makeNamespace();
  const ingress = (host: string): Ingress => ({
    metadata: { generateName: 'e2e-example-ing', namespace, labels },
    spec: {
      defaultBackend: { service: { name: 'default-backend', port: { number: 8080 } } },
      rules: [
        {
          host,
          http: {
            paths: [
              {
                path: '/',
                pathType: 'ImplementationSpecific',
                backend: { service: { name: 'test-backend', port: { number: 8080 } } },
              },
            ],
          },
        },
      ],
    },
  });
  await assertDiscovered(client, ingresses, ['status']);
  await assertOperations(client, ingresses, {
    objects: ['host1.bar.com', 'host2.bar.com', 'host3.bar.com'].map(ingress),
    bystander: { ...ingress('host4.bar.com'), metadata: { name: 'bystander', namespace } },
    labelSelector,
    async meanwhile(created) {
      const ref = referenceTo(created);
      const loadBalancer = { ingress: [{ ip: '169.1.1.1' }] };
      const patched = await client.patch(
        ingresses,
        ref,
        { type: 'merge', body: { metadata: { annotations: { patchedstatus: 'true' } }, status: { loadBalancer } } },
        { subresource: 'status' },
      );
      assert.deepEqual(patched.status?.loadBalancer, loadBalancer);
      assert.equal(patched.metadata.annotations?.patchedstatus, 'true');
      const other = { loadBalancer: { ingress: [{ ip: '169.1.1.2' }] } };
      await change(client, ingresses, ref, (current) => ({ ...current, status: other }), 'status');
      const read = await assertSubresourceRead(client, ingresses, created);
      assert.deepEqual(read.status, other);
      assert.deepEqual(read.spec, created.spec);
    },
  });
});

test('[sig-network] IngressClass API should support creating IngressClass API operations [Conformance]', async () => {
  const spec = { controller: 'example.com/controller' };
  await assertDiscovered(client, ingressClasses);
  await assertOperations(client, ingressClasses, {
    objects: [1, 2, 3].map((index) => ({ metadata: { name: `ingressclass${index}`, labels }, spec })),
    bystander: { metadata: { name: 'bystander' }, spec },
    labelSelector,
  });
});

test('[sig-network] ServiceCIDR and IPAddress API should support ServiceCIDR API operations [Conformance]', async () => {
  await assertDiscovered(client, serviceCIDRs, ['status']);
  const standard = await client.get(serviceCIDRs, { name: 'kubernetes' });
  await assertSubresourceRead(client, serviceCIDRs, standard);
  const { items, resourceVersion } = await client.list(serviceCIDRs);
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ['kubernetes'],
  );
  using changes = await follow(client, serviceCIDRs, { resourceVersion });

  // The rest is the description's: every verb, and writing the status.
  await assertOperations(client, serviceCIDRs, {
    objects: [1, 2, 3].map((index) => ({
      metadata: { name: `more${index}`, labels },
      spec: { cidrs: [`10.200.${index}.0/24`] },
    })),
    labelSelector,
    async meanwhile(created) {
      const ref = referenceTo(created);
      const condition = { type: 'E2E', status: 'True', reason: 'E2E', message: 'Set from an e2e test' };
      const conditions = [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }];
      const body = { status: { conditions } };
      const patched = await client.patch(serviceCIDRs, ref, { type: 'merge', body }, { subresource: 'status' });
      assert.deepEqual(patched.status?.conditions, conditions);
      const none = (current: typeof created) => ({ ...current, status: { conditions: [] } });
      const updated = await change(client, serviceCIDRs, ref, none, 'status');
      assert.equal(
        updated.status?.conditions?.find(({ type }) => type === 'E2E'),
        undefined,
      );
    },
  });
  assert.equal((await changes.next()).type, 'ADDED');
});

test('[sig-network] ServiceCIDR and IPAddress API should support IPAddress API operations [Conformance]', async () => {
  const address = (name: string, type: string): IPAddress => ({
    metadata: { name, labels: { type } },
    spec: { parentRef: { group: 'mygroup', resource: 'myresources', namespace: 'foo', name: 'bar' } },
  });
  await assertDiscovered(client, ipAddresses);
  await assertOperations(client, ipAddresses, {
    objects: [address('255.255.255.255', 'e2e'), address('10.200.0.1', 'e2e')],
    bystander: address('fe80::42:1dff:fe84:f9e2', 'link-local'),
    labelSelector: 'type=e2e',
  });
  await client.deleteCollection(ipAddresses, { labelSelector: 'type=link-local' });
  assert.deepEqual((await client.list(ipAddresses, { labelSelector: 'type=link-local' })).items, []);
});
