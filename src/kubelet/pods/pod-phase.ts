/** A Pod's phase from the statuses of its containers. Pure; the rules are upstream's. */
import { isMirrorPod } from '../../api/core/v1/mirror-pod.ts';
import { isSidecar, shouldRestart } from '../../api/core/v1/pod-status.ts';
import type { Container, ContainerStateTerminated, ContainerStatus, Pod, PodPhase } from '../../api/gen/core-v1.ts';
import { restartingReason } from './restart-all.ts';

export interface PhaseOptions {
  /** None of its containers will run again, whatever its policy says. */
  readonly isTerminal: boolean;
}

export function podPhase(pod: Pod, statuses: readonly ContainerStatus[], options: PhaseOptions): PodPhase {
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const init = countInitContainers(pod, byName);
  const regular = countContainers(pod, byName, init.sidecars);
  if (init.failedForGood > 0) return 'Failed';
  if (init.pending > 0 || (init.sidecars.pending > 0 && !regular.hasRun) || regular.waiting > 0) return 'Pending';
  if (regular.running > 0 && regular.unknown === 0) return 'Running';
  if (regular.running > 0 || regular.stopped === 0 || regular.unknown > 0) return 'Pending';
  const allSucceeded = regular.stopped === regular.succeeded;
  if (options.isTerminal && !isStaticPod(pod)) return allSucceeded ? 'Succeeded' : 'Failed';
  if (regular.stopped !== regular.stoppedForGood) return 'Running';
  return allSucceeded ? 'Succeeded' : 'Failed';
}

/** Came from a file on the node, not from the API server. */
export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata.annotations?.['kubernetes.io/config.source'];
  return source !== undefined && source !== 'api';
}

/** The lowest of what belongs to the system. */
export const systemCriticalPriority = 2_000_000_000;

/** Runs for the node or the cluster itself: it has the priority of their components. */
export function hasCriticalPriority({ spec }: Pod): boolean {
  return (spec.priority ?? 0) >= systemCriticalPriority;
}

/** A Pod that stays when others are evicted: also each that came from a file. */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || hasCriticalPriority(pod);
}

interface SidecarCounts {
  pending: number;
  running: number;
  waiting: number;
  unknown: number;
}

function countInitContainers(pod: Pod, byName: ReadonlyMap<string, ContainerStatus>) {
  let pending = 0;
  let failedForGood = 0;
  const sidecars: SidecarCounts = { pending: 0, running: 0, waiting: 0, unknown: 0 };
  for (const container of pod.spec.initContainers ?? []) {
    const status = byName.get(container.name);
    if (isSidecar(container)) countSidecar(status, sidecars);
    else {
      const ended = endOf(status);
      if (!ended) pending++;
      else if (ended.exitCode !== 0 && !startsAgain(pod, container, ended)) failedForGood++;
    }
  }
  return { pending, failedForGood, sidecars };
}

function countSidecar(status: ContainerStatus | undefined, counts: SidecarCounts): void {
  if (!status) counts.unknown++;
  else if (status.state?.running) {
    if (!status.started) counts.pending++;
    counts.running++;
  } else if (status.state?.waiting) {
    if (!status.lastState?.terminated) {
      counts.pending++;
      counts.waiting++;
    }
  } else if (!status.state?.terminated) {
    counts.pending++;
    counts.unknown++;
  }
}

function countContainers(pod: Pod, byName: ReadonlyMap<string, ContainerStatus>, sidecars: SidecarCounts) {
  let { unknown, running, waiting } = sidecars;
  let stopped = 0;
  let stoppedForGood = 0;
  let succeeded = 0;
  const countStopped = (container: Container, ended: ContainerStateTerminated) => {
    stopped++;
    if (!startsAgain(pod, container, ended)) stoppedForGood++;
  };
  for (const container of pod.spec.containers) {
    const { state, lastState } = byName.get(container.name) ?? {};
    if (state?.running) running++;
    else if (state?.terminated) {
      countStopped(container, state.terminated);
      if (state.terminated.exitCode === 0) succeeded++;
    } else if (state?.waiting) {
      if (lastState?.terminated) countStopped(container, lastState.terminated);
      else waiting++;
    } else unknown++;
  }
  const hasRun = stopped > 0 || running > sidecars.running;
  return { unknown, running, waiting, stopped, stoppedForGood, succeeded, hasRun };
}

function startsAgain(pod: Pod, container: Container, { exitCode, reason }: ContainerStateTerminated): boolean {
  return reason === restartingReason || shouldRestart(container, pod.spec, exitCode);
}

function endOf(status: ContainerStatus | undefined) {
  return status?.state?.terminated ?? (status?.state?.waiting ? status.lastState?.terminated : undefined);
}
