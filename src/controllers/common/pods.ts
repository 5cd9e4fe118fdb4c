/**
 * What workload controllers ask of a Pod beyond `api/core/v1/pod-status.ts`: when it will count as available, whether it may still
 * run although it is being deleted, how often its containers restarted.
 */
import { isPodTerminal, podCondition } from '../../api/core/v1/pod-status.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { CauseNote } from '../../reconcile/causes.ts';

/** Being deleted and not over yet: it may still run, and hold its name and its node's resources. */
export function isPodStopping(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined && !isPodTerminal(pod);
}

/** The earliest moment, from now, at which a ready Pod becomes available with no further change; undefined when none will. */
export function nextAvailableInMs(pods: readonly Pod[], minReadySeconds: number, nowMs: number): number | undefined {
  // Who is ready is available.
  if (minReadySeconds === 0) return undefined;
  let soonest: number | undefined;
  for (const pod of pods) {
    const ready = podCondition(pod.status, 'Ready');
    if (ready?.status !== 'True' || !ready.lastTransitionTime) continue;
    const inMs = Date.parse(ready.lastTransitionTime) + minReadySeconds * 1000 - nowMs;
    if (inMs > 0 && (soonest === undefined || inMs < soonest)) soonest = inMs;
  }
  return soonest;
}

export function becomingAvailable(untilMs: number): CauseNote {
  const message = 'a Pod is Ready and counts as available only when it has been so for minReadySeconds';
  return { reason: 'MinReadySeconds', message, untilMs };
}

/** The largest restart count of the Pod's containers. */
export function maxContainerRestarts(pod: Pod): number {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  return statuses.reduce((most, status) => Math.max(most, status.restartCount), 0);
}
