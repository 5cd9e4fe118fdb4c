/** 200 seeded runs, and some planted bugs that they catch; the long versions are `npm run seeds -- --count N` and `CORACLE_ALL_PLANTED_BUGS=1`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runSeed } from '../../src/sim/seeds/seed-run.ts';
import { plantedBugs } from './planted-bugs.ts';

const count = 200;
const perTest = 20;
const all = process.env.CORACLE_ALL_PLANTED_BUGS !== undefined;

describe('nothing goes wrong for good', () => {
  for (let from = 1; from <= count; from += perTest) {
    it(`under the seeds ${from} to ${from + perTest - 1}`, async () => {
      for (let seed = from; seed < from + perTest; seed++) {
        const { problems } = await runSeed(seed);
        assert.deepEqual(problems, [], `replay it with: npm run seeds -- --replay ${seed}`);
      }
    });
  }

  it('twice in the same way', async () => {
    const [first, second] = [await runSeed(3), await runSeed(3)];
    assert.equal(first.digest, second.digest);
  });
});

describe('a planted bug is caught', () => {
  it('there are twenty of them', () => assert.ok(plantedBugs.length >= 20));

  for (const { bug, seed, caughtAs, plant, inCi } of plantedBugs) {
    if (!all && !inCi) continue;
    it(`${bug}: seed ${seed}`, async () => {
      const { problems } = await runSeed(seed, plant());
      assert.ok(
        problems.some((problem) => caughtAs.test(problem)),
        `not caught; told was ${JSON.stringify(problems.slice(0, 5))}`,
      );
    });
  }
});
