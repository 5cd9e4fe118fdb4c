import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Deployment, ReplicaSet } from '../../api/gen/apps-v1.ts';
import { planResize, planRollingUpdate } from './rollout.ts';

const template = { spec: { containers: [{ name: 'c', image: 'i' }] } };

function deployment(replicas: number, maxSurge: number | string, maxUnavailable: number | string): Deployment {
  return {
    metadata: { name: 'web' },
    spec: {
      replicas,
      selector: {},
      template,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
    },
  };
}

function set(
  name: string,
  replicas: number,
  available = replicas,
  annotations: Record<string, string> = {},
): ReplicaSet {
  return {
    metadata: { name, annotations, creationTimestamp: `2026-01-01T00:00:0${name.length}Z` },
    spec: { replicas, selector: {}, template },
    status: { replicas, availableReplicas: available },
  };
}

const sizes = (scalings: readonly { replicaSet: ReplicaSet; replicas: number }[]) =>
  Object.fromEntries(scalings.map(({ replicaSet, replicas }) => [replicaSet.metadata.name, replicas]));

const steps: readonly {
  readonly name: string;
  readonly of: Deployment;
  readonly current: ReplicaSet;
  readonly old: readonly ReplicaSet[];
  readonly expected: Readonly<Record<string, number>>;
}[] = [
  {
    name: 'surge gives the first room',
    of: deployment(10, 2, 2),
    current: set('n', 0),
    old: [set('old', 10)],
    expected: { n: 2 },
  },
  {
    name: 'without surge old ones go first',
    of: deployment(10, 0, 2),
    current: set('n', 0),
    old: [set('old', 10)],
    expected: { old: 8 },
  },
  {
    name: 'unavailable old ones go although nothing new is available',
    of: deployment(10, 2, 2),
    current: set('n', 2, 0),
    old: [set('old', 10, 8)],
    expected: { old: 8 },
  },
  {
    name: 'nothing moves while no more may be unavailable',
    of: deployment(10, 2, 2),
    current: set('n', 4, 0),
    old: [set('old', 8)],
    expected: {},
  },
  { name: 'a surplus of new ones goes', of: deployment(3, 1, 1), current: set('n', 5), old: [], expected: { n: 3 } },
  {
    name: 'both limits zero count as one unavailable',
    of: deployment(2, 0, 0),
    current: set('n', 0),
    old: [set('old', 2)],
    expected: { old: 1 },
  },
];

for (const { name, of, current, old, expected } of steps) {
  test(`rolling update: ${name}`, () => {
    assert.deepEqual(sizes(planRollingUpdate(of, current, old)), expected);
  });
}

const before = (desired: number, max: number) => ({
  'deployment.kubernetes.io/desired-replicas': String(desired),
  'deployment.kubernetes.io/max-replicas': String(max),
});

test('resizing in the midst of a rollout shares the difference in proportion', () => {
  const of = deployment(20, 0, 5);
  const current = set('n', 5, 5, before(10, 10));
  const old = [set('old', 5, 5, before(10, 10))];
  assert.deepEqual(sizes(planResize(of, { current, old })), { n: 10, old: 10 });
});

test('what rounding leaves over goes to the largest', () => {
  const of = deployment(5, 0, 5);
  const current = set('n', 2, 2, before(3, 3));
  const old = [set('old', 1, 1, before(3, 3))];
  assert.deepEqual(sizes(planResize(of, { current, old })), { n: 3, old: 2 });
});

test('resizing to zero empties everything', () => {
  const of = deployment(0, 1, 1);
  const sets = { current: set('n', 3, 3, before(6, 7)), old: [set('old', 4, 4, before(6, 7))] };
  assert.deepEqual(sizes(planResize(of, sets)), { n: 0, old: 0 });
});

test('a single active ReplicaSet gets the whole size', () => {
  assert.deepEqual(sizes(planResize(deployment(7, 1, 1), { current: set('n', 3), old: [set('old', 0)] })), { n: 7 });
});
