/**
 * A Pod's row in `kubectl get`: above all its status in one word, which is gathered from the phase, the conditions and the states
 * of all containers by rules that every user of Kubernetes has learned by heart.
 */
import { ageColumn, nameColumn, text } from '../../columns.ts';
import type { ContainerState, ContainerStatus, Pod } from '../../gen/core-v1.ts';
import { age } from '../../human-duration.ts';
import type { Column, RowCondition } from '../../kind.ts';
import { isSidecar, podCondition } from './pod-status.ts';

export interface PodSummary {
  /** `Running`, `CrashLoopBackOff`, `Init:0/2`, `Terminating`, ... */
  readonly status: string;
  readonly ready: number;
  readonly total: number;
  readonly restarts: number;
  /** End of the run before the last restart; undefined when there was none. */
  readonly lastRestart: string | undefined;
}

/** What a Pod's containers add up to, as people are told it. */
function summarizePod(pod: Pod): PodSummary {
  const tally: Tally = { reason: startReason(pod), ready: 0, restarts: 0, lastRestart: undefined };
  const sidecars: Tally = { ...tally };
  const initializing = countInitContainers(pod, tally, sidecars);
  if (!initializing || podCondition(pod.status, 'Initialized')?.status === 'True') {
    // Restarts of finished init containers no longer interest anybody; those of sidecars do.
    tally.restarts = sidecars.restarts;
    tally.lastRestart = sidecars.lastRestart;
    countContainers(pod, tally);
  }
  if (pod.metadata.deletionTimestamp != null) {
    if (pod.status?.reason === 'NodeLost') tally.reason = 'Unknown';
    else if (pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed') tally.reason = 'Terminating';
  }
  const sidecarCount = (pod.spec.initContainers ?? []).filter(isSidecar).length;
  return {
    status: tally.reason,
    ready: tally.ready,
    total: (pod.spec.containers?.length ?? 0) + sidecarCount,
    restarts: tally.restarts,
    lastRestart: tally.lastRestart,
  };
}

interface Tally {
  reason: string;
  ready: number;
  restarts: number;
  lastRestart: string | undefined;
}

function startReason(pod: Pod): string {
  const gated = pod.status?.conditions?.some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated',
  );
  return gated ? 'SchedulingGated' : pod.status?.reason || pod.status?.phase || '';
}

/** Returns whether an init container still stands in the way. */
function countInitContainers(pod: Pod, tally: Tally, sidecars: Tally): boolean {
  const sidecarNames = new Set((pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  for (const [index, container] of (pod.status?.initContainerStatuses ?? []).entries()) {
    countRestarts(tally, container);
    const sidecar = sidecarNames.has(container.name);
    if (sidecar) countRestarts(sidecars, container);
    const { terminated } = container.state ?? {};
    if (terminated && terminated.exitCode === 0) continue;
    if (sidecar && container.started) {
      if (container.ready) tally.ready += 1;
      continue;
    }
    tally.reason = `Init:${initReason(container.state, `${index}/${pod.spec.initContainers?.length ?? 0}`)}`;
    return true;
  }
  return false;
}

function initReason(state: ContainerState | undefined, progress: string): string {
  const { terminated, waiting } = state ?? {};
  if (terminated) return terminated.reason || exitReason(terminated);
  if (waiting?.reason && waiting.reason !== 'PodInitializing') return waiting.reason;
  return progress;
}

function countContainers(pod: Pod, tally: Tally): void {
  let running = false;
  let errorReason = '';
  // From the last to the first: the first container's trouble is the one to be shown.
  for (const container of (pod.status?.containerStatuses ?? []).toReversed()) {
    countRestarts(tally, container);
    const { waiting, terminated } = container.state ?? {};
    if (waiting?.reason) tally.reason = waiting.reason;
    else if (terminated) {
      tally.reason = terminated.reason || exitReason(terminated);
      if (terminated.exitCode !== 0) errorReason = tally.reason;
    } else if (container.ready && container.state?.running) {
      running = true;
      tally.ready += 1;
    }
  }
  if (tally.reason !== 'Completed') return;
  // One container has completed while others go on, or have failed.
  const podReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  if (running && podReady) tally.reason = 'Running';
  else if (errorReason !== '') tally.reason = errorReason;
  else if (running) tally.reason = 'NotReady';
}

function exitReason({ signal, exitCode }: { signal?: number | undefined; exitCode: number }): string {
  return signal ? `Signal:${signal}` : `ExitCode:${exitCode}`;
}

function countRestarts(tally: Tally, container: ContainerStatus): void {
  tally.restarts += container.restartCount ?? 0;
  const ended = container.lastState?.terminated?.finishedAt;
  if (ended && (!tally.lastRestart || Date.parse(ended) > Date.parse(tally.lastRestart))) tally.lastRestart = ended;
}

function restartsText({ restarts, lastRestart }: PodSummary, nowMs: number): string {
  return restarts !== 0 && lastRestart ? `${restarts} (${age(lastRestart, nowMs)} ago)` : String(restarts);
}

function gatesText(pod: Pod): string {
  const gates = pod.spec.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const open = gates.filter(({ conditionType }) => podCondition(pod.status, conditionType)?.status === 'True');
  return `${open.length}/${gates.length}`;
}

export const podColumns: readonly Column<Pod>[] = [
  nameColumn,
  text('Ready', (pod) => readyText(summarizePod(pod)), {
    description: 'The aggregate readiness state of this pod for accepting traffic.',
  }),
  text('Status', (pod) => summarizePod(pod).status, {
    description: 'The aggregate status of the containers in this pod.',
  }),
  text('Restarts', (pod, nowMs) => restartsText(summarizePod(pod), nowMs), {
    description:
      'The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.',
  }),
  ageColumn,
  text('IP', (pod) => pod.status?.podIPs?.[0]?.ip || '<none>', { wide: true }),
  text('Node', (pod) => pod.spec.nodeName || '<none>', { wide: true }),
  text('Nominated Node', (pod) => pod.status?.nominatedNodeName || '<none>', { wide: true }),
  text('Readiness Gates', gatesText, { wide: true }),
];

function readyText({ ready, total }: PodSummary): string {
  return `${ready}/${total}`;
}

/** A finished Pod's row is marked, so that clients can leave it out. */
export function podRowConditions(pod: Pod): readonly RowCondition[] {
  switch (pod.status?.phase) {
    case 'Succeeded':
      return [completed('Succeeded', 'The pod has completed successfully.')];
    case 'Failed':
      return [completed('Failed', 'The pod failed.')];
    default:
      return [];
  }
}

function completed(reason: string, message: string): RowCondition {
  return { type: 'Completed', status: 'True', reason, message };
}
