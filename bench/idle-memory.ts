/**
 * Memory of idle processes: a Node.js that does nothing, an embedded control plane, and the two processes of `coracle up` with a real node,
 * containerd left out. The figure is the last one: the PSS they have on a machine where nothing else runs Node.js, started with a full
 * compile cache. (The very first start compiles TypeScript, and the compiler stays in memory until the next start.)
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child, type Memory, memoryOf } from './parts/child.ts';
import { startCluster } from './parts/cluster.ts';
import { print, rounded, say } from './parts/figure.ts';
import { temporaryFolder } from './parts/temporary.ts';

const settleMs = 20_000;

const cache = join(temporaryFolder(), 'cache');
process.env.NODE_COMPILE_CACHE = cache;

const nothing = await idle('nothing', {});
const embedded = await idle('embedded', { kind: 'start', form: 'sources', keep: true });
const cluster = await clusterMemory();
const whole = typeof cluster === 'string' ? undefined : together([cluster.controlPlane, cluster.node]);
print({
  name: 'idle-memory',
  what: "memory of Coracle's processes, one real node, idle",
  figure: whole,
  unit: 'MB',
  target: 150,
  better: 'lower',
  note: [
    typeof cluster === 'string'
      ? `not measured: ${cluster}`
      : `PSS as it was: control plane ${rounded(cluster.controlPlane.pssMB)} MB, node ${rounded(cluster.node.pssMB)} MB`,
    `embedded control plane ${rounded(together([embedded]))} MB, a Node.js that does nothing ${rounded(together([nothing]))} MB`,
  ].join('; '),
  details: { nothing, embedded, ...(typeof cluster === 'string' ? {} : cluster) },
});
process.exit();

/**
 * PSS of these processes if no others of Node.js ran: PSS shares out the pages of the program among all its processes, those of strangers
 * too, which makes the figure better the more of them there are.
 */
function together(processes: readonly Memory[]): number {
  const own = processes.reduce((sum, { ownMB }) => sum + ownMB, 0);
  return own + Math.max(...processes.map(({ sharedMB }) => sharedMB));
}

async function idle(program: string, request: object): Promise<Memory> {
  if ('kind' in request) await fillCache(program, request);
  await using child = new Child(program);
  if ('kind' in request) await child.ask(request);
  await sleep(settleMs);
  const memory = memoryOf(child.pid);
  say(`${program}: ${rounded(memory.pssMB)} MB`);
  return memory;
}

async function fillCache(program: string, request: object): Promise<void> {
  await using child = new Child(program);
  await child.ask(request);
  await sleep(1000);
  await child.kill('SIGTERM');
}

/** Or why it cannot be measured. */
async function clusterMemory(): Promise<{ readonly controlPlane: Memory; readonly node: Memory } | string> {
  const started = await startCluster(temporaryFolder());
  if (typeof started === 'string') return started;
  try {
    started.again();
    await sleep(settleMs);
    const pidOf = (name: string) => Number(readFileSync(join(started.runFolder, `${name}.pid`), 'utf8').split(' ')[0]);
    return { controlPlane: memoryOf(pidOf('control-plane')), node: memoryOf(pidOf('node')) };
  } finally {
    started.stop();
  }
}
