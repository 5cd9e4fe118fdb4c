/**
 * How many replicas each ReplicaSet of a Deployment should have next: one step of a rolling update or of a recreation, or a change
 * of the Deployment's size shared out among several. Pure: a step is what may be done at once without leaving the limits, and the
 * next step is planned when its effect has been seen. What keeps the next step from being taken is told in words.
 */
import { isPodActive } from '../../api/core/v1/pod-status.ts';
import { type Deployment, type ReplicaSet, replicaSets } from '../../api/gen/apps-v1.ts';
import { type Pod, pods as podType } from '../../api/gen/core-v1.ts';
import { type CauseNote, subjectOf } from '../../reconcile/causes.ts';
import {
  byCreation,
  desiredReplicasAnnotation,
  isRollingUpdate,
  maxReplicasAnnotation,
  replicasOf,
  rollingLimits,
} from './revisions.ts';

/** More names than this would tell the reader nothing. */
const namedPods = 3;

export interface Scaling {
  readonly replicaSet: ReplicaSet;
  readonly replicas: number;
}

export interface ReplicaSets {
  /** The one with the present template. */
  readonly current: ReplicaSet | undefined;
  readonly old: readonly ReplicaSet[];
}

const isActive = (replicaSet: ReplicaSet) => replicasOf(replicaSet) > 0;
const total = (replicaSets: readonly ReplicaSet[]) =>
  replicaSets.reduce((sum, replicaSet) => sum + replicasOf(replicaSet), 0);
const available = (replicaSet: ReplicaSet) => replicaSet.status?.availableReplicas ?? 0;

export function allOf({ current, old }: ReplicaSets): readonly ReplicaSet[] {
  return current ? [...old, current] : old;
}

/** Replicas that the ReplicaSet of the present template may have now, given all others (itself included or not). */
export function newReplicas(deployment: Deployment, all: readonly ReplicaSet[], present: number): number {
  const desired = replicasOf(deployment);
  if (!isRollingUpdate(deployment)) return desired;
  const room = desired + rollingLimits(deployment).maxSurge - total(all);
  return room <= 0 ? present : present + Math.min(room, desired - present);
}

/** Whether the size was changed since the ReplicaSets were last scaled. */
export function isScalingEvent(deployment: Deployment, sets: ReplicaSets): boolean {
  return allOf(sets)
    .filter(isActive)
    .some((replicaSet) => {
      const remembered = replicaSet.metadata.annotations?.[desiredReplicasAnnotation];
      return remembered !== undefined && Number(remembered) !== replicasOf(deployment);
    });
}

/** One step of a rolling update: room for new ones first, then old ones as far as availability allows. */
export function planRollingUpdate(deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): Scaling[] {
  const desired = replicasOf(deployment);
  const present = replicasOf(current);
  if (present > desired) return [{ replicaSet: current, replicas: desired }];
  if (present < desired) {
    const replicas = newReplicas(deployment, [...old, current], present);
    if (replicas !== present) return [{ replicaSet: current, replicas }];
  }
  return planScaleDown(deployment, current, old);
}

/** Old replicas that are unavailable serve nobody and go first; available ones go while enough others are available. */
function planScaleDown(deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): Scaling[] {
  if (total(old) === 0) return [];
  const minAvailable = replicasOf(deployment) - rollingLimits(deployment).maxUnavailable;
  const newUnavailable = replicasOf(current) - available(current);
  const budget = total(old) + replicasOf(current) - minAvailable - newUnavailable;
  if (budget <= 0) return [];
  const sizes = new Map(old.map((replicaSet) => [replicaSet, replicasOf(replicaSet)]));
  const oldestFirst = [...old].sort(byCreation);
  const take = (limit: number, takeable: (replicaSet: ReplicaSet, size: number) => number) => {
    let left = limit;
    for (const replicaSet of oldestFirst) {
      const size = sizes.get(replicaSet) ?? 0;
      const taken = Math.max(0, Math.min(left, takeable(replicaSet, size)));
      sizes.set(replicaSet, size - taken);
      left -= taken;
    }
  };
  take(budget, (replicaSet, size) => size - available(replicaSet));
  const availableNow = [...old, current].reduce((sum, replicaSet) => sum + available(replicaSet), 0);
  take(Math.max(0, availableNow - minAvailable), (_, size) => size);
  return oldestFirst
    .map((replicaSet) => ({ replicaSet, replicas: sizes.get(replicaSet) ?? 0 }))
    .filter(({ replicaSet, replicas }) => replicas !== replicasOf(replicaSet));
}

/** The first half of a recreation: everything old goes. */
export function planRecreateDown(old: readonly ReplicaSet[]): Scaling[] {
  return old.filter(isActive).map((replicaSet) => ({ replicaSet, replicas: 0 }));
}

/**
 * A change of size outside a rollout's steps. With one ReplicaSet in use it gets all; a finished rollout empties what is left of
 * the old; in the midst of one the difference is shared in proportion, so that a pause or a bad template keeps its share of risk.
 */
export function planResize(deployment: Deployment, sets: ReplicaSets): Scaling[] {
  const desired = replicasOf(deployment);
  const single = activeOrLatest(sets);
  if (single) return replicasOf(single) === desired ? [] : [{ replicaSet: single, replicas: desired }];
  if (isSaturated(deployment, sets.current)) return planRecreateDown(sets.old);
  return isRollingUpdate(deployment) ? shareOut(deployment, allOf(sets).filter(isActive)) : [];
}

function activeOrLatest(sets: ReplicaSets): ReplicaSet | undefined {
  const active = allOf(sets).filter(isActive);
  if (active.length > 1) return undefined;
  return active[0] ?? sets.current ?? [...sets.old].sort(byCreation).at(-1);
}

function isSaturated(deployment: Deployment, current: ReplicaSet | undefined): boolean {
  if (!current) return false;
  const desired = replicasOf(deployment);
  const remembered = Number(current.metadata.annotations?.[desiredReplicasAnnotation]);
  return replicasOf(current) === desired && remembered === desired && available(current) === desired;
}

/** Includes ReplicaSets whose size stays: their annotations must still learn of the new size. */
function shareOut(deployment: Deployment, active: readonly ReplicaSet[]): Scaling[] {
  const desired = replicasOf(deployment);
  const allowed = desired > 0 ? desired + rollingLimits(deployment).maxSurge : 0;
  const toAdd = allowed - total(active);
  const ordered = [...active].sort((a, b) => {
    const bySize = replicasOf(b) - replicasOf(a);
    return bySize || (toAdd > 0 ? byCreation(b, a) : byCreation(a, b));
  });
  let added = 0;
  const scalings = ordered.map((replicaSet) => {
    const share = proportion(deployment, replicaSet, toAdd, added);
    added += share;
    return { replicaSet, replicas: replicasOf(replicaSet) + share };
  });
  const [first] = scalings;
  // What rounding left over goes to the largest.
  if (first && toAdd !== 0) scalings[0] = { ...first, replicas: Math.max(0, first.replicas + toAdd - added) };
  return scalings;
}

function proportion(deployment: Deployment, replicaSet: ReplicaSet, toAdd: number, added: number): number {
  if (replicasOf(replicaSet) === 0 || toAdd === 0 || toAdd === added) return 0;
  const share = fraction(deployment, replicaSet);
  const left = toAdd - added;
  return toAdd > 0 ? Math.min(share, left) : Math.max(share, left);
}

/** The ReplicaSet's part of the new size, by its part of the size that the Deployment had before. */
function fraction(deployment: Deployment, replicaSet: ReplicaSet): number {
  const present = replicasOf(replicaSet);
  if (replicasOf(deployment) === 0) return -present;
  const maxNow = replicasOf(deployment) + rollingLimits(deployment).maxSurge;
  const remembered = Number(replicaSet.metadata.annotations?.[maxReplicasAnnotation] ?? 0);
  const maxBefore = remembered || (deployment.status?.replicas ?? 0);
  return maxBefore === 0 ? 0 : Math.round((present * maxNow) / maxBefore) - present;
}

/** A rolling update whose next step needs more available Pods, or less of them. Empty when it has arrived. */
export function rollingCauses(deployment: Deployment, sets: ReplicaSets, deadlineMs: number | undefined): CauseNote[] {
  const { current, old } = sets;
  if (!current) return [];
  const desired = replicasOf(deployment);
  const oldSize = total(old);
  const availableNow = allOf(sets).reduce((sum, replicaSet) => sum + available(replicaSet), 0);
  if (oldSize === 0 && available(current) >= desired) return [];
  const { maxSurge, maxUnavailable } = rollingLimits(deployment);
  const waitsFor = [subjectOf(replicaSets, current)];
  const notes: CauseNote[] = [];
  if (oldSize > 0) {
    const least = desired - maxUnavailable;
    const message = `${oldSize} old Pods stay until enough others are available: ${availableNow} are, and ${least} must remain`;
    notes.push({ reason: 'WaitingForAvailability', message, waitsFor });
  }
  if (replicasOf(current) < desired && oldSize + replicasOf(current) >= desired + maxSurge) {
    const message = `no more than ${desired + maxSurge} Pods may exist at once, and ${oldSize + replicasOf(current)} are asked for`;
    notes.push({ reason: 'SurgeExhausted', message, waitsFor });
  }
  if (deadlineMs !== undefined) {
    const message = 'unless there is progress before its deadline, the rollout is told to have failed';
    notes.push({ reason: 'ProgressDeadline', message, untilMs: deadlineMs });
  }
  return notes;
}

/** A recreation that may make no new Pod while an old one may still run. */
export function recreateCauses(oldPods: readonly Pod[]): CauseNote[] {
  const left = oldPods.filter((pod) => isPodActive(pod) || pod.metadata.deletionTimestamp);
  const waitsFor = left.slice(0, namedPods).map((pod) => subjectOf(podType, pod));
  const count = left.length === 1 ? 'an old Pod' : `${left.length} old Pods`;
  return [{ reason: 'WaitingForOldPods', message: `no new Pod is made before ${count} have ended`, waitsFor }];
}
