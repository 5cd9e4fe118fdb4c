import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodes } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runTtlController, ttlStep } from './ttl-controller.ts';

const steps: readonly (readonly [size: number, from: number, to: number])[] = [
  [50, 0, 0],
  [100, 0, 0],
  [101, 0, 1],
  [95, 1, 1],
  [89, 1, 0],
  [5000, 0, 4],
  [1700, 4, 3],
  [0, 4, 0],
];

for (const [size, from, to] of steps) {
  test(`${size} Nodes lead from step ${from} to ${to}`, () => assert.equal(ttlStep(size, from), to));
}

test('a small cluster’s kubelets ask each time', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runTtlController);
  await cluster.client.create(nodes, { metadata: { name: 'a' }, spec: {} });
  await cluster.settle();
  assert.equal(cluster.api.find(nodes, 'a')?.metadata.annotations?.['node.alpha.kubernetes.io/ttl'], '0');
});

test('all kubelets are told when the cluster grows beyond a bound, and none before', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runTtlController);
  const grow = async (from: number, to: number) => {
    for (let index = from; index < to; index++)
      await cluster.client.create(nodes, { metadata: { name: `n${index}` }, spec: {} });
    await cluster.settle();
  };
  const told = () =>
    new Set(cluster.api.all(nodes).map(({ metadata }) => metadata.annotations?.['node.alpha.kubernetes.io/ttl']));
  await grow(0, 100);
  assert.deepEqual(told(), new Set(['0']));
  await grow(100, 101);
  assert.deepEqual(told(), new Set(['15']));
});
