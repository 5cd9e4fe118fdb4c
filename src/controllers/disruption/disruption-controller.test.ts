import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deployments, replicaSets } from '../../api/gen/apps-v1.ts';
import { pods } from '../../api/gen/core-v1.ts';
import { type PodDisruptionBudgetSpec, podDisruptionBudgets } from '../../api/gen/policy-v1.ts';
import { controllerReference } from '../../apimachinery/meta.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runDisruptionController } from './disruption-controller.ts';

const template = { spec: { containers: [] } };

/** A Deployment of `replicas` with `present` Pods, of which `ready` are. */
async function start(
  spec: PodDisruptionBudgetSpec,
  replicas: number,
  present: number,
  ready: number,
): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  const { client } = cluster;
  const namespace = 'a';
  const deployment = await client.create(deployments, {
    metadata: { namespace, name: 'd' },
    spec: { replicas, selector: {}, template },
  });
  const ownerReferences = [controllerReference(deployment, deployments)];
  const set = await client.create(replicaSets, {
    metadata: { namespace, name: 'r', ownerReferences },
    spec: { replicas, selector: {} },
  });
  for (let index = 0; index < present; index++) {
    const metadata = {
      namespace,
      name: `p${index}`,
      labels: { app: 'x' },
      ownerReferences: [controllerReference(set, replicaSets)],
    };
    await client.create(pods, { metadata, spec: { containers: [] } });
    cluster.api.alter(pods, `a/p${index}`, (pod) => {
      pod.status = { phase: 'Running', conditions: [{ type: 'Ready', status: index < ready ? 'True' : 'False' }] };
    });
  }
  cluster.run(runDisruptionController);
  await client.create(podDisruptionBudgets, {
    metadata: { namespace, name: 'b' },
    spec: { selector: { matchLabels: { app: 'x' } }, ...spec },
  });
  await cluster.settle();
  return cluster;
}

const cases: readonly {
  readonly spec: PodDisruptionBudgetSpec;
  readonly pods: readonly [replicas: number, present: number, ready: number];
  /** expected, desired, healthy, allowed */
  readonly status: readonly number[];
}[] = [
  { spec: { minAvailable: 2 }, pods: [3, 3, 3], status: [3, 2, 3, 1] },
  { spec: { minAvailable: 2 }, pods: [3, 3, 2], status: [3, 2, 2, 0] },
  { spec: { minAvailable: '50%' }, pods: [5, 5, 5], status: [5, 3, 5, 2] },
  { spec: { maxUnavailable: 1 }, pods: [4, 3, 3], status: [4, 3, 3, 0] },
  { spec: { maxUnavailable: '30%' }, pods: [10, 10, 10], status: [10, 7, 10, 3] },
];

for (const {
  spec,
  pods: [replicas, present, ready],
  status: wanted,
} of cases) {
  test(`${JSON.stringify(spec)} with ${ready} of ${present} Pods ready and ${replicas} asked for`, async () => {
    await using cluster = await start(spec, replicas, present, ready);
    const status = cluster.api.find(podDisruptionBudgets, 'a/b')?.status;
    const { expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed } = status!;
    assert.deepEqual([expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed], wanted);
    const condition = status?.conditions?.[0];
    assert.deepEqual(
      [condition?.type, condition?.reason],
      ['DisruptionAllowed', wanted[3] ? 'SufficientPods' : 'InsufficientPods'],
    );
    assert.deepEqual(cluster.complaints, []);
  });
}

test('a granted eviction counts as lost until the Pod goes, or two minutes have passed', async () => {
  await using cluster = await start({ minAvailable: 1 }, 3, 3, 3);
  const status = () => cluster.api.find(podDisruptionBudgets, 'a/b')?.status;
  cluster.api.alter(podDisruptionBudgets, 'a/b', (budget) => {
    budget.status = { ...budget.status, disruptedPods: { p0: new Date(cluster.clock.now()).toISOString() } };
  });
  await cluster.settle();
  assert.equal(status()?.disruptionsAllowed, 1);
  await cluster.clock.advance(125_000);
  assert.deepEqual([status()?.disruptionsAllowed, status()?.disruptedPods], [2, undefined]);
  assert.ok(cluster.reasons('Pod/p0').includes('NotDeleted'));
});
