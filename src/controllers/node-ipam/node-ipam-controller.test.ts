import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodes } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { CidrSet } from './cidr-set.ts';
import { runNodeIpamController } from './node-ipam-controller.ts';

const add = (cluster: MemoryCluster, name: string, podCIDR?: string) =>
  cluster.client.create(nodes, { metadata: { name }, spec: podCIDR ? { podCIDR, podCIDRs: [podCIDR] } : {} });
const blocks = (cluster: MemoryCluster) =>
  Object.fromEntries(cluster.api.all(nodes).map(({ metadata, spec }) => [metadata.name, spec.podCIDRs]));

test('each Node gets a block of each family, and what Nodes have already is theirs', async () => {
  await using cluster = new MemoryCluster();
  await add(cluster, 'old', '10.244.0.0/24');
  cluster.run((context) => runNodeIpamController(context, { clusterCidrs: ['10.244.0.0/16', 'fd00::/56'] }));
  await add(cluster, 'a');
  await add(cluster, 'b');
  await cluster.settle();
  assert.deepEqual(blocks(cluster), {
    old: ['10.244.0.0/24'],
    a: ['10.244.1.0/24', 'fd00::/64'],
    b: ['10.244.2.0/24', 'fd00:0:0:1::/64'],
  });
  assert.equal(cluster.api.find(nodes, 'a')?.spec.podCIDR, '10.244.1.0/24');
});

test('when all blocks are given the next Node waits for one to come back', async () => {
  await using cluster = new MemoryCluster();
  cluster.run((context) => runNodeIpamController(context, { clusterCidrs: ['10.0.0.0/23'] }));
  for (const name of ['a', 'b', 'c']) await add(cluster, name);
  await cluster.settle();
  assert.equal(blocks(cluster).c, undefined);
  assert.ok(cluster.reasons('Node/c').includes('CIDRNotAvailable'));
  await cluster.client.delete(nodes, { name: 'a' });
  await cluster.clock.advance(30_000);
  assert.deepEqual(blocks(cluster).c, ['10.0.0.0/24']);
});

test('no block overlaps the Services range', () => {
  const set = new CidrSet('10.0.0.0/22', 24);
  set.occupy('10.0.1.0/28');
  assert.deepEqual(
    [set.allocate(), set.allocate(), set.allocate(), set.allocate()],
    ['10.0.0.0/24', '10.0.2.0/24', '10.0.3.0/24', undefined],
  );
});

test('a released block is used again only after all others', () => {
  const set = new CidrSet('10.0.0.0/22', 24);
  set.allocate();
  set.release('10.0.0.0/24');
  assert.deepEqual(
    [set.allocate(), set.allocate(), set.allocate(), set.allocate()],
    ['10.0.1.0/24', '10.0.2.0/24', '10.0.3.0/24', '10.0.0.0/24'],
  );
});
