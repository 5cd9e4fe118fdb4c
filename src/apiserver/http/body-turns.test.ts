import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../base/clock.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { BodyTurns } from './body-turns.ts';

test('the first long body goes at once; the next when others have had as much time as the first took', async () => {
  const fake = new FakeClock();
  let workedMs = 0;
  const clock: Clock = {
    now: () => fake.now(),
    monotonic: () => fake.monotonic() + workedMs,
    after: (delayMs, callback) => fake.after(delayMs, callback),
    soon: (callback) => fake.soon(callback),
  };
  const turns = new BodyTurns(clock);
  const done: string[] = [];
  for (const name of ['first', 'second', 'third']) {
    turns.take(() => {
      done.push(name);
      workedMs += 300;
    });
  }
  assert.deepEqual(done, ['first']);
  await fake.advance(299);
  assert.deepEqual(done, ['first']);
  await fake.advance(1);
  assert.deepEqual(done, ['first', 'second']);
  await fake.advance(600);
  assert.deepEqual(done, ['first', 'second', 'third']);
});
