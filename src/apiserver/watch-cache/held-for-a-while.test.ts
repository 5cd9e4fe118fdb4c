import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import { HeldForAWhile } from './held-for-a-while.ts';

function heldFor(bounds: { readonly maxItems?: number; readonly maxBytes?: number } = {}) {
  const clock = new FakeClock();
  const givenUp: string[] = [];
  const giveUp = (item: string) => void givenUp.push(item);
  const held = new HeldForAWhile<string>({ maxItems: 3, maxBytes: 100, keepMs: 1000, ...bounds, clock, giveUp });
  return { clock, held, givenUp };
}

test('the latest are held, as many as may be', () => {
  const { held, givenUp } = heldFor();
  for (const item of ['a', 'b', 'c', 'd', 'e']) held.hold(item, 1);
  assert.deepEqual([givenUp, held.size, held.bytes], [['a', 'b'], 3, 3]);
});

test('a large one takes the place of several, and one that is too large is held alone', () => {
  const { held, givenUp } = heldFor();
  for (const item of ['a', 'b', 'c']) held.hold(item, 40);
  assert.deepEqual(givenUp, ['a']);
  held.hold('d', 1000);
  assert.deepEqual([givenUp, held.size, held.bytes], [['a', 'b', 'c'], 1, 1000]);
});

test('nothing is held for long', async () => {
  const { clock, held, givenUp } = heldFor();
  held.hold('a', 1);
  await clock.advance(500);
  held.hold('b', 1);
  await clock.advance(500);
  assert.deepEqual(givenUp, ['a']);
  for (const item of ['c', 'd', 'e']) held.hold(item, 1);
  assert.deepEqual(givenUp, ['a', 'b']);
  await clock.advance(2000);
  assert.deepEqual([givenUp, held.size, held.bytes], [['a', 'b', 'c', 'd', 'e'], 0, 0]);
  assert.equal(clock.pending, 0);
});

test('closed, it waits for nothing', () => {
  const { clock, held } = heldFor();
  held.hold('a', 1);
  held.close();
  held.hold('b', 1);
  assert.equal(clock.pending, 0);
});
