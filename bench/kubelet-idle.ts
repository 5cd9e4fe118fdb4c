/**
 * What a kubelet costs while nothing happens: 110 Pods on a real containerd, each asked by a probe over HTTP every ten seconds. Its processor
 * time, its memory, and what it sends to the API server. `--profile` replaces it by one that writes down where its time goes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { missingParts } from '../src/testing/needs.ts';
import { memoryOf, usageOf } from './parts/child.ts';
import { type Figure, print, rounded, say } from './parts/figure.ts';
import { BenchNode } from './parts/node.ts';
import { shares } from './parts/profile.ts';
import { temporaryFolder } from './parts/temporary.ts';
import { since } from './parts/traffic.ts';

const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '110' },
    minutes: { type: 'string', default: '5' },
    profile: { type: 'boolean' },
  },
});
const podCount = Number(values.pods);
const minutes = Number(values.minutes);
const settleMs = 30_000;
/** A kubelet that adopts its Pods is busy with that for a while. */
const beginMs = 45_000;
const base: Figure = {
  name: 'kubelet-idle',
  what: `processor time of an idle kubelet, ${podCount} Pods with a probe each`,
  unit: '% of a core',
  target: 2,
  better: 'lower',
};

const missing = missingParts('containers');
if (missing) print({ ...base, note: `not measured: ${missing}` });
else await measure();
process.exit();

async function measure(): Promise<void> {
  await using node = await BenchNode.start(podCount);
  await node.run(Array.from({ length: podCount }, (_, index) => `web-${index}`));
  say(`${podCount} Pods are Ready`);
  await sleep(settleMs);
  const usage = () => usageOf(node.pid);
  const before = { usage: usage(), traffic: await node.traffic() };
  const beganMs = performance.now();
  await sleep(minutes * 60_000);
  const tookSeconds = (performance.now() - beganMs) / 1000;
  const after = usage();
  const userSeconds = after.userSeconds - before.usage.userSeconds;
  const systemSeconds = after.systemSeconds - before.usage.systemSeconds;
  const memory = memoryOf(node.pid);
  const traffic = since(before.traffic, await node.traffic());
  const perHour = (count: number) => Math.round((count * 3600) / tookSeconds);
  const requests = [...traffic.requests].map(([what, count]) => [what, perHour(count)] as const);
  const bytes = `${rounded(perHour(traffic.receivedBytes) / 1024)} kB to it, ${rounded(perHour(traffic.sentBytes) / 1024)} kB from it`;
  print({
    ...base,
    figure: (100 * (userSeconds + systemSeconds)) / tookSeconds,
    note: [
      `PSS ${rounded(memory.pssMB)} MB (target 150), own pages ${rounded(memory.ownMB)} MB, resident ${rounded(memory.ownMB + memory.sharedMB)} MB`,
      `to the API server in an hour: ${requests.map(([what, count]) => `${count} ${what}`).join(', ')}; ${bytes}`,
    ].join('; '),
    details: {
      pods: podCount,
      seconds: rounded(tookSeconds),
      userSeconds: rounded(userSeconds),
      systemSeconds: rounded(systemSeconds),
      memory,
      requestsPerHour: Object.fromEntries(requests),
      ...(values.profile ? { millisecondsPerMinute: await profile(node) } : {}),
    },
  });
}

async function profile(node: BenchNode): Promise<Readonly<Record<string, number>>> {
  const folder = process.env.BENCH_PROFILES ?? temporaryFolder();
  await node.replaceKubelet(`--cpu-prof --cpu-prof-dir=${folder}`);
  await sleep(beginMs + minutes * 60_000);
  await node.endKubelet();
  return shares(folder, beginMs);
}
