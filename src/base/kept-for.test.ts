import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FakeClock } from '../testing/fake-clock.ts';
import { keptFor } from './kept-for.ts';

it('computes again only what has become too old', async () => {
  const clock = new FakeClock();
  let computed = 0;
  const value = keptFor(clock, 5000, () => ++computed);
  assert.deepEqual([value(), value()], [1, 1]);
  await clock.advance(5000);
  assert.equal(value(), 1);
  await clock.advance(1);
  assert.equal(value(), 2);
});
