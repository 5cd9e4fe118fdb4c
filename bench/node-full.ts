/**
 * A node with 250 Pods on a real containerd: all of them started, Ready and held for a while, then deleted. The figure is how many stay Ready
 * all the time; what the kubelet costs with them, and whether anything of them is left on the node afterwards, stands beside it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { missingParts } from '../src/testing/needs.ts';
import { memoryOf, usageOf } from './parts/child.ts';
import { type Figure, print, rounded, say } from './parts/figure.ts';
import { BenchNode } from './parts/node.ts';

const { values } = parseArgs({
  options: { pods: { type: 'string', default: '250' }, minutes: { type: 'string', default: '2' } },
});
const podCount = Number(values.pods);
const holdMs = Number(values.minutes) * 60_000;
const settleMs = 15_000;
/** For the runtime to take away what deleted Pods leave. */
const removalMs = 60_000;
const base: Figure = {
  name: 'node-full',
  what: 'Pods held Ready on one node, then deleted with nothing left of them',
  unit: 'Pods',
  target: podCount,
  better: 'higher',
};

const missing = missingParts('containers');
if (missing) print({ ...base, note: `not measured: ${missing}` });
else await measure();
process.exit();

async function measure(): Promise<void> {
  await using node = await BenchNode.start(podCount);
  const names = Array.from({ length: podCount }, (_, index) => `web-${index}`);
  const started = await timed(node, () => node.run(names));
  say(`${podCount} Pods are Ready after ${rounded(started.seconds)} s`);
  await sleep(settleMs);
  const held = await timed(node, () => sleep(holdMs));
  const memory = memoryOf(node.pid);
  const steady = await node.steady();
  const deleted = await timed(node, () => node.remove(names));
  say(`deleted after ${rounded(deleted.seconds)} s`);
  const leftovers = await untilNothingIsLeft(node);
  const idlePercent = (100 * held.cpuSeconds) / held.seconds;
  print({
    ...base,
    figure: leftovers.length === 0 ? steady : 0,
    note: [
      `started in ${rounded(started.seconds)} s, deleted in ${rounded(deleted.seconds)} s, with ${rounded(started.cpuSeconds)} and ${rounded(deleted.cpuSeconds)} s of the kubelet's processor time`,
      `held: ${rounded(idlePercent)}% of a core, PSS ${rounded(memory.pssMB)} MB, own pages ${rounded(memory.ownMB)} MB`,
      leftovers.length === 0 ? 'nothing left' : `left: ${leftovers.join(', ')}`,
    ].join('; '),
    details: { started, held, deleted, memory, afterwards: memoryOf(node.pid) },
  });
}

async function timed(node: BenchNode, work: () => Promise<unknown>) {
  const before = usageOf(node.pid);
  const beganMs = performance.now();
  await work();
  const after = usageOf(node.pid);
  const cpuSeconds = after.userSeconds + after.systemSeconds - before.userSeconds - before.systemSeconds;
  return { seconds: (performance.now() - beganMs) / 1000, cpuSeconds };
}

async function untilNothingIsLeft(node: BenchNode): Promise<readonly string[]> {
  const untilMs = performance.now() + removalMs;
  for (;;) {
    const left = await node.leftovers();
    if (left.length === 0 || performance.now() > untilMs) return left;
    await sleep(1000);
  }
}
