/** Devices of drivers (dynamic resource allocation): from slices, classes and claims to Pods that are bound with what they asked for. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { events, nodes, type Pod, pods } from '../../src/api/gen/core-v1.ts';
import {
  type DeviceRequest,
  deviceClasses,
  type ResourceClaim,
  resourceClaims,
  resourceClaimTemplates,
  resourceSlices,
} from '../../src/api/gen/resource-v1.ts';
import { isNotFound } from '../../src/apimachinery/status.ts';
import { type CauseList, causesPath } from '../../src/reconcile/causes.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { type EmbeddedControlPlane, startControlPlane } from '../../src/testing/index.ts';

const namespace = 'default';
const driver = 'gpu.example.com';
let cluster: EmbeddedControlPlane;

before(async () => {
  cluster = await startControlPlane();
  const { client } = cluster;
  const room = { cpu: '4', memory: '4Gi', pods: '50' };
  const conditions = [{ type: 'Ready', status: 'True' as const, reason: 'ByHand', message: '' }];
  for (const [name, memory] of [
    ['one', '40Gi'],
    ['two', '80Gi'],
  ] as const) {
    const node = await client.create(nodes, { metadata: { name }, spec: {} });
    await client.updateStatus(nodes, { ...node, status: { capacity: room, allocatable: room, conditions } });
    await client.create(resourceSlices, {
      metadata: { name: `${name}-gpus` },
      spec: {
        driver,
        nodeName: name,
        pool: { name, generation: 1, resourceSliceCount: 1 },
        devices: [{ name: 'gpu-0', capacity: { memory: { value: memory } } }],
      },
    });
  }
  const selectors = [{ cel: { expression: `device.driver == "${driver}"` } }];
  await client.create(deviceClasses, { metadata: { name: 'gpu' }, spec: { selectors } });
});
after(() => cluster.stop());

function podWith(name: string, claim: NonNullable<Pod['spec']['resourceClaims']>[number]): Pod {
  const container = { name: 'c', image: 'example.com/c:1', resources: { claims: [{ name: claim.name }] } };
  return { metadata: { name, namespace }, spec: { containers: [container], resourceClaims: [claim] } };
}

const asks = (expression: string): DeviceRequest => ({
  name: 'gpu',
  exactly: { deviceClassName: 'gpu', selectors: [{ cel: { expression } }] },
});
const big = `device.capacity["${driver}"].memory.compareTo(quantity("80Gi")) == 0`;

const nodeOf = async (name: string) => (await cluster.client.get(pods, { namespace, name })).spec.nodeName;
const claimOf = (name: string): Promise<ResourceClaim> => cluster.client.get(resourceClaims, { namespace, name });
async function whyNot(name: string): Promise<string | undefined> {
  const { status } = await cluster.client.get(pods, { namespace, name });
  const condition = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return `${condition?.reason}: ${condition?.message}`;
}

test('a Pod goes where its template finds a device, the next one waits for it, and gets it when the first is gone', async () => {
  const { client } = cluster;
  const spec = { devices: { requests: [asks(big)] } };
  await client.create(resourceClaimTemplates, { metadata: { name: 'big', namespace }, spec: { spec } });
  const claim = { name: 'gpu', resourceClaimTemplateName: 'big' };
  const first = await client.create(pods, podWith('first', claim));
  await eventually(async () => assert.equal(await nodeOf('first'), 'two'));
  const { status } = await client.get(pods, { namespace, name: 'first' });
  const made = await claimOf(status?.resourceClaimStatuses?.[0]?.resourceClaimName ?? '');
  assert.deepEqual(made.metadata.finalizers, ['resource.kubernetes.io/delete-protection']);
  assert.deepEqual(made.status?.reservedFor, [{ resource: 'pods', name: 'first', uid: first.metadata.uid }]);
  assert.deepEqual(made.status?.allocation?.devices?.results, [
    { request: 'gpu', driver, pool: 'two', device: 'gpu-0' },
  ]);
  assert.ok(made.status?.allocation?.allocationTimestamp);

  await client.create(pods, podWith('second', claim));
  await eventually(async () =>
    assert.equal(
      await whyNot('second'),
      'Unschedulable: 0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.',
    ),
  );
  await client.delete(pods, { namespace, name: 'first' }, { gracePeriodSeconds: 0 });
  await eventually(async () => assert.equal(await nodeOf('second'), 'two'));
  await eventually(() => assert.rejects(claimOf(made.metadata.name ?? ''), isNotFound));
});

test('Pods share a claim, and go where its devices are', async () => {
  const { client } = cluster;
  const spec = { devices: { requests: [asks('true')] } };
  await client.create(resourceClaims, { metadata: { name: 'shared', namespace }, spec });
  for (const name of ['a', 'b', 'c'])
    await client.create(pods, podWith(name, { name: 'gpu', resourceClaimName: 'shared' }));
  for (const name of ['a', 'b', 'c']) await eventually(async () => assert.equal(await nodeOf(name), 'one'));
  const { status } = await claimOf('shared');
  assert.deepEqual(status?.reservedFor?.map(({ name }) => name).sort(), ['a', 'b', 'c']);
  for (const name of ['a', 'b', 'c']) await client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 });
  await eventually(async () => assert.equal((await claimOf('shared')).status?.allocation, undefined));
});

test('what is missing is told, and waited for', async () => {
  const { client } = cluster;
  const request = { name: 'nic', exactly: { deviceClassName: 'nic' } };
  await client.create(pods, podWith('early', { name: 'nic', resourceClaimName: 'nic' }));
  await eventually(async () => {
    const { items } = (await client.raw({ method: 'GET', path: causesPath })) as CauseList;
    const [cause] = items.filter(({ about }) => about.name === 'early');
    assert.match(cause?.message ?? '', /^could not find ResourceClaim "default\/nic"; waits for that/);
  });
  await client.create(resourceClaims, {
    metadata: { name: 'nic', namespace },
    spec: { devices: { requests: [request] } },
  });
  const unhelpful =
    'no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.';
  await eventually(async () =>
    assert.equal(
      await whyNot('early'),
      `Unschedulable: 0/2 nodes are available: request nic: device class nic does not exist. ${unhelpful}`,
    ),
  );
  await client.create(deviceClasses, { metadata: { name: 'nic' }, spec: {} });
  await eventually(async () => assert.equal(await nodeOf('early'), 'one'));
  await client.delete(pods, { namespace, name: 'early' }, { gracePeriodSeconds: 0 });
});

test('an expression that fails on a device that is free is the fault of the claim', async () => {
  const { client } = cluster;
  const requests = [asks(`device.attributes["${driver}"].none == 1`)];
  await client.create(resourceClaims, { metadata: { name: 'wrong', namespace }, spec: { devices: { requests } } });
  await client.create(pods, podWith('wrong', { name: 'gpu', resourceClaimName: 'wrong' }));
  await eventually(async () =>
    assert.equal(
      await whyNot('wrong'),
      'SchedulerError: running "DynamicResources" filter plugin: claim default/wrong: selector #0: CEL runtime error: no such key: none',
    ),
  );
});

test('a Pod is bound once the driver has made its device ready, and looks for another where that fails', async () => {
  const { client } = cluster;
  await client.create(resourceSlices, {
    metadata: { name: 'fabric' },
    spec: {
      driver: 'fabric.example.com',
      allNodes: true,
      pool: { name: 'fabric', generation: 1, resourceSliceCount: 1 },
      devices: [
        { name: 'd', bindsToNode: true, bindingConditions: ['Attached'], bindingFailureConditions: ['Broken'] },
      ],
    },
  });
  const selectors = [{ cel: { expression: 'device.driver == "fabric.example.com"' } }];
  await client.create(deviceClasses, { metadata: { name: 'fabric' }, spec: { selectors } });
  const spec = { devices: { requests: [{ name: 'd', exactly: { deviceClassName: 'fabric' } }] } };
  await client.create(resourceClaims, { metadata: { name: 'fabric', namespace }, spec });
  const tell = async (type: string, reason: string) => {
    const claim = await eventually(
      () => claimOf('fabric'),
      ({ status }) => status?.allocation !== undefined && status.devices === undefined,
    );
    const condition = {
      type,
      status: 'True' as const,
      reason,
      message: 'so it is',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const device = { driver: 'fabric.example.com', pool: 'fabric', device: 'd', conditions: [condition] };
    await client.updateStatus(resourceClaims, { ...claim, status: { ...claim.status, devices: [device] } });
  };
  await client.create(pods, podWith('attached', { name: 'fabric', resourceClaimName: 'fabric' }));
  await tell('Broken', 'NoPower');
  const told = async () => (await client.list(events, { namespace })).items.map(({ message }) => message);
  await eventually(async () =>
    assert.ok((await told()).includes('device binding failed: claim=fabric, reason=NoPower, message="so it is"')),
  );
  assert.equal(await nodeOf('attached'), undefined);
  await tell('Attached', 'Plugged');
  await eventually(async () => assert.match((await nodeOf('attached')) ?? '', /^(one|two)$/));
});

test('a claim whose devices are out of reach gets others', async () => {
  const { client } = cluster;
  const spec = { devices: { requests: [asks('true')] } };
  const claim = await client.create(resourceClaims, { metadata: { name: 'stranded', namespace }, spec });
  const matchFields = [{ key: 'metadata.name', operator: 'In' as const, values: ['gone'] }];
  const allocation = {
    devices: { results: [{ request: 'gpu', driver, pool: 'gone', device: 'gpu-0' }] },
    nodeSelector: { nodeSelectorTerms: [{ matchFields }] },
  };
  await client.updateStatus(resourceClaims, { ...claim, status: { allocation } });
  await client.create(pods, podWith('stranded', { name: 'gpu', resourceClaimName: 'stranded' }));
  await eventually(async () => assert.equal(await nodeOf('stranded'), 'one'));
  assert.equal((await claimOf('stranded')).status?.allocation?.devices?.results?.[0]?.pool, 'one');
});
