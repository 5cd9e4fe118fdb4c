/**
 * Large clusters on virtual time: how long it takes to have nodes registered and Pods created, scheduled and running, and how long an hour of their
 * quiet takes. `--nodes`, `--pods`, `--minutes` for smaller ones. CPU seconds stand beside the real ones, for the machine may be shared.
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
  },
});
const [nodeCount, podCount, minutes] = [Number(values.nodes), Number(values.pods), Number(values.minutes)];
const podsPerDeployment = 100;
const zones = 3;

interface Stretch {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

async function measured(work: () => Promise<void>): Promise<Stretch> {
  const [startedMs, startedCpu] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(startedCpu);
  return { seconds: (performance.now() - startedMs) / 1000, cpuSeconds: (user + system) / 1e6 };
}

const megabytes = () => Math.round(process.memoryUsage().rss / 2 ** 20);

await using cluster = await simulate({
  seed: 1,
  nodes: Array.from({ length: nodeCount }, (_, index) => ({ zone: `zone-${index % zones}` })),
  pods: () => ({ readyMs: 0 }),
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
say(`${nodeCount} nodes: ${registering.seconds.toFixed(1)} s, ${megabytes()} MB`);

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
    { withinMs: 3_600_000, everyMs: 5000, what: 'all pods running' },
  );
});
const peakMb = megabytes();
await cluster.advance(60_000);
const leasesBefore = written('leases');
const quiet = await measured(() => cluster.advance(minutes * 60_000));
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
