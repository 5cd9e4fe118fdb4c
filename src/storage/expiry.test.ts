import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../testing/fake-clock.ts';
import { Expiry, expiryTime, type Mortal } from './expiry.ts';

function expiring() {
  const clock = new FakeClock();
  const ended: string[] = [];
  const expiry = new Expiry({ clock, expire: ({ key }) => void ended.push(key) });
  const track = (key: string, ttlSeconds: number | undefined, revision = 1) =>
    expiry.track({ key, revision }, expiryTime(clock, ttlSeconds));
  return { clock, ended, expiry, track };
}

test('each ends in its second, in whatever order they came, and one timer waits', async () => {
  const { clock, ended, track } = expiring();
  for (const [key, seconds] of [
    ['c', 30],
    ['a', 10],
    ['d', 3600],
    ['b', 20],
    ['b2', 20],
  ] as const)
    track(key, seconds);
  assert.equal(clock.pending, 1);
  await clock.advance(9999);
  assert.deepEqual(ended, []);
  await clock.advance(1);
  assert.deepEqual(ended, ['a']);
  track('now', 5);
  await clock.advance(20_000);
  assert.deepEqual(ended, ['a', 'now', 'b', 'b2', 'c']);
  assert.equal(clock.pending, 1);
  await clock.advance(3_600_000);
  assert.deepEqual(ended.at(-1), 'd');
  assert.equal(clock.pending, 0);
});

test('what has no lifetime never ends, and nothing ends once all is closed', async () => {
  const { clock, ended, expiry, track } = expiring();
  track('ever', undefined);
  assert.equal(clock.pending, 0);
  track('a', 10);
  expiry.close();
  track('b', 10);
  assert.equal(clock.pending, 0);
  await clock.advance(20_000);
  assert.deepEqual(ended, []);
});

test('who is asked again from within waits again', async () => {
  const clock = new FakeClock();
  const ended: number[] = [];
  const retry = ({ key, revision }: Mortal) => {
    ended.push(revision);
    if (revision < 3) expiry.track({ key, revision: revision + 1 }, clock.now() + 1000);
  };
  const expiry = new Expiry({ clock, expire: retry });
  expiry.track({ key: 'a', revision: 1 }, clock.now() + 1000);
  await clock.advance(10_000);
  assert.deepEqual(ended, [1, 2, 3]);
});
