import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import type { CacheEntry } from './cache-entry.ts';
import { CacheEvent } from './cache-event.ts';
import { EventHistory, heldBytes, usualBounds } from './event-history.ts';

const ofBytes = (storedBytes: number) => ({ storedBytes }) as CacheEntry;
const change = (revision: number, previousBytes = 0) =>
  new CacheEvent(revision, ofBytes(10), previousBytes ? ofBytes(previousBytes) : undefined);
const eventBytes = heldBytes(change(1));

function historyOf(revisions: readonly number[], bytes = 1e6) {
  const clock = new FakeClock();
  const history = new EventHistory({ clock, bounds: { ...usualBounds, bytes: () => bytes }, beginsAfter: 4 });
  for (const revision of revisions) history.push(change(revision));
  return { clock, history };
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 5);
const revisionsAfter = (history: EventHistory, revision: number) =>
  history.after(revision)?.map((event) => event.revision);

test('what came after a revision is told in order', () => {
  const { history } = historyOf([5, 7, 9]);
  assert.deepEqual(revisionsAfter(history, 4), [5, 7, 9]);
  assert.deepEqual(revisionsAfter(history, 5), [7, 9]);
  assert.deepEqual(revisionsAfter(history, 6), [7, 9]);
  assert.deepEqual(revisionsAfter(history, 9), []);
  assert.deepEqual(revisionsAfter(history, 100), []);
});

test('what came before its beginning is not known', () => {
  assert.equal(revisionsAfter(historyOf([5, 7, 9]).history, 3), undefined);
});

describe('the oldest are forgotten', () => {
  test('when all are more than they may be, and it says from where it knows', () => {
    const { history } = historyOf(upTo(100), 10 * eventBytes);
    assert.equal(history.beginsAfter, 94);
    assert.equal(revisionsAfter(history, 93), undefined);
    assert.deepEqual(revisionsAfter(history, 94), [95, 96, 97, 98, 99, 100, 101, 102, 103, 104]);
  });

  test('sooner when they hold large objects that nobody else holds', () => {
    const { history } = historyOf([]);
    for (let revision = 5; revision < 25; revision++) history.push(change(revision, 400_000));
    assert.equal(history.size, 2);
    assert.ok(history.bytes <= 1e6);
    history.push(change(25, 2e6));
    assert.deepEqual([history.size, history.bytes, history.beginsAfter], [0, 0, 25]);
  });

  test('when they are old, but for the last hundred', async () => {
    const { clock, history } = historyOf(upTo(500));
    await clock.advance(usualBounds.keepMs - 1000);
    for (const revision of upTo(50)) history.push(change(500 + revision));
    assert.equal(history.size, 550);
    await clock.advance(1000);
    assert.equal(history.size, 100);
    assert.equal(history.beginsAfter, 454);
  });

  test('of these too as many as are large, though nothing more happens', async () => {
    const { clock, history } = historyOf([]);
    for (const revision of upTo(20)) history.push(change(revision, 40_000));
    assert.equal(history.size, 20);
    await clock.advance(2 * usualBounds.keepMs);
    assert.equal(history.size, 3);
    assert.ok(history.bytes <= usualBounds.quietBytes);
    assert.equal(clock.pending, 0);
  });
});

describe('what the store was asked for', () => {
  test('is kept for as long as what has just happened, and may be more than usual', async () => {
    const { clock, history } = historyOf(upTo(10), 10 * eventBytes);
    history.push(change(15));
    assert.equal(history.beginsAfter, 5);
    history.hold();
    history.push(change(16));
    assert.equal(history.beginsAfter, 5);
    history.prepend([change(3), change(5)], 2);
    history.release();
    history.push(change(17));
    assert.equal(revisionsAfter(history, 2)?.length, 14);
    await clock.advance(usualBounds.keepMs);
    assert.equal(history.size, 14);
    history.push(change(18));
    assert.equal(history.size, 10);
    assert.equal(revisionsAfter(history, 2), undefined);
  });

  test('has an end as well', () => {
    const { history } = historyOf(upTo(10), 10 * eventBytes);
    history.hold();
    assert.equal(history.room, 30 * eventBytes);
    for (const revision of upTo(100)) history.push(change(10 + revision));
    assert.equal(history.room, 0);
    assert.equal(history.size, 40);
  });

  test('is not asked for again where it is lost', () => {
    const { history } = historyOf(upTo(10));
    assert.equal(history.hasLost(2), false);
    history.lose(2);
    assert.deepEqual([history.hasLost(1), history.hasLost(2), history.hasLost(3)], [true, true, false]);
  });
});

test('closed, it knows nothing and waits for nothing', () => {
  const { clock, history } = historyOf(upTo(500));
  assert.equal(clock.pending, 1);
  history.close();
  history.release();
  assert.equal(clock.pending, 0);
  assert.equal(history.after(504), undefined);
});
