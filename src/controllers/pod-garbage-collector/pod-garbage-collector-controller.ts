/**
 * Removes Pods that nobody else will (see `plan.ts`), with grace 0, for no kubelet is left to confirm. A Node counts as gone when it
 * has been missing for 40 s and the API server says so too.
 */
import { nodes as nodeType, type Pod, type PodCondition, pods as podType } from '../../api/gen/core-v1.ts';
import { isNotFound, messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { sleep } from '../../base/clock.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { indexByNode, podsOnNode } from '../shared/node-pods.ts';
import { missingNodes, mustFailFirst, planOutOfService, planTerminated, planUnscheduled } from './plan.ts';

const periodMs = 20_000;
const quarantineMs = 40_000;

export interface PodGarbageCollectorOptions {
  /** Finished Pods that may exist before the oldest are deleted; 0 or less: no limit. Default 12500. */
  readonly terminatedThreshold?: number | undefined;
}

export async function runPodGarbageCollectorController(
  context: ComponentContext,
  options: PodGarbageCollectorOptions = {},
): Promise<void> {
  const { clock, informers, signal } = context;
  const threshold = options.terminatedThreshold ?? 12_500;
  const pods = informers.of(podType);
  const nodes = informers.of(nodeType);
  indexByNode(pods);
  /** Since when each Node was missed. */
  const missedSince = new Map<string, number>();

  async function collect(): Promise<void> {
    const all = pods.list();
    for (const pod of planTerminated(all, threshold)) await remove(pod);
    for (const pod of planOutOfService(nodes.list(), (name) => podsOnNode(pods, name))) await remove(pod);
    for (const name of await goneNodes(all)) {
      for (const pod of podsOnNode(pods, name)) await remove(pod, orphaned());
    }
    for (const pod of planUnscheduled(all)) await remove(pod);
  }

  async function goneNodes(all: readonly Pod[]): Promise<readonly string[]> {
    const missing = missingNodes(all, (name) => nodes.get(name) !== undefined);
    for (const name of missedSince.keys()) if (!missing.has(name)) missedSince.delete(name);
    const gone: string[] = [];
    for (const name of missing) {
      const sinceMs = missedSince.get(name) ?? clock.monotonic();
      missedSince.set(name, sinceMs);
      if (clock.monotonic() - sinceMs >= quarantineMs && !(await existsAtServer(name))) gone.push(name);
    }
    return gone;
  }

  async function existsAtServer(name: string): Promise<boolean> {
    try {
      await context.client.get(nodeType, { name });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  function orphaned(): PodCondition {
    return {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByPodGC',
      message: 'PodGC: node no longer exists',
      lastTransitionTime: formatTime(clock.now()),
    };
  }

  async function remove(pod: Pod, condition?: PodCondition): Promise<void> {
    const { namespace, name = '', uid } = pod.metadata;
    try {
      if (mustFailFirst(pod)) {
        const status = { phase: 'Failed', ...(condition ? { conditions: [condition] } : {}) };
        const body = { metadata: { uid }, status };
        await context.client.patch(
          podType,
          { namespace, name },
          { type: 'strategic', body },
          { subresource: 'status' },
        );
      }
      await context.client.delete(podType, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (isNotFound(error)) return;
      context.log.warn('removing a pod failed', { pod: `${namespace}/${name}`, error: messageOf(error) });
    }
  }

  try {
    await Promise.all([pods.whenSynced(signal), nodes.whenSynced(signal)]);
    while (!signal.aborted) {
      await collect().catch((error) => context.log.error('pod garbage collection failed', { error: messageOf(error) }));
      await sleep(clock, periodMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
