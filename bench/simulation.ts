/**
 * Large clusters on virtual time: how long it takes to have nodes registered and Pods created, scheduled and running, and how long an hour of their
 * quiet takes. `--nodes`, `--pods`, `--minutes` for smaller ones. Pods run as soon as they have reached their node, as kwok's do unless told otherwise;
 * `--start-ms` gives them some time to start, and then each of them is news of its own for its ReplicaSet and its Deployment. CPU seconds, of the main thread
 * and of all, stand beside the real ones, for the machine may be shared. Run it with `--max-semi-space-size=64`: what a write leaves behind is dead
 * by the time that a larger young generation is full.
 */
import { parseArgs } from 'node:util';
import { deployments } from '../src/api/gen/apps-v1.ts';
import type { Pod } from '../src/api/gen/core-v1.ts';
import { simulate } from '../src/sim/index.ts';
import { deployment } from '../src/sim/seeds/workload.ts';
import { print, rounded, say } from './parts/figure.ts';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '5000' },
    pods: { type: 'string', default: '150000' },
    minutes: { type: 'string', default: '60' },
    'start-ms': { type: 'string', default: '0' },
  },
});
const [nodeCount, podCount, minutes] = [Number(values.nodes), Number(values.pods), Number(values.minutes)];
const podsPerDeployment = 100;
const zones = 3;

interface Stretch {
  readonly seconds: number;
  readonly mainThreadSeconds: number;
  readonly cpuSeconds: number;
}

async function measured(work: () => Promise<void>): Promise<Stretch> {
  const startedMs = performance.now();
  const [all, main] = [process.cpuUsage(), process.threadCpuUsage()];
  await work();
  const secondsOf = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1e6;
  return {
    seconds: (performance.now() - startedMs) / 1000,
    mainThreadSeconds: secondsOf(process.threadCpuUsage(main)),
    cpuSeconds: secondsOf(process.cpuUsage(all)),
  };
}

const megabytes = () => Math.round(process.memoryUsage().rss / 2 ** 20);

await using cluster = await simulate({
  seed: 1,
  nodes: Array.from({ length: nodeCount }, (_, index) => ({ zone: `zone-${index % zones}` })),
  pods: () => ({ startMs: Number(values['start-ms']), readyMs: 0 }),
  digestValues: false,
});
const written = (resource: string) => cluster.history.writes.get(resource) ?? 0;
const registering = await measured(() =>
  cluster.until(() => cluster.areNodesReady(), {
    withinMs: 600_000,
    everyMs: 1000,
    what: 'the readiness of all nodes',
  }),
);
say(
  `${nodeCount} nodes: ${registering.seconds.toFixed(1)} s (${rounded(registering.cpuSeconds)} s of CPU), ${megabytes()} MB`,
);

let running = 0;
cluster.history.onChange(({ key, value, previous }) => {
  if (!key.startsWith('/registry/pods/')) return;
  const phase = (object: unknown) => (object as Pod | undefined)?.status?.phase;
  if (phase(value) === 'Running' && phase(previous?.value) !== 'Running') running++;
});
const deploying = await measured(async () => {
  for (let i = 0; i * podsPerDeployment < podCount; i++)
    await cluster.client.create(
      deployments,
      deployment(`web-${i}`, Math.min(podsPerDeployment, podCount - i * podsPerDeployment)),
    );
  await cluster.until(
    () => {
      say(
        `${running} pods run after ${(cluster.clock.monotonic() / 1000).toFixed(0)} virtual seconds, ${megabytes()} MB`,
      );
      return running >= podCount;
    },
    { withinMs: 3_600_000, everyMs: 1000, what: 'all pods running' },
  );
});
say(
  `${podCount} pods: ${deploying.seconds.toFixed(1)} s (${rounded(deploying.mainThreadSeconds)} s of the main thread's CPU)`,
);
const peakMb = megabytes();
await cluster.advance(60_000);
const leasesBefore = written('leases');
const quiet = await measured(async () => {
  for (let minute = 0; minute < minutes; minute++) {
    await cluster.advance(60_000);
    say(`${minute + 1} quiet minutes, ${written('leases') - leasesBefore} Lease writes, ${megabytes()} MB`);
  }
});
const leaseWrites = written('leases') - leasesBefore;
say(`${minutes} quiet minutes: ${quiet.seconds.toFixed(1)} s, ${leaseWrites} Lease writes`);

print({
  name: 'simulation',
  what: `simulated: ${nodeCount} nodes and ${podCount} Pods made and running`,
  figure: registering.seconds + deploying.seconds,
  unit: 's',
  target: 120,
  better: 'lower',
  note: `${rounded(registering.cpuSeconds + deploying.cpuSeconds)} s of CPU, ${peakMb} MB; then ${minutes} quiet minutes in ${rounded(quiet.seconds)} s (${rounded(quiet.cpuSeconds)} s of CPU) with ${leaseWrites} Lease writes`,
  details: { registering, deploying, quiet, leaseWrites, peakMb, writes: Object.fromEntries(cluster.history.writes) },
});
