/** What holds a rollout up that no condition tells: Pods that others must wait for, and the room that a strategy leaves. Pure. */
import { isPodActive } from '../../api/core/v1/pod-status.ts';
import { type Deployment, replicaSets } from '../../api/gen/apps-v1.ts';
import { type Pod, pods as podType } from '../../api/gen/core-v1.ts';
import { type CauseNote, subjectOf } from '../../reconcile/causes.ts';
import { replicasOf, rollingLimits } from './revisions.ts';
import { allOf, type ReplicaSets } from './rollout.ts';

/** More names than this would tell the reader nothing. */
const namedPods = 3;

/** A rolling update whose next step needs more available Pods, or less of them. Empty when it has arrived. */
export function rollingCauses(deployment: Deployment, sets: ReplicaSets, deadlineMs: number | undefined): CauseNote[] {
  const { current, old } = sets;
  if (!current) return [];
  const desired = replicasOf(deployment);
  const oldSize = old.reduce((sum, replicaSet) => sum + replicasOf(replicaSet), 0);
  const available = allOf(sets).reduce((sum, { status }) => sum + (status?.availableReplicas ?? 0), 0);
  if (oldSize === 0 && (current.status?.availableReplicas ?? 0) >= desired) return [];
  const { maxSurge, maxUnavailable } = rollingLimits(deployment);
  const waitsFor = [subjectOf(replicaSets, current)];
  const notes: CauseNote[] = [];
  if (oldSize > 0) {
    const least = desired - maxUnavailable;
    const message = `${oldSize} old Pods stay until enough others are available: ${available} are, and ${least} must remain`;
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
