/**
 * Keeps containers where they belong: when one container gets processors for itself, those that share the rest must leave them. Looks every
 * ten seconds and tells the runtime what has changed.
 */
import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { type ContainerRuntime, runtimeLabels } from '../runtime/runtime.ts';
import type { NodeResources } from './node-resources.ts';

export interface PlacementLoopOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly runtime: ContainerRuntime;
  readonly resources: NodeResources;
  readonly periodMs: number;
  /** Whether the node has the Pod, and knows of all that it has. */
  hasPod(uid: string): boolean;
  isComplete(): boolean;
}

export async function keepPlacement(options: PlacementLoopOptions): Promise<void> {
  const { clock, log, periodMs, signal } = options;
  /** As last told to the runtime, by container. */
  const told = new Map<string, string>();
  while (!signal.aborted) {
    await sleep(clock, periodMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    await placeAll(options, told).catch((error) => {
      if (!signal.aborted) log.warn('containers cannot be placed', { error: messageOf(error) });
    });
  }
}

async function placeAll(
  { hasPod, isComplete, resources, runtime, signal }: PlacementLoopOptions,
  told: Map<string, string>,
): Promise<void> {
  if (isComplete()) resources.retain(hasPod);
  const running = await runtime.listContainers({ state: 'running' }, { signal });
  const ids = new Set(running.map(({ id }) => id));
  for (const id of told.keys()) if (!ids.has(id)) told.delete(id);
  for (const { id, name, labels } of running) {
    const uid = labels[runtimeLabels.podUid];
    if (uid === undefined || !hasPod(uid)) continue;
    const placement = resources.placementOf(uid, labels[runtimeLabels.containerName] ?? name);
    const wanted = JSON.stringify(placement);
    if (told.get(id) === wanted) continue;
    await runtime.updateContainerResources(id, placement, { signal });
    told.set(id, wanted);
  }
}
