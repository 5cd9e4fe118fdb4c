/**
 * `npm run check`: everything that needs no real part and is quickly done, a minute in all on two cores. Types, lint and format, the generated files'
 * freshness, layers, tidy and the unit tests. `--fix` formats and mends what can be mended.
 *
 * The unit tests run in two processes, half of the files each: a process per file would load the same modules three hundred times, which
 * took longer than the tests. It is safe because no module holds state, as `test/tidy.test.ts` says.
 */
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const bin = (name: string) => resolve(root, 'node_modules/.bin', name);
const fix = process.argv.includes('--fix');

/**
 * Those that need a real containerd, etcd or kubectl belong to `npm test`, and so do processes that are killed (`faults`) and whole simulated
 * clusters (`seeds`), which take their time.
 */
const elsewhere = /containerd|kubectl|\/etcd[^/]*$|lmdb\/durability|sim\/simulation/;
const unitTests = globSync('src/**/*.test.ts', { cwd: root }).filter((file) => !elsewhere.test(file));
const shards = 2;

type Command = readonly string[];

function unitTestShard(shard: number): Command {
  return [
    process.execPath,
    '--test',
    '--test-isolation=none',
    `--test-shard=${shard}/${shards}`,
    '--test-timeout=120000',
    `--test-reporter=${resolve(root, 'scripts/test-reporter.ts')}`,
    ...unitTests,
  ];
}

/** The commands of a step run side by side. */
const steps: readonly { readonly name: string; readonly commands: readonly Command[] }[] = [
  { name: 'types', commands: [[bin('tsc'), '-p', '.']] },
  {
    name: 'lint, format, generated code, layers, tidy',
    commands: [
      [bin('biome'), 'check', ...(fix ? ['--write'] : []), '--max-diagnostics=40', '.'],
      [process.execPath, 'scripts/generate.ts', '--check'],
      [process.execPath, '--test', '--test-reporter=dot', 'test/*.test.ts'],
    ],
  },
  { name: 'unit tests', commands: Array.from({ length: shards }, (_, i) => unitTestShard(i + 1)) },
];

/** Runs it to its end; its output is shown then, in one piece. */
function run([program = '', ...words]: Command): Promise<boolean> {
  const child = spawn(program, words, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk));
  return new Promise((done) => {
    child.once('close', (status) => {
      process.stdout.write(Buffer.concat(output));
      done(status === 0);
    });
  });
}

for (const { name, commands } of steps) {
  const started = performance.now();
  const results = await Promise.all(commands.map(run));
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (!results.every(Boolean)) {
    console.error(`check: ${name} failed after ${seconds} s`);
    process.exit(1);
  }
  console.log(`check: ${name} ok (${seconds} s)`);
}
