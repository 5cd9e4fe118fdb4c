/** Measures what Pods use, of the runtime (memory, processes, writable layers) and of the host (logs and volumes). */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { NodeHost } from '../host/host.ts';
import { type ContainerRuntime, type ContainerStats, runtimeLabels } from '../runtime/runtime.ts';
import type { ContainerUse, PodUse } from './measurement.ts';

export interface UsageSources {
  readonly runtime: ContainerRuntime;
  readonly host: NodeHost;
  readonly signal: AbortSignal;
}

/** By uid; a Pod of which the runtime tells nothing is left out. */
export async function podUses(
  { runtime, host, signal }: UsageSources,
  pods: readonly Pod[],
): Promise<ReadonlyMap<string, PodUse>> {
  const [sandboxes, stats] = await Promise.all([
    runtime.listPodSandboxes({ state: 'ready' }, { signal }),
    runtime.listContainerStats({}, { signal }),
  ]);
  const uses = new Map<string, PodUse>();
  for (const pod of pods) {
    const uid = pod.metadata.uid ?? '';
    const sandbox = sandboxes.find(({ metadata }) => metadata.uid === uid);
    const own = stats.filter(({ labels }) => labels[runtimeLabels.podUid] === uid);
    if (!sandbox && own.length === 0) continue;
    const whole = sandbox && (await runtime.podSandboxStats(sandbox.id, { signal }).catch(() => undefined));
    const disk = await host.podDiskUse?.(pod);
    const containers = own.map((entry): ContainerUse => containerUse(entry, disk?.logs.get(entry.name)));
    const summed = containers.reduce((sum, { memoryBytes }) => sum + (memoryBytes ?? 0), 0);
    uses.set(uid, {
      memoryBytes: whole?.memory?.workingSetBytes || summed,
      processes: whole?.processCount ?? 0,
      containers,
      volumes: disk?.volumes ?? new Map(),
    });
  }
  return uses;
}

function containerUse({ name, memory, writableLayer }: ContainerStats, logs: ContainerUse['logs']): ContainerUse {
  return {
    name,
    memoryBytes: memory?.workingSetBytes,
    layer: writableLayer && { bytes: writableLayer.usedBytes, inodes: writableLayer.inodesUsed },
    logs,
  };
}
