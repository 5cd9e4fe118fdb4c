/** Looks for the first seed that catches each planted bug: `node test/seeds/find-planted-bugs.ts [FIRST [LAST [WORDS]]]`, prints the table's seeds. */
import { runSeed } from '../../src/sim/seeds/seed-run.ts';
import { plantedBugs } from './planted-bugs.ts';

const [first = '1', last = '40', only = ''] = process.argv.slice(2);
for (const { bug, caughtAs, plant } of plantedBugs) {
  if (!bug.includes(only)) continue;
  let found: string | undefined;
  for (let seed = Number(first); seed <= Number(last) && !found; seed++) {
    const { problems } = await runSeed(seed, plant());
    const caught = problems.find((problem) => caughtAs.test(problem));
    if (caught) found = `${seed}: ${caught}`;
  }
  console.log(`${found ?? 'NOT CAUGHT'}  <- ${bug}`);
}
