import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import { turnsOf } from './operation.ts';

test('others have a turn between two steps only when the steps take long', async () => {
  const clock = new FakeClock();
  const turnForOthers = turnsOf(clock);
  assert.equal(turnForOthers(), undefined);
  await clock.advance(60);
  const seen: string[] = [];
  clock.soon(() => seen.push('another request'));
  const turn = turnForOthers();
  assert.ok(turn, 'sixty milliseconds are long');
  const resumed = turn.then(() => seen.push('the next step'));
  await resumed;
  assert.deepEqual(seen, ['another request', 'the next step']);
  assert.equal(turnForOthers(), undefined, 'the next step has only begun');
});
