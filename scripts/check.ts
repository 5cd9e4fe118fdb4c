/**
 * `npm run check`: everything that needs no real part and takes under a minute. Types, lint and format, the generated files'
 * freshness, layers, tidy and the unit tests. `--fix` formats and mends what can be mended.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const bin = (name: string) => resolve(root, 'node_modules/.bin', name);
const fix = process.argv.includes('--fix');

/** Those that need a real containerd or etcd belong to `npm test`. */
const unitTests = globSync('src/**/*.test.ts', { cwd: root }).filter((file) => !/containerd|\/etcd[^/]*$/.test(file));

const steps: readonly { readonly name: string; readonly command: readonly string[] }[] = [
  { name: 'types', command: [bin('tsc'), '-p', '.'] },
  {
    name: 'lint and format',
    command: [bin('biome'), 'check', ...(fix ? ['--write'] : []), '--max-diagnostics=40', '.'],
  },
  { name: 'generated code is current', command: [process.execPath, 'scripts/generate.ts', '--check'] },
  { name: 'layers and tidy', command: [process.execPath, '--test', '--test-reporter=dot', 'test/*.test.ts'] },
  {
    name: 'unit tests',
    command: [
      process.execPath,
      '--test',
      '--test-concurrency=2',
      '--test-timeout=120000',
      `--test-reporter=${resolve(root, 'scripts/test-reporter.ts')}`,
      ...unitTests,
    ],
  },
];

for (const { name, command } of steps) {
  const started = performance.now();
  const result = spawnSync(command[0]!, command.slice(1), { cwd: root, stdio: 'inherit' });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (result.status !== 0) {
    console.error(`check: ${name} failed after ${seconds} s`);
    process.exit(1);
  }
  console.log(`check: ${name} ok (${seconds} s)`);
}
