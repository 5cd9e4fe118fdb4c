import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpoints, nodes, type Pod, pods, type Service, services } from '../../api/gen/core-v1.ts';
import { endpointSlices } from '../../api/gen/discovery-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runEndpointsController } from '../endpoints/endpoints-controller.ts';
import { runEndpointSliceController } from './endpointslice-controller.ts';

const web = (spec: Partial<Service['spec']> = {}): Service => ({
  metadata: { namespace: 'default', name: 'web', labels: { team: 'blue' } },
  spec: {
    clusterIP: '10.0.0.9',
    ipFamilies: ['IPv4'],
    selector: { app: 'web' },
    ports: [{ name: 'http', port: 80, targetPort: 'web', protocol: 'TCP' }],
    ...spec,
  },
});

async function addPod(
  cluster: MemoryCluster,
  number: number,
  ready = true,
  spec: Partial<Pod['spec']> = {},
): Promise<void> {
  const containers = [{ name: 'c', image: 'i', ports: [{ name: 'web', containerPort: 8080 }] }];
  const metadata = { namespace: 'default', name: `web-${number}`, labels: { app: 'web' } };
  await cluster.client.create(pods, { metadata, spec: { nodeName: 'n1', containers, ...spec } });
  setReady(cluster, number, ready);
}

function setReady(cluster: MemoryCluster, number: number, ready: boolean): void {
  cluster.api.alter(pods, `default/web-${number}`, (pod) => {
    const ip = `10.1.${Math.floor(number / 250)}.${number % 250}`;
    pod.status = {
      phase: 'Running',
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    };
  });
}

async function start(service: Service): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  const labels = { 'topology.kubernetes.io/zone': 'z1' };
  await cluster.client.create(nodes, { metadata: { name: 'n1', labels }, spec: {} });
  cluster.run(runEndpointSliceController);
  cluster.run(runEndpointsController);
  await cluster.client.create(services, service);
  await cluster.settle();
  return cluster;
}

const slices = ({ api }: MemoryCluster) => api.all(endpointSlices);

test('a Service without Pods has one empty slice and an empty Endpoints object', async () => {
  await using cluster = await start(web());
  assert.equal(slices(cluster).length, 1);
  assert.deepEqual(slices(cluster)[0]?.endpoints ?? [], []);
  assert.deepEqual(cluster.api.find(endpoints, 'default/web')?.subsets ?? [], []);
});

test('a Pod becomes an endpoint with its named port, node, zone and conditions', async () => {
  await using cluster = await start(web());
  await addPod(cluster, 1);
  await cluster.settle();
  const [slice, ...others] = slices(cluster);
  assert.deepEqual(others, []);
  const uid = cluster.api.find(pods, 'default/web-1')?.metadata.uid;
  assert.deepEqual(slice?.endpoints, [
    {
      addresses: ['10.1.0.1'],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: 'Pod', namespace: 'default', name: 'web-1', uid },
      nodeName: 'n1',
      zone: 'z1',
    },
  ]);
  assert.deepEqual(slice?.ports, [{ name: 'http', port: 8080, protocol: 'TCP' }]);
  assert.equal(slice?.metadata.labels?.['kubernetes.io/service-name'], 'web');
  assert.equal(slice?.metadata.labels?.['endpointslice.kubernetes.io/managed-by'], 'endpointslice-controller.k8s.io');
  assert.equal(slice?.metadata.labels?.team, 'blue');
  assert.match(slice?.metadata.name ?? '', /^web-[a-z0-9]{5}$/);
  assert.equal(slice?.metadata.ownerReferences?.[0]?.kind, 'Service');
  assert.deepEqual(cluster.api.find(endpoints, 'default/web')?.subsets, [
    {
      addresses: [
        { ip: '10.1.0.1', nodeName: 'n1', targetRef: { kind: 'Pod', namespace: 'default', name: 'web-1', uid } },
      ],
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    },
  ]);
  assert.deepEqual(cluster.complaints, []);
});

test('readiness, termination and the end of a Pod show', async () => {
  await using cluster = await start(web());
  await addPod(cluster, 1);
  await addPod(cluster, 2, false);
  await cluster.settle();
  const conditions = () =>
    Object.fromEntries((slices(cluster)[0]?.endpoints ?? []).map((one) => [one.targetRef?.name, one.conditions]));
  assert.equal(conditions()['web-2']?.ready, false);
  assert.equal(cluster.api.find(endpoints, 'default/web')?.subsets?.[0]?.notReadyAddresses?.length, 1);
  await cluster.client.delete(pods, { namespace: 'default', name: 'web-1' });
  await cluster.settle();
  assert.deepEqual(conditions()['web-1'], { ready: false, serving: true, terminating: true });
  assert.equal(cluster.api.find(endpoints, 'default/web')?.subsets?.[0]?.addresses, undefined);
  cluster.api.erase(pods, 'default/web-1');
  await cluster.settle();
  assert.deepEqual(Object.keys(conditions()), ['web-2']);
});

test('publishNotReadyAddresses makes every Pod ready', async () => {
  await using cluster = await start(web({ publishNotReadyAddresses: true }));
  await addPod(cluster, 1, false);
  await cluster.settle();
  assert.deepEqual(slices(cluster)[0]?.endpoints?.[0]?.conditions, { ready: true, serving: false, terminating: false });
  assert.equal(cluster.api.find(endpoints, 'default/web')?.subsets?.[0]?.addresses?.length, 1);
});

test('a headless Service is labelled so, and its Pods keep their hostnames', async () => {
  await using cluster = await start(web({ clusterIP: 'None', ports: [] }));
  await addPod(cluster, 1, true, { hostname: 'db-0', subdomain: 'web' });
  await cluster.settle();
  assert.equal(slices(cluster)[0]?.metadata.labels?.['service.kubernetes.io/headless'], '');
  assert.equal(slices(cluster)[0]?.endpoints?.[0]?.hostname, 'db-0');
  assert.equal(cluster.api.find(endpoints, 'default/web')?.subsets?.[0]?.addresses?.[0]?.hostname, 'db-0');
});

test('250 Pods make three slices of at most 100, and a change of one writes one', async () => {
  await using cluster = await start(web());
  for (let number = 1; number <= 250; number++) await addPod(cluster, number);
  await cluster.settle();
  const sizes = slices(cluster).map((slice) => slice.endpoints?.length ?? 0);
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    250,
  );
  assert.ok(
    sizes.every((size) => size <= 100),
    sizes.join(),
  );
  const before = cluster.api.writes.length;
  setReady(cluster, 7, false);
  await cluster.settle();
  assert.equal(cluster.api.writes.slice(before).filter(({ path }) => path.includes('endpointslices')).length, 1);
});

test('a dual-stack Service has slices of both families', async () => {
  await using cluster = await start(web({ ipFamilies: ['IPv4', 'IPv6'] }));
  await addPod(cluster, 1);
  cluster.api.alter(pods, 'default/web-1', (pod) => {
    pod.status = { ...pod.status, podIPs: [{ ip: '10.1.0.1' }, { ip: 'fd00::1' }] };
  });
  await cluster.settle();
  const byType = Object.fromEntries(
    slices(cluster).map((slice) => [slice.addressType, slice.endpoints?.[0]?.addresses]),
  );
  assert.deepEqual(byType, { IPv4: ['10.1.0.1'], IPv6: ['fd00::1'] });
});

test('a Service without selector is left to its owner', async () => {
  await using cluster = await start(web({ selector: undefined }));
  assert.deepEqual(slices(cluster), []);
  assert.equal(cluster.api.find(endpoints, 'default/web'), undefined);
});

test('the Endpoints object goes with its Service', async () => {
  await using cluster = await start(web());
  await cluster.client.delete(services, { namespace: 'default', name: 'web' });
  await cluster.settle();
  assert.equal(cluster.api.find(endpoints, 'default/web'), undefined);
});
