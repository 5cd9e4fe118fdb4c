/**
 * `npm test`: `npm run check`, then the suites that meet the real parts, each within its budget, in two lanes side by side: most of them wait
 * for processes more than they compute. A suite's output is shown when it has ended. Ends with the time of every suite.
 * `node scripts/test.ts NAME...` runs only the named suites; a single one shows its output as it comes.
 */
import { spawn } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

interface Suite {
  readonly name: string;
  readonly lane: 1 | 2;
  readonly files: readonly string[];
  readonly budgetMinutes: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Folder of programs that come before the machine's own; `scripts/install-test-tools.sh` fills it. */
  readonly programs?: string;
}

/** What a runtime has most to do with, on another containerd than the machine's; `node` runs all of it on that one. */
function onContainerd(release: string, more: readonly string[]): Suite {
  return {
    name: `containerd-${release}`,
    lane: 1,
    files: [
      'test/runtimes/{interface,cluster}.test.ts',
      'src/kubelet/runtime/cri/cri-runtime.containerd.test.ts',
      ...more,
    ],
    budgetMinutes: 3,
    env: { CORACLE_TEST_CONTAINERD: release },
    programs: `.cache/tools/containerd-${release}/bin`,
  };
}

const suites: readonly Suite[] = [
  { name: 'api', lane: 1, files: ['test/api/*.test.ts', 'examples/**/*.test.ts'], budgetMinutes: 8 },
  { name: 'conformance', lane: 1, files: ['test/conformance/*.test.ts'], budgetMinutes: 6 },
  { name: 'cli', lane: 1, files: ['test/cli/*.test.ts'], budgetMinutes: 5 },
  { name: 'package', lane: 1, files: ['test/package/*.test.ts'], budgetMinutes: 3 },
  { name: 'kubectl', lane: 1, files: ['test/kubectl/*.test.ts', 'src/**/*kubectl*.test.ts'], budgetMinutes: 8 },
  { name: 'seeds', lane: 1, files: ['test/seeds/*.test.ts', 'src/sim/simulation.test.ts'], budgetMinutes: 7 },
  { name: 'etcd', lane: 2, files: ['src/**/etcd*.test.ts', 'test/etcd/*.test.ts'], budgetMinutes: 6 },
  {
    name: 'api-over-etcd',
    lane: 1,
    files: [
      'test/api/{watch-and-list,watches-over-web-sockets,custom-resources,custom-conversions,patches,stored-versions}.test.ts',
    ],
    budgetMinutes: 3,
    env: { CORACLE_TEST_STORE: 'etcd' },
  },
  // Kills, freezes, partitions, full disks and power cuts, with another seed every day.
  {
    name: 'faults',
    lane: 2,
    files: ['test/faults/*.test.ts', 'src/storage/lmdb/durability.test.ts'],
    budgetMinutes: 6,
  },
  // Tests that need a real containerd or kernel stand beside the code too and say so in their name.
  { name: 'node', lane: 2, files: ['test/node/*.test.ts', 'src/**/*containerd*.test.ts'], budgetMinutes: 10 },
  // Debian 11's, which speaks v1alpha2 alone; Debian 13's; and that of later suites, with what only it can do.
  onContainerd('1.4', []),
  onContainerd('1.7', ['test/runtimes/upgrade.test.ts', 'src/kubelet/kubelet.containerd.test.ts']),
  onContainerd('2', ['test/runtimes/{upgrade,features}.test.ts', 'src/kubelet/kubelet.containerd.test.ts']),
  // A machine under emulation: systemd, cgroup v2, a power switch. Its image is built once, within the budget.
  { name: 'guest', lane: 2, files: ['test/guest/*.test.ts'], budgetMinutes: 18 },
];

const asked = process.argv.slice(2);
const names = ['check', ...suites.map(({ name }) => name)];
const unknown = asked.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`no such suite: ${unknown.join(', ')}. There are: ${names.join(', ')}`);
  process.exit(2);
}
const chosen = suites.filter(({ name }) => asked.length === 0 || asked.includes(name));
const isAlone = chosen.length + (asked.includes('check') ? 1 : 0) === 1;
const report: string[] = [];
let failed = false;

type Run = Pick<Suite, 'name' | 'budgetMinutes' | 'env' | 'programs'>;

/** A suite is ended after so many times its budget: a machine may be busy or slow. */
const patience = 3;

/** Leaders of process groups: a suite that is ended takes along what it started, emulated machines too. */
const running = new Set<number>();

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    for (const leader of running) endGroup(leader);
    process.exit(1);
  });

function run({ name, budgetMinutes, env, programs }: Run, [program = '', ...words]: readonly string[]): Promise<void> {
  const started = performance.now();
  console.log(`${name} begins`);
  const path = [programs && resolve(root, programs), resolve(root, '.cache/tools/bin'), process.env.PATH];
  const child = spawn(program, words, {
    cwd: root,
    // What install-test-tools.sh found missing on this machine comes first.
    env: { ...process.env, PATH: path.filter(Boolean).join(':'), ...env },
    stdio: isAlone ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const pid = child.pid!;
  running.add(pid);
  const tooLong = setTimeout(() => endGroup(pid), budgetMinutes * 60_000 * patience);
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => output.push(chunk));
  return new Promise((done) => {
    child.once('close', (status) => {
      clearTimeout(tooLong);
      running.delete(pid);
      const minutes = (performance.now() - started) / 60_000;
      failed ||= status !== 0;
      const over = minutes > budgetMinutes ? ' (over its budget)' : '';
      const result = `${status === 0 ? 'ok    ' : 'FAILED'} ${name}: ${minutes.toFixed(1)} of ${budgetMinutes} min${over}`;
      report.push(result);
      console.log(`\n== ${name} ==\n${Buffer.concat(output)}\n${result}`);
      done();
    });
  });
}

/** Where its programs could not be fetched; in CI that is a failure. */
function isLeftOut({ name, programs }: Suite): boolean {
  if (programs === undefined || existsSync(resolve(root, programs))) return false;
  const isCi = process.env.CI === 'true';
  failed ||= isCi;
  report.push(
    `${isCi ? 'FAILED' : 'left out'} ${name}: nothing in ${programs}, which scripts/install-test-tools.sh fills`,
  );
  return true;
}

async function runLane(lane: Suite['lane']): Promise<void> {
  const reporter = resolve(root, 'scripts/test-reporter.ts');
  for (const suite of chosen) {
    if (suite.lane !== lane || isLeftOut(suite)) continue;
    const files = globSync([...suite.files], { cwd: root });
    if (files.length === 0) throw new Error(`suite ${suite.name} has no files`);
    await run(suite, [
      process.execPath,
      '--test',
      '--test-concurrency=1',
      `--test-timeout=${suite.budgetMinutes * 60_000 * patience}`,
      `--test-reporter=${reporter}`,
      ...files,
    ]);
  }
}

if (asked.length === 0 || asked.includes('check'))
  await run({ name: 'check', budgetMinutes: 2 }, [process.execPath, 'scripts/check.ts']);
await Promise.all([runLane(1), runLane(2)]);

console.log(`\n${report.join('\n')}`);
process.exit(failed ? 1 : 0);
