/**
 * Memory of idle processes, as their share of what lies in RAM (PSS): a Node.js that does nothing, an embedded control plane, and the two
 * processes of `coracle up` with a real node, containerd left out. The figure is the last one; where no node can run, it is missing.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child, memoryOf } from './parts/child.ts';
import { startCluster } from './parts/cluster.ts';
import { print, rounded, say } from './parts/figure.ts';
import { temporaryFolder } from './parts/temporary.ts';

const settleMs = 20_000;

const nothing = await idle('nothing', {});
const embedded = await idle('embedded', { kind: 'start', keep: true });
const cluster = await clusterMemory();
const megabytes = typeof cluster === 'string' ? undefined : cluster.controlPlane + cluster.node;
print({
  name: 'idle-memory',
  what: "memory of Coracle's processes (PSS), one real node, idle",
  figure: megabytes,
  unit: 'MB',
  target: 150,
  better: 'lower',
  note:
    typeof cluster === 'string'
      ? `embedded control plane ${rounded(embedded)} MB; not measured: ${cluster}`
      : `control plane ${rounded(cluster.controlPlane)} MB, node ${rounded(cluster.node)} MB; embedded control plane ${rounded(embedded)} MB; an idle Node.js ${rounded(nothing)} MB`,
  details: { embedded: rounded(embedded), nothing: rounded(nothing), ...(typeof cluster === 'string' ? {} : cluster) },
});
process.exit();

async function idle(program: string, request: object): Promise<number> {
  await using child = new Child(program, { environment: { NODE_COMPILE_CACHE: join(temporaryFolder(), 'cache') } });
  if ('kind' in request) await child.ask(request);
  await sleep(settleMs);
  const { pssMB } = memoryOf(child.pid);
  say(`${program}: ${rounded(pssMB)} MB`);
  return pssMB;
}

/** Or why it cannot be measured. */
async function clusterMemory(): Promise<{ readonly controlPlane: number; readonly node: number } | string> {
  const started = await startCluster(temporaryFolder());
  if (typeof started === 'string') return started;
  try {
    await sleep(settleMs);
    const pidOf = (name: string) => Number(readFileSync(join(started.runFolder, `${name}.pid`), 'utf8').split(' ')[0]);
    const sizes = {
      controlPlane: memoryOf(pidOf('control-plane')).pssMB,
      node: memoryOf(pidOf('node')).pssMB,
    };
    say(`control plane: ${rounded(sizes.controlPlane)} MB, node: ${rounded(sizes.node)} MB`);
    return sizes;
  } finally {
    started.stop();
  }
}
