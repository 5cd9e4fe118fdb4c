import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../api/gen/core-v1.ts';
import { nodes } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../../controllers/common/memory-cluster.fixture.ts';
import { type RouteKernel, routesTo, runNodeRoutes } from './node-routes.ts';

const node = (name: string, podCIDRs: readonly string[], ...addresses: string[]): Node => ({
  metadata: { name },
  spec: { podCIDRs },
  status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
});

test('each range of another node is reached over an address of its family; what has none is left out', () => {
  const items = [
    node('self', ['10.244.0.0/24'], '10.0.0.1'),
    node('dual', ['10.244.1.0/24', 'fd00:1::/64'], '10.0.0.2', 'fd00::2'),
    node('four', ['10.244.2.0/24', 'fd00:2::/64'], '10.0.0.3'),
    node('new', [], '10.0.0.4'),
    node('silent', ['10.244.4.0/24']),
  ];
  assert.deepEqual(
    [...routesTo(items, 'self')],
    [
      ['10.244.1.0/24', '10.0.0.2'],
      ['fd00:1::/64', 'fd00::2'],
      ['10.244.2.0/24', '10.0.0.3'],
    ],
  );
});

test('routes follow the nodes, and come back when the kernel has lost them', async () => {
  await using cluster = new MemoryCluster();
  const table = new Map<string, string>([['10.244.9.0/24', '10.0.0.9']]);
  const kernel: RouteKernel = {
    read: async () => new Map(table),
    replace: async (range, via) => void table.set(range, via),
    remove: async (range) => void table.delete(range),
  };
  for (const each of [node('self', ['10.244.0.0/24'], '10.0.0.1'), node('other', ['10.244.1.0/24'], '10.0.0.2')]) {
    await cluster.client.create(nodes, each);
    await cluster.client.patch(
      nodes,
      { name: each.metadata.name ?? '' },
      { type: 'merge', body: { status: each.status } },
      { subresource: 'status' },
    );
  }
  cluster.run((context) => runNodeRoutes('self', kernel, context));
  await cluster.settle();
  assert.deepEqual([...table], [['10.244.1.0/24', '10.0.0.2']]);
  table.clear();
  await cluster.clock.advance(30_000);
  assert.deepEqual([...table], [['10.244.1.0/24', '10.0.0.2']]);
  await cluster.client.delete(nodes, { name: 'other' });
  await cluster.settle();
  assert.deepEqual([...table], []);
});
