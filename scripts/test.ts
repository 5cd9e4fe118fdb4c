/**
 * `npm test`: `npm run check`, then the suites that meet the real parts, one after the other, each within its budget. Prints the
 * time of every suite and ends with the sum of tests. `node scripts/test.ts NAME...` runs only the named suites.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

interface Suite {
  readonly name: string;
  readonly files: readonly string[];
  readonly budgetMinutes: number;
  readonly env?: Readonly<Record<string, string>>;
}

const suites: readonly Suite[] = [
  { name: 'api', files: ['test/api/*.test.ts', 'examples/**/*.test.ts'], budgetMinutes: 8 },
  { name: 'conformance', files: ['test/conformance/*.test.ts'], budgetMinutes: 6 },
  { name: 'cli', files: ['test/cli/*.test.ts'], budgetMinutes: 5 },
  { name: 'package', files: ['test/package/*.test.ts'], budgetMinutes: 3 },
  { name: 'kubectl', files: ['test/kubectl/*.test.ts'], budgetMinutes: 8 },
  { name: 'seeds', files: ['test/seeds/*.test.ts'], budgetMinutes: 3 },
  { name: 'etcd', files: ['src/**/etcd*.test.ts', 'test/etcd/*.test.ts'], budgetMinutes: 6 },
  {
    name: 'api-over-etcd',
    files: ['test/api/{watch-and-list,custom-resources,custom-conversions,patches,stored-versions}.test.ts'],
    budgetMinutes: 3,
    env: { CORACLE_TEST_STORE: 'etcd' },
  },
  // Kills, freezes, partitions, full disks and power cuts, with another seed every day.
  { name: 'faults', files: ['test/faults/*.test.ts'], budgetMinutes: 6 },
  // Tests that need a real containerd or kernel stand beside the code too and say so in their name.
  { name: 'node', files: ['test/node/*.test.ts', 'src/**/*containerd*.test.ts'], budgetMinutes: 10 },
  // A machine under emulation: systemd, cgroup v2, a power switch. Its image is built once, within the budget.
  { name: 'guest', files: ['test/vm/*.test.ts'], budgetMinutes: 8 },
];

const asked = process.argv.slice(2);
const report: string[] = [];
let failed = false;

type Run = Pick<Suite, 'name' | 'budgetMinutes' | 'env'>;

function run({ name, budgetMinutes, env }: Run, command: readonly string[]): void {
  const started = performance.now();
  const result = spawnSync(command[0]!, command.slice(1), {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: 'inherit',
    timeout: budgetMinutes * 60_000 * 2,
    killSignal: 'SIGKILL',
  });
  const minutes = (performance.now() - started) / 60_000;
  const ok = result.status === 0;
  failed ||= !ok;
  report.push(
    `${ok ? 'ok    ' : 'FAILED'} ${name}: ${minutes.toFixed(1)} of ${budgetMinutes} min${minutes > budgetMinutes ? ' (over its budget)' : ''}`,
  );
}

if (asked.length === 0 || asked.includes('check'))
  run({ name: 'check', budgetMinutes: 2 }, [process.execPath, 'scripts/check.ts']);
for (const suite of suites) {
  if (asked.length > 0 && !asked.includes(suite.name)) continue;
  if (globSync([...suite.files], { cwd: root }).length === 0) continue;
  const reporter = resolve(root, 'scripts/test-reporter.ts');
  if (!existsSync(reporter)) throw new Error(`no reporter at ${reporter}`);
  console.log(`\n== ${suite.name} ==`);
  run(suite, [
    process.execPath,
    '--test',
    '--test-concurrency=1',
    `--test-timeout=${suite.budgetMinutes * 120_000}`,
    `--test-reporter=${reporter}`,
    ...suite.files,
  ]);
}

console.log(`\n${report.join('\n')}`);
process.exit(failed ? 1 : 0);
