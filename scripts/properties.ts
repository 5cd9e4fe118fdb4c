/**
 * `npm run properties -- [--minutes N] [--seed S]`: every property test again and again, each time under a seed that nobody chose, until the
 * minutes are over (5 unless told) or one fails; prints the command that replays it. With `--seed` that one alone.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const root = resolve(import.meta.dirname, '..');
const { values } = parseArgs({ options: { minutes: { type: 'string', default: '5' }, seed: { type: 'string' } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error(`--minutes: ${values.minutes} is not a number above 0`);

const files = globSync('src/**/*.test.ts', { cwd: root }).filter((file) =>
  /properties\.fixture\.ts|store-model\.fixture|arbitrary-schema\.fixture/.test(
    readFileSync(resolve(root, file), 'utf8'),
  ),
);
const end = performance.now() + minutes * 60_000;
let rounds = 0;
do {
  const seed = values.seed ?? String(randomInt(2 ** 31));
  const result = spawnSync(
    process.execPath,
    ['--test', '--test-isolation=none', `--test-reporter=${resolve(root, 'scripts/test-reporter.ts')}`, ...files],
    { cwd: root, encoding: 'utf8', env: { ...process.env, CORACLE_PROPERTY_SEED: seed }, maxBuffer: 2 ** 28 },
  );
  rounds++;
  if (result.status !== 0) {
    console.error(`${result.stdout}\nproperties: seed ${seed} fails: npm run properties -- --seed ${seed}`);
    process.exit(1);
  }
} while (values.seed === undefined && performance.now() < end);
console.log(`properties: ${rounds} seeds in ${files.length} files, all well`);
