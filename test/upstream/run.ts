/**
 * `npm run upstream`: upstream's own conformance suite, built from its source, against a cluster of two nodes that `coracle up` makes in a
 * network of its own; `docs/conformance.md` says what it needs and what came out. Ends with 0 when nothing failed but what `known` names.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { testNetwork } from '../../src/testing/network.ts';
import { ClusterMachine, root } from '../node/cluster-machine.fixture.ts';
import { writeImages } from './images.ts';

const release = 'v1.36.1';
const built = resolve(root, '.cache/upstream');

/** Tests that cannot pass here, and why. */
const known: ReadonlyMap<RegExp, string> = new Map([
  [/ImageVolume/, 'image volumes need containerd 2.1; Debian 12 has 1.6'],
]);

const { values } = parseArgs({
  options: {
    /** A regular expression of Go's kind on the names of tests. */
    focus: { type: 'string', default: '\\[Conformance\\]' },
    procs: { type: 'string', default: '4' },
  },
});

interface SpecReport {
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly State: string;
  readonly Failure?: { readonly Message: string };
}

await runProgram(join(import.meta.dirname, 'build.sh'), [built, release]);
const images = writeImages(built);
const folder = mkdtempSync(join(tmpdir(), 'coracle-upstream-'));
const data = join(folder, 'data');
const network = testNetwork();
const machine = new ClusterMachine(network.host(['192.168.91.1/24']), { data, folder });
try {
  machine.coracle('up', '--detach', '--no-install', '--nodes', '2', '--node-name', 'one');
  machine.coracle('image', 'load', images);
  machine.run('./coracle', 'image', 'load', images, '--data-dir', join(data, 'nodes', 'one-2'));
  const together = await suite('together', { labels: '!Serial', procs: values.procs });
  // What changes the cluster as a whole.
  const alone = await suite('alone', { labels: 'Serial', procs: '1' });
  process.exitCode = tell([...together, ...alone]) ? 0 : 1;
} finally {
  machine.coracle('down', '--purge');
  network.close();
  rmSync(folder, { recursive: true, force: true });
}

async function suite(
  name: string,
  { labels, procs }: { readonly labels: string; readonly procs: string },
): Promise<readonly SpecReport[]> {
  const results = join(built, 'results');
  mkdirSync(results, { recursive: true });
  const program = (file: string) => join(built, 'programs', file);
  const ginkgo = [
    ...['--no-color', '--timeout=3h', `--procs=${procs}`, `--focus=${values.focus}`, `--label-filter=${labels}`],
    ...[`--output-dir=${results}`, `--json-report=${name}.json`, program('e2e.test'), '--'],
    ...['--provider=skeleton', `--kubeconfig=${join(data, 'kubeconfig')}`, `--kubectl-path=${program('kubectl')}`],
    '--disable-log-dump',
  ];
  const inside = [`--net=/run/netns/${machine.host.namespace}`, program('ginkgo'), ...ginkgo];
  rmSync(join(results, `${name}.json`), { force: true });
  // Failing tests make it end with another status; which they are is in the report.
  await runProgram('nsenter', inside).catch(() => {});
  const [report] = JSON.parse(readFileSync(join(results, `${name}.json`), 'utf8')) as [
    { readonly SpecReports: readonly SpecReport[] },
  ];
  return report.SpecReports.filter(({ State }) => State !== 'skipped' && State !== 'pending');
}

/** Whether all is as it should be. */
function tell(specs: readonly SpecReport[]): boolean {
  const nameOf = ({ ContainerHierarchyTexts, LeafNodeText }: SpecReport) =>
    [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' ');
  const tests = specs.filter(({ LeafNodeType }) => LeafNodeType === 'It');
  const broken = specs.filter(({ LeafNodeType, State }) => LeafNodeType !== 'It' && State !== 'passed');
  const failed = tests.filter(({ State }) => State !== 'passed');
  console.log(`\n${tests.length - failed.length} of ${tests.length} tests passed`);
  for (const { LeafNodeType, Failure } of broken) console.log(`FAILED: ${LeafNodeType}\n  ${Failure?.Message ?? ''}`);
  let isWell = tests.length > 0 && broken.length === 0;
  for (const spec of failed) {
    const name = nameOf(spec);
    const why = [...known].find(([pattern]) => pattern.test(name))?.[1];
    console.log(why ? `known: ${name}\n  ${why}` : `FAILED: ${name}\n  ${spec.Failure?.Message ?? spec.State}`);
    if (!why) isWell = false;
  }
  return isWell;
}

function runProgram(program: string, words: readonly string[]): Promise<void> {
  const { promise, resolve: done, reject } = Promise.withResolvers<void>();
  const child = spawn(program, words, { stdio: ['ignore', 'inherit', 'inherit'] });
  child.on('error', reject);
  child.on('exit', (code) => (code === 0 ? done() : reject(new Error(`${program} ended with ${code}`))));
  return promise;
}
