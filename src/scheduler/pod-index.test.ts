/** What the index counts is what looking at every Pod would count. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { labelMatcherOf } from '../apimachinery/labels.ts';
import fc from '../testing/properties.fixture.ts';
import { PodIndex } from './pod-index.ts';
import { podInfoOf } from './pod-info.ts';

const value = fc.constantFrom('x', 'y');
const step = fc.record({
  uid: fc.integer({ min: 0, max: 7 }).map(String),
  node: fc.constantFrom('a', 'b', ''),
  namespace: fc.constantFrom('one', 'two'),
  labels: fc.record({ app: value, tier: value }, { requiredKeys: [] }),
  isLeaving: fc.boolean(),
});
const selector = fc.oneof(
  fc.record({ matchLabels: fc.record({ app: value, tier: value }, { requiredKeys: [] }) }),
  fc.constant({ matchExpressions: [{ key: 'app', operator: 'Exists' }] }),
  fc.constant({ matchExpressions: [{ key: 'app', operator: 'In', values: ['x', 'y'] }] }),
);

it('counts by node what matches, whatever came, moved and went', () => {
  fc.assert(
    fc.property(fc.array(step), selector, (steps, wanted) => {
      const index = new PodIndex();
      const placed = new Map<string, (typeof steps)[number]>();
      for (const one of steps) {
        if (one.node === '') {
          index.delete(one.uid);
          placed.delete(one.uid);
          continue;
        }
        const { uid, namespace, labels, isLeaving } = one;
        const metadata = {
          uid,
          namespace,
          labels,
          ...(isLeaving ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
        };
        index.set(podInfoOf({ metadata, spec: { containers: [] } }), one.node);
        placed.set(uid, one);
      }
      const matcher = labelMatcherOf(wanted);
      for (const namespace of ['one', 'two']) {
        const expected = new Map<string, number>();
        for (const one of placed.values())
          if (one.namespace === namespace && !one.isLeaving && matcher.matches(one.labels))
            expected.set(one.node, (expected.get(one.node) ?? 0) + 1);
        assert.deepEqual(new Map([...index.countByNode(matcher, namespace)].sort()), new Map([...expected].sort()));
      }
    }),
  );
});
