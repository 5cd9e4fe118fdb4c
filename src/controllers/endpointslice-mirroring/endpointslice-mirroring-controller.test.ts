import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EndpointSubset, endpoints, services } from '../../api/gen/core-v1.ts';
import { endpointSlices } from '../../api/gen/discovery-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runEndpointSliceMirroringController } from './endpointslice-mirroring-controller.ts';

const at = { namespace: 'a', name: 'db' };

async function start(selector?: Record<string, string>, labels: Record<string, string> = {}): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  cluster.run(runEndpointSliceMirroringController);
  await cluster.client.create(services, { metadata: at, spec: { selector } });
  await cluster.client.create(endpoints, {
    metadata: { ...at, labels: { team: 'blue', ...labels } },
    subsets: subsets(['10.0.0.1', 'fd00::1']),
  });
  await cluster.settle();
  return cluster;
}

const subsets = (ips: readonly string[]): EndpointSubset[] => [
  { addresses: ips.map((ip) => ({ ip })), ports: [{ port: 5432 }] },
];
const mirrored = ({ api }: MemoryCluster) =>
  Object.fromEntries(
    api.all(endpointSlices).map((slice) => [slice.addressType, slice.endpoints?.flatMap(({ addresses }) => addresses)]),
  );

test('hand-made Endpoints are mirrored by family, followed, and the mirror goes with them', async () => {
  await using cluster = await start();
  assert.deepEqual(mirrored(cluster), { IPv4: ['10.0.0.1'], IPv6: ['fd00::1'] });
  const [slice] = cluster.api.all(endpointSlices);
  assert.deepEqual(slice?.metadata.labels, {
    team: 'blue',
    'kubernetes.io/service-name': 'db',
    'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
  });
  assert.deepEqual(slice?.ports, [{ name: '', port: 5432, protocol: 'TCP' }]);
  const live = await cluster.client.get(endpoints, at);
  await cluster.client.update(endpoints, { ...live, subsets: subsets(['10.0.0.1', '10.0.0.2']) });
  await cluster.settle();
  assert.deepEqual(mirrored(cluster), { IPv4: ['10.0.0.1', '10.0.0.2'] });
  await cluster.client.delete(endpoints, at);
  await cluster.settle();
  assert.deepEqual(mirrored(cluster), {});
  assert.deepEqual(cluster.complaints, []);
});

test('Services with selector and Endpoints that ask for it are not mirrored', async () => {
  await using selecting = await start({ app: 'db' });
  assert.deepEqual(mirrored(selecting), {});
  await using skipping = await start(undefined, { 'endpointslice.kubernetes.io/skip-mirror': 'true' });
  assert.deepEqual(mirrored(skipping), {});
});
