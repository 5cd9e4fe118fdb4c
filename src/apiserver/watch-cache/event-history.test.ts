import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CacheEvent } from './cache-event.ts';
import { EventHistory } from './event-history.ts';

function historyOf(revisions: readonly number[], capacity?: number): EventHistory {
  const history = new EventHistory(4, capacity);
  for (const revision of revisions) history.push(new CacheEvent(revision, undefined, undefined));
  return history;
}

const revisionsAfter = (history: EventHistory, revision: number) =>
  history.after(revision)?.map((event) => event.revision);

test('what came after a revision is told in order', () => {
  const history = historyOf([5, 7, 9]);
  assert.deepEqual(revisionsAfter(history, 4), [5, 7, 9]);
  assert.deepEqual(revisionsAfter(history, 5), [7, 9]);
  assert.deepEqual(revisionsAfter(history, 6), [7, 9]);
  assert.deepEqual(revisionsAfter(history, 9), []);
  assert.deepEqual(revisionsAfter(history, 100), []);
});

test('what came before its beginning is not known', () => {
  assert.equal(revisionsAfter(historyOf([5, 7, 9]), 3), undefined);
});

test('the oldest are forgotten when there are too many, and it says from where it knows', () => {
  const history = historyOf(
    Array.from({ length: 100 }, (_, i) => i + 5),
    10,
  );
  assert.equal(history.beginsAfter, 94);
  assert.equal(revisionsAfter(history, 93), undefined);
  assert.deepEqual(revisionsAfter(history, 94), [95, 96, 97, 98, 99, 100, 101, 102, 103, 104]);
});
