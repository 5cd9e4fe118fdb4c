/** The objects of dynamic resource allocation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type DeviceClass,
  deviceClasses,
  type ResourceClaim,
  type ResourceClaimTemplate,
  type ResourceSlice,
  resourceClaims,
  resourceClaimTemplates,
  resourceSlices,
} from '../../src/api/gen/resource-v1.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import type { ResourceType } from '../../src/apimachinery/resource.ts';
import type { Patch } from '../../src/client/index.ts';
import { startCluster } from './cluster.ts';
import {
  assertDeleted,
  assertDiscovered,
  assertNewer,
  assertOperations,
  assertSubresourceRead,
  change,
  referenceTo,
} from './operations.ts';

const { client, namespace: makeNamespace } = await startCluster();
const labels = { 'e2e-test.kubernetes.io': 'dra' };
const labelSelector = 'e2e-test.kubernetes.io=dra';

interface Changes<T> {
  readonly make: (name: string, labels?: Readonly<Record<string, string>>) => T;
  readonly update: (current: T) => T;
  /** Each is applied to an object of its own and does what the update does. */
  readonly patches: readonly Patch[];
  readonly assertChanged: (object: T) => void;
}

/** Every verb, and each patch on a new object. */
async function assertResource<T extends KubeObject>(type: ResourceType<T>, changes: Changes<T>): Promise<void> {
  const { make, update, patches, assertChanged } = changes;
  await assertDiscovered(client, type);
  await assertOperations(client, type, {
    objects: [make('first', labels), make('second', labels)],
    bystander: make('bystander'),
    labelSelector,
    async meanwhile(created) {
      const updated = await change(client, type, referenceTo(created), update);
      assertChanged(updated);
      assertNewer(updated, created);
      assertChanged(await client.get(type, referenceTo(created)));
    },
  });
  for (const patch of patches) {
    const created = await client.create(type, make('patched', labels));
    const patched = await client.patch(type, referenceTo(created), patch, patch.type === 'apply' ? byTest : {});
    assertChanged(patched);
    assertNewer(patched, created);
    await assertDeleted(client, type, created);
  }
}

const byTest = { fieldManager: 'conformance', force: true };
const label = 'test.dra.example.com';
const labelPatch = { metadata: { labels: { [label]: 'test' } } };
const withLabel = <T extends KubeObject>(current: T): T => ({
  ...current,
  metadata: { ...current.metadata, labels: { ...current.metadata.labels, [label]: 'test' } },
});
const assertLabel = (object: KubeObject) => assert.equal(object.metadata.labels?.[label], 'test');

test('[sig-node] [DRA] CRUD Tests resource.k8s.io/v1 DeviceClass [Conformance]', async () => {
  const spec = (expression: string) => ({ selectors: [{ cel: { expression } }] });
  await assertResource<DeviceClass>(deviceClasses, {
    make: (name, withLabels = {}) => ({ metadata: { name, labels: withLabels }, spec: spec('false') }),
    update: (current) => ({ ...current, spec: spec('1 == 0') }),
    patches: [{ type: 'strategic', body: { spec: spec('1 == 0') } }],
    assertChanged: (object) => assert.deepEqual(object.spec, spec('1 == 0')),
  });
});

const claimSpec = { devices: { requests: [{ name: 'req-0', exactly: { deviceClassName: 'dra.example.com' } }] } };

test('[sig-node] [DRA] CRUD Tests resource.k8s.io/v1 ResourceClaim [Conformance]', async () => {
  const namespace = await makeNamespace();
  const make = (name: string, withLabels = {}): ResourceClaim => ({
    metadata: { namespace, name, labels: withLabels },
    spec: claimSpec,
  });
  const metadata = { namespace, name: 'patched' };
  await assertResource<ResourceClaim>(resourceClaims, {
    make,
    update: withLabel,
    patches: [
      { type: 'strategic', body: labelPatch },
      { type: 'apply', body: { metadata: { ...metadata, ...labelPatch.metadata } } },
      { type: 'merge', body: labelPatch },
      { type: 'json', body: [{ op: 'add', path: `/metadata/labels/${label}`, value: 'test' }] },
    ],
    assertChanged: assertLabel,
  });

  // Nothing allocated is a valid result of allocation.
  const status = { allocation: {} };
  const patches: readonly Patch[] = [
    { type: 'strategic', body: { status } },
    { type: 'apply', body: { metadata, status } },
    { type: 'merge', body: { status } },
    { type: 'json', body: [{ op: 'add', path: '/status/allocation', value: {} }] },
  ];
  const viaStatus = { subresource: 'status' };
  for (const patch of patches) {
    const created = await client.create(resourceClaims, make('patched'));
    const ref = referenceTo(created);
    const options = patch.type === 'apply' ? { ...viaStatus, ...byTest } : viaStatus;
    const patched = await client.patch(resourceClaims, ref, patch, options);
    assert.ok(patched.status?.allocation, `${patch.type}: ${JSON.stringify(patched.status)}`);
    assert.deepEqual(patched.spec, created.spec);
    await assertDeleted(client, resourceClaims, created);
  }
  const created = await client.create(resourceClaims, make('updated'));
  const allocate = (current: ResourceClaim) => ({ ...current, status });
  await change(client, resourceClaims, referenceTo(created), allocate, 'status');
  assert.ok((await assertSubresourceRead(client, resourceClaims, created)).status?.allocation);
});

test('[sig-node] [DRA] CRUD Tests resource.k8s.io/v1 ResourceClaimTemplate [Conformance]', async () => {
  const namespace = await makeNamespace();
  await assertResource<ResourceClaimTemplate>(resourceClaimTemplates, {
    make: (name, withLabels = {}) => ({
      metadata: { namespace, name, labels: withLabels },
      spec: { spec: claimSpec },
    }),
    update: withLabel,
    patches: [{ type: 'strategic', body: labelPatch }],
    assertChanged: assertLabel,
  });
});

test('[sig-node] [DRA] CRUD Tests resource.k8s.io/v1 ResourceSlice [Conformance]', async () => {
  const devices = [{ name: 'device-0' }];
  await assertResource<ResourceSlice>(resourceSlices, {
    make: (name, withLabels = {}) => ({
      metadata: { name, labels: withLabels },
      spec: {
        driver: 'dra.example.com',
        pool: { name: 'cluster', generation: 1, resourceSliceCount: 1 },
        nodeName: 'no-such-node',
      },
    }),
    update: (current) => ({ ...current, spec: { ...current.spec, devices } }),
    patches: [{ type: 'strategic', body: { spec: { devices } } }],
    assertChanged: (object) => assert.deepEqual(object.spec.devices, devices),
  });
});
