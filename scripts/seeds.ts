/**
 * `npm run seeds -- --count N --from S`: seeded simulations with faults, one after the other. Each failure is told with the command that
 * replays it. `--replay SEED` runs one and tells what happens in it.
 */
import { parseArgs } from 'node:util';
import { runSeed } from '../src/sim/seeds/seed-run.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    replay: { type: 'string' },
    verbose: { type: 'boolean' },
  },
});

if (values.replay !== undefined) await replay(Number(values.replay));
else await runAll(Number(values.from), Number(values.count));

async function replay(seed: number): Promise<void> {
  const tell = (atMs: number, what: string) => console.log(`${(atMs / 1000).toFixed(1).padStart(8)} s  ${what}`);
  const { problems, digest, virtualSeconds, writes } = await runSeed(seed, { tell });
  console.log(`seed ${seed}: ${writes} writes in ${virtualSeconds.toFixed(0)} virtual seconds, history ${digest}`);
  for (const problem of problems) console.log(`  ${problem}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

async function runAll(from: number, count: number): Promise<void> {
  const startedMs = performance.now();
  const failed: number[] = [];
  let virtualSeconds = 0;
  for (let seed = from; seed < from + count; seed++) {
    const report = await runSeed(seed);
    virtualSeconds += report.virtualSeconds;
    if (values.verbose) console.log(`seed ${seed}: ${report.virtualSeconds.toFixed(0)} s, ${report.digest}`);
    if (report.problems.length === 0) continue;
    failed.push(seed);
    console.log(`seed ${seed} failed; replay it with: npm run seeds -- --replay ${seed}`);
    for (const problem of report.problems.slice(0, 10)) console.log(`  ${problem}`);
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const days = (virtualSeconds / 86_400).toFixed(1);
  console.log(
    `${count - failed.length} of ${count} seeds from ${from} on are well: ${days} virtual days in ${seconds.toFixed(0)} s`,
  );
  if (failed.length > 0) console.log(`failed: ${failed.join(' ')}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}
