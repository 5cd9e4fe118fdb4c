import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCondition, isConditionTrue, withCondition, withoutCondition } from './conditions.ts';

const ready = {
  type: 'Ready',
  status: 'False',
  reason: 'Starting',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
const later = Date.UTC(2026, 0, 2);

test('the time changes when the status does, and only then', () => {
  const [same] = withCondition([ready], { ...ready, reason: 'Waiting' }, later);
  assert.deepEqual(same, { ...ready, reason: 'Waiting' });
  const [changed] = withCondition([ready], { ...ready, status: 'True', lastTransitionTime: undefined as never }, later);
  assert.equal(changed?.lastTransitionTime, '2026-01-02T00:00:00Z');
  assert.equal(ready.status, 'False');
});

test('a new condition goes to the end; nothing new gives the same list', () => {
  const list = [ready];
  assert.equal(withCondition(list, { ...ready, lastTransitionTime: '2030-01-01T00:00:00Z' }, later), list);
  const added = withCondition<Omit<typeof ready, 'lastTransitionTime'> & { lastTransitionTime?: string }>(
    list,
    { type: 'Scheduled', status: 'True', reason: '', message: '' },
    later,
  );
  assert.deepEqual(
    added.map(({ type }) => type),
    ['Ready', 'Scheduled'],
  );
  assert.equal(added[1]?.lastTransitionTime, '2026-01-02T00:00:00Z');
});

test('conditions are found and removed by type', () => {
  assert.equal(findCondition([ready], 'Ready'), ready);
  assert.equal(findCondition(undefined, 'Ready'), undefined);
  assert.equal(isConditionTrue([ready], 'Ready'), false);
  assert.deepEqual(withoutCondition([ready], 'Ready'), []);
  const list = [ready];
  assert.equal(withoutCondition(list, 'Other'), list);
});
