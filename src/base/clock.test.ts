import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleeper } from './clock.ts';
import { VirtualClock } from './virtual-clock.ts';

test('a loop sleeps as often as it wants, and its signal ends the sleep it is in', async () => {
  const clock = new VirtualClock(0);
  const stopping = new AbortController();
  const sleep = sleeper(clock, stopping.signal);
  await clock.drive(sleep(1000));
  await clock.drive(sleep(500));
  assert.equal(clock.now(), 1500);

  const last = sleep(60_000);
  stopping.abort(new Error('enough'));
  await assert.rejects(last, /enough/);
  await assert.rejects(sleep(1), /enough/);
  assert.equal(clock.now(), 1500);
});
