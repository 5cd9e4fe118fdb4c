/** What is done at the same time for a Pod. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { allEnded } from './all-ended.ts';

it('is over only when all of it is, also when some of it has failed', async () => {
  const slow = Promise.withResolvers<string>();
  let isOver = false;
  const all = allEnded([Promise.reject(new Error('first')), slow.promise]).finally(() => {
    isOver = true;
  });
  const refused = assert.rejects(all, { message: 'first' });
  await new Promise(setImmediate);
  assert.equal(isOver, false);
  slow.resolve('second');
  await refused;
});

it('gives what came of each', async () => {
  assert.deepEqual(await allEnded([Promise.resolve(1), 'two']), [1, 'two']);
});
