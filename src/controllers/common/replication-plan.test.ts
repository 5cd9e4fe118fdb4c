import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { labelMatcherOfSet } from '../../apimachinery/labels.ts';
import { type ReplicaOwner, ReplicaViews } from './replication-plan.ts';

interface Owner extends ReplicaOwner {
  readonly spec: ReplicaOwner['spec'] & { readonly selector: Readonly<Record<string, string>> };
}

const views = () => new ReplicaViews<Owner>(({ spec }) => labelMatcherOfSet(spec.selector));

function owner(uid: string, app: string, more: Partial<Owner['spec']> = {}): Owner {
  return {
    metadata: { uid },
    spec: {
      selector: { app },
      template: { metadata: { labels: { app, tier: 'x' } }, spec: { containers: [] } },
      ...more,
    },
  };
}

interface Shape {
  readonly name: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly phase?: 'Running' | 'Failed';
  readonly readySince?: string;
  readonly deleted?: boolean;
}

function pod({ name, uid = 'a', labels = { app: 'web' }, phase = 'Running', readySince, deleted }: Shape): Pod {
  const lastTransitionTime = readySince;
  return {
    metadata: {
      name,
      labels,
      ...(uid
        ? { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid, controller: true }] }
        : {}),
      ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: { containers: [] },
    status: { phase, conditions: lastTransitionTime ? [{ type: 'Ready', status: 'True', lastTransitionTime }] : [] },
  };
}

const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);

test("an owner's Pods are told from those that are to be judged, those that end and those that are over", () => {
  const { owned, others, stopping } = views().sort(owner('a', 'web'), [
    pod({ name: 'own' }),
    pod({ name: 'relabeled', labels: { app: 'other' } }),
    pod({ name: 'orphan', uid: '' }),
    pod({ name: 'ending', deleted: true }),
    pod({ name: "another's end", uid: 'b', deleted: true }),
    pod({ name: 'over', phase: 'Failed' }),
    pod({ name: "another's", uid: 'b' }),
  ]);
  assert.deepEqual(names(owned), ['own']);
  assert.deepEqual(names(others), ['relabeled', 'orphan', "another's"]);
  assert.equal(stopping, 1);
});

test('an owner without a uid owns no orphan', () => {
  const { owned, others } = views().sort({ ...owner('', 'web'), metadata: {} }, [pod({ name: 'orphan', uid: '' })]);
  assert.deepEqual([names(owned), names(others)], [[], ['orphan']]);
});

test('Pods are counted by their labels, their readiness and how long it has lasted', () => {
  const active = [
    pod({ name: 'starting' }),
    pod({ name: 'fresh', readySince: '2026-01-01T00:00:09Z', labels: { app: 'web', tier: 'x' } }),
    pod({ name: 'old', readySince: '2026-01-01T00:00:00Z' }),
  ];
  const now = Date.parse('2026-01-01T00:00:10Z');
  const all = views();
  assert.deepEqual(all.count(owner('a', 'web'), active, now), { all: 3, fullyLabeled: 1, ready: 2, available: 2 });
  const patient = owner('a', 'web', { minReadySeconds: 5 });
  assert.deepEqual(all.count(patient, active, now), { all: 3, fullyLabeled: 1, ready: 2, available: 1 });
});

test('what one owner selects another need not, and the first still does afterwards', () => {
  const shared = [pod({ name: 'one' })];
  const all = views();
  const [web, other] = [owner('a', 'web'), owner('a', 'other')];
  for (const round of [1, 2]) {
    assert.deepEqual(names(all.sort(web, shared).owned), ['one'], `round ${round}`);
    assert.deepEqual(names(all.sort(other, shared).others), ['one'], `round ${round}`);
  }
});
