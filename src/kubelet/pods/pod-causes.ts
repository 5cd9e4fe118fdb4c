/**
 * What the kubelet knows of a Pod that does not start or end, beyond its status: when it tries again, and what still runs of it. Pure.
 */
import type { CauseNote } from '../../reconcile/causes.ts';
import type { WaitingReason } from './container-statuses.ts';
import { type RuntimePod, runningContainers } from './runtime-pod.ts';

/** Containers that could not be started, and are tried again then. */
export function startCauses(
  waiting: ReadonlyMap<string, WaitingReason>,
  retryAtMs: number | undefined,
): readonly CauseNote[] {
  if (retryAtMs === undefined) return [];
  return [...waiting].map(([name, { reason }]) => ({
    reason,
    message: `container ${name} could not be started and is tried again`,
    untilMs: retryAtMs,
  }));
}

export function failureCause(message: string, retryAtMs: number): CauseNote {
  return { reason: 'SyncFailed', message: `${message}; it is tried again`, untilMs: retryAtMs };
}

/** Until its grace period is over, a container ends as it likes. */
export function endingCauses(observed: RuntimePod, killAtMs: number): readonly CauseNote[] {
  const names = runningContainers(observed).map(({ name }) => name);
  if (names.length === 0) return [];
  const message = `${names.join(', ')} still ${names.length === 1 ? 'runs' : 'run'} and ${names.length === 1 ? 'is' : 'are'} killed when the grace period is over`;
  return [{ reason: 'ContainersEnding', message, untilMs: killAtMs }];
}
