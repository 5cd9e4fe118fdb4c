/**
 * What a StatefulSet does next: pure. In order, one Pod at a time and only while all before it are well (OrderedReady), or all at
 * once (Parallel); Pods beyond the size go from the highest number down; then one Pod of the old revision is replaced, again from the
 * top, down to the partition.
 */
import { isPodAvailable, isPodReady } from '../../api/core/v1/pod-status.ts';
import type { StatefulSet, StatefulSetStatus } from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { revisionHashLabel } from '../common/history.ts';
import { hasIdentity, ordinalOf, startOrdinal } from './pod.ts';

export interface Revisions {
  readonly current: string;
  readonly update: string;
}

export type StatefulAction =
  | { readonly do: 'create'; readonly ordinal: number; readonly revision: string }
  | { readonly do: 'delete'; readonly pod: Pod; readonly why: 'failed' | 'scale-down' | 'update' }
  /** Its name's labels or its claims are not as they should be. */
  | { readonly do: 'repair'; readonly pod: Pod; readonly ordinal: number };

const isTerminating = ({ metadata }: Pod) => metadata.deletionTimestamp !== undefined;
const revisionOf = ({ metadata }: Pod) => metadata.labels?.[revisionHashLabel];
const isReady = (pod: Pod) => pod.status?.phase === 'Running' && isPodReady(pod);

export function planStatefulSet(
  set: StatefulSet,
  pods: readonly Pod[],
  revisions: Revisions,
  nowMs: number,
): StatefulAction[] {
  if (set.metadata.deletionTimestamp) return [];
  const ordered = set.spec.podManagementPolicy !== 'Parallel';
  const start = startOrdinal(set);
  const end = start + (set.spec.replicas ?? 1);
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]));
  const isHealthy = (pod: Pod) =>
    isReady(pod) && !isTerminating(pod) && isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs);

  const actions: StatefulAction[] = [];
  let blocked = false;
  for (let ordinal = start; ordinal < end && !blocked; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    const action = planSlot(set, ordinal, pod, revisions);
    if (action) actions.push(action);
    const settled = pod !== undefined && isHealthy(pod) && action?.do !== 'create' && action?.do !== 'delete';
    if (ordered && !settled) blocked = true;
  }
  if (blocked && ordered) return actions;
  const condemned = planScaleDown(set, pods, { start, end, ordered, isHealthy });
  actions.push(...condemned.actions);
  if (condemned.waits || actions.length > 0) return actions;
  return planUpdate(set, byOrdinal, { start, end, update: revisions.update, isHealthy });
}

/** The Pod that a rollout or a change of size waits for: the lowest that is not well. Undefined when nothing waits. */
export function awaitedPod(set: StatefulSet, pods: readonly Pod[], update: string, nowMs: number): Pod | undefined {
  const replicas = set.spec.replicas ?? 1;
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
  const lowest = startOrdinal(set) + (rollingUpdate?.partition ?? 0);
  const outdated = (pod: Pod) => (ordinalOf(set, pod) ?? -1) >= lowest && revisionOf(pod) !== update;
  const unfinished = pods.length !== replicas || ((type ?? 'RollingUpdate') === 'RollingUpdate' && pods.some(outdated));
  if (!unfinished || (set.spec.podManagementPolicy === 'Parallel' && pods.length !== replicas)) return undefined;
  return pods
    .toSorted((a, b) => (ordinalOf(set, a) ?? -1) - (ordinalOf(set, b) ?? -1))
    .find((pod) => isTerminating(pod) || !isReady(pod) || !isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs));
}

function planSlot(
  set: StatefulSet,
  ordinal: number,
  pod: Pod | undefined,
  revisions: Revisions,
): StatefulAction | undefined {
  if (!pod) return { do: 'create', ordinal, revision: revisionFor(set, ordinal, revisions) };
  const phase = pod.status?.phase;
  if (phase === 'Failed' || phase === 'Succeeded') {
    // The next Pod of the name is made when this one has gone.
    return isTerminating(pod) ? undefined : { do: 'delete', pod, why: 'failed' };
  }
  return isTerminating(pod) || hasIdentity(set, pod) ? undefined : { do: 'repair', pod, ordinal };
}

/** Below the partition, and below the part that a rollout has not reached, Pods are made of the old template. */
function revisionFor(set: StatefulSet, ordinal: number, { current, update }: Revisions): string {
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
  if ((type ?? 'RollingUpdate') !== 'RollingUpdate') return update;
  const old = rollingUpdate ? (rollingUpdate.partition ?? 0) : (set.status?.currentReplicas ?? 0);
  return ordinal < startOrdinal(set) + old ? current : update;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

function planScaleDown(
  set: StatefulSet,
  pods: readonly Pod[],
  { start, end, ordered, isHealthy }: Range & { readonly ordered: boolean; isHealthy(pod: Pod): boolean },
): { readonly actions: StatefulAction[]; readonly waits: boolean } {
  const number = (pod: Pod) => ordinalOf(set, pod) ?? -1;
  const condemned = pods
    .filter((pod) => ordinalOf(set, pod) !== undefined && (number(pod) < start || number(pod) >= end))
    .sort((a, b) => number(b) - number(a));
  if (!ordered) {
    const actions = condemned
      .filter((pod) => !isTerminating(pod))
      .map((pod) => ({ do: 'delete' as const, pod, why: 'scale-down' as const }));
    return { actions, waits: condemned.length > 0 };
  }
  const [highest] = condemned;
  if (!highest) return { actions: [], waits: false };
  // An unhealthy Pod may itself be what keeps others from getting well: the lowest such goes, others wait for it.
  const firstUnhealthy = [...condemned].reverse().find((pod) => !isHealthy(pod));
  const mayGo = !isTerminating(highest) && (isHealthy(highest) || highest === firstUnhealthy);
  return { actions: mayGo ? [{ do: 'delete', pod: highest, why: 'scale-down' }] : [], waits: true };
}

function planUpdate(
  set: StatefulSet,
  byOrdinal: ReadonlyMap<number | undefined, Pod>,
  { start, end, update, isHealthy }: Range & { readonly update: string; isHealthy(pod: Pod): boolean },
): StatefulAction[] {
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
  if (type === 'OnDelete') return [];
  const lowest = start + (rollingUpdate?.partition ?? 0);
  for (let ordinal = end - 1; ordinal >= lowest; ordinal--) {
    const pod = byOrdinal.get(ordinal);
    if (!pod) return [];
    if (revisionOf(pod) !== update && !isTerminating(pod)) return [{ do: 'delete', pod, why: 'update' }];
    if (!isHealthy(pod)) return [];
  }
  return [];
}

export interface StatusInput {
  readonly revisions: {
    readonly current: string;
    readonly update: string;
    readonly currentName: string;
    readonly updateName: string;
  };
  readonly collisionCount: number;
  readonly nowMs: number;
}

export function planStatefulStatus(
  set: StatefulSet,
  pods: readonly Pod[],
  { revisions, collisionCount, nowMs }: StatusInput,
): StatefulSetStatus {
  const live = pods.filter((pod) => !isTerminating(pod));
  const of = (revision: string) => live.filter((pod) => revisionOf(pod) === revision).length;
  const ready = pods.filter(isReady);
  const status: StatefulSetStatus = {
    ...set.status,
    observedGeneration: set.metadata.generation,
    replicas: pods.length,
    readyReplicas: ready.length,
    availableReplicas: ready.filter((pod) => isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs)).length,
    currentReplicas: of(revisions.current),
    updatedReplicas: of(revisions.update),
    currentRevision: revisions.currentName,
    updateRevision: revisions.updateName,
    collisionCount,
  };
  return isRolledOut(set, status)
    ? { ...status, currentReplicas: status.updatedReplicas, currentRevision: revisions.updateName }
    : status;
}

function isRolledOut(set: StatefulSet, status: StatefulSetStatus): boolean {
  return (
    (set.spec.updateStrategy?.type ?? 'RollingUpdate') === 'RollingUpdate' &&
    status.updatedReplicas === status.replicas &&
    status.readyReplicas === status.replicas &&
    status.replicas === (set.spec.replicas ?? 1)
  );
}
