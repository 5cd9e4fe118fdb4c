import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../api/gen/core-v1.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { SchedulingQueue } from './scheduling-queue.ts';

const pod = (name: string, priority = 0): Pod => ({
  metadata: { name, uid: name },
  spec: { containers: [], priority },
});

function queueOn(clock: FakeClock): SchedulingQueue {
  const queue = new SchedulingQueue({
    clock,
    helpedBy: (plugin) => (plugin === 'NodeResourcesFit' ? ['PodRemoved', 'NodeAdded'] : ['NodeAdded']),
    onReady: () => {},
  });
  queue.start();
  return queue;
}

test('the most important Pod comes first, then the one that waits longest', async () => {
  const clock = new FakeClock();
  const queue = queueOn(clock);
  queue.set(pod('late', 0), 'late');
  await clock.advance(1);
  queue.set(pod('later', 0), 'later');
  queue.set(pod('vip', 9), 'vip');
  assert.deepEqual(
    [queue.pop()?.key, queue.pop()?.key, queue.pop()?.key, queue.pop()],
    ['vip', 'late', 'later', undefined],
  );
});

test('a Pod that no node would take waits for an event that helps, then for its backoff', async () => {
  const clock = new FakeClock();
  const queue = queueOn(clock);
  queue.set(pod('a'), 'a');
  queue.park(queue.pop()!, new Set(['NodeAffinity']));
  queue.onEvent('PodRemoved');
  await clock.advance(60_000);
  assert.equal(queue.pop(), undefined, 'a removed Pod does not help against node affinity');
  queue.onEvent('NodeAdded');
  const entry = queue.pop();
  assert.ok(entry, 'its second of backoff is long over');
  queue.park(entry, new Set(['NodeResourcesFit']));
  queue.onEvent('PodRemoved');
  assert.equal(queue.pop(), undefined, 'still backing off');
  await clock.advance(1999);
  assert.equal(queue.pop(), undefined);
  await clock.advance(1);
  assert.equal(queue.pop()?.key, 'a');
});

test('an event that comes while a Pod is being tried is not lost', async () => {
  const clock = new FakeClock();
  const queue = queueOn(clock);
  queue.set(pod('a'), 'a');
  const entry = queue.pop()!;
  queue.onEvent('NodeAdded');
  queue.park(entry, new Set(['NodeAffinity']));
  await clock.advance(1000);
  assert.equal(queue.pop()?.key, 'a');
});

test('backoff doubles from one second to ten', async () => {
  const clock = new FakeClock();
  const queue = queueOn(clock);
  queue.set(pod('a'), 'a');
  for (const seconds of [1, 2, 4, 8, 10, 10]) {
    const entry = queue.pop();
    assert.ok(entry, `tried before waiting ${seconds} s`);
    queue.retry(entry);
    await clock.advance(seconds * 1000 - 1);
    assert.equal(queue.pop(), undefined);
    await clock.advance(1);
  }
});

test('after five minutes an unschedulable Pod is tried again in any case', async () => {
  const clock = new FakeClock();
  const queue = queueOn(clock);
  queue.set(pod('a'), 'a');
  queue.park(queue.pop()!, new Set(['NodeAffinity']));
  await clock.advance(5 * 60_000 + 30_000);
  assert.equal(queue.pop()?.key, 'a');
  queue.stop();
  assert.equal(clock.pending, 0, 'no timer is left behind');
});
