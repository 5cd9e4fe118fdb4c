/**
 * What a Deployment reports of itself: counts, Available, Progressing with its deadline, ReplicaFailure. Pure. A condition whose
 * status and reason stay is left as it is, so its times tell when it became so.
 */
import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from '../../api/gen/apps-v1.ts';
import { findCondition, withoutCondition } from '../../apimachinery/conditions.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { hasProgressDeadline, replicasOf, rollingLimits } from './revisions.ts';

type Conditions = readonly DeploymentCondition[] | undefined;

export function deploymentCondition(
  { type, status, reason, message }: Pick<Required<DeploymentCondition>, 'type' | 'status' | 'reason' | 'message'>,
  nowMs: number,
): DeploymentCondition {
  const now = formatTime(nowMs);
  return { type, status, lastUpdateTime: now, lastTransitionTime: now, reason, message };
}

/** A new message alone changes nothing; a changed condition moves to the end. */
export function setCondition(conditions: Conditions, next: DeploymentCondition): readonly DeploymentCondition[] {
  const present = findCondition(conditions, next.type);
  if (present && present.status === next.status && present.reason === next.reason) return conditions ?? [];
  const kept = present?.status === next.status ? { ...next, lastTransitionTime: present.lastTransitionTime } : next;
  return [...withoutCondition(conditions, next.type), kept];
}

export function isComplete(deployment: Deployment, status: DeploymentStatus): boolean {
  const desired = replicasOf(deployment);
  return (
    status.updatedReplicas === desired &&
    status.replicas === desired &&
    status.availableReplicas === desired &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

/** Counts and availability, as written outside rollouts (paused, scaling, being deleted). */
export function planStatus(
  deployment: Deployment,
  all: readonly ReplicaSet[],
  current: ReplicaSet | undefined,
  nowMs: number,
): DeploymentStatus {
  const sum = (count: (status: NonNullable<ReplicaSet['status']>) => number | undefined) =>
    all.reduce((total, { status }) => total + ((status && count(status)) ?? 0), 0);
  const availableReplicas = sum((status) => status.availableReplicas);
  const replicas = sum((status) => status.replicas);
  const enough = availableReplicas >= replicasOf(deployment) - rollingLimits(deployment).maxUnavailable;
  const availability = enough
    ? deploymentCondition(
        {
          type: 'Available',
          status: 'True',
          reason: 'MinimumReplicasAvailable',
          message: 'Deployment has minimum availability.',
        },
        nowMs,
      )
    : deploymentCondition(
        {
          type: 'Available',
          status: 'False',
          reason: 'MinimumReplicasUnavailable',
          message: 'Deployment does not have minimum availability.',
        },
        nowMs,
      );
  return {
    observedGeneration: deployment.metadata.generation,
    replicas,
    updatedReplicas: current?.status?.replicas ?? 0,
    readyReplicas: sum((status) => status.readyReplicas),
    availableReplicas,
    unavailableReplicas: Math.max(0, replicas - availableReplicas),
    terminatingReplicas: sum((status) => status.terminatingReplicas),
    collisionCount: deployment.status?.collisionCount,
    conditions: setCondition(deployment.status?.conditions, availability),
  };
}

/** The status in the midst of a rollout: progress, completion or the passing of its deadline. */
export function planRolloutStatus(
  deployment: Deployment,
  all: readonly ReplicaSet[],
  current: ReplicaSet | undefined,
  nowMs: number,
): DeploymentStatus {
  const status = planStatus(deployment, all, current, nowMs);
  const conditions = withFailure(progress(deployment, status, current, nowMs), all, current, nowMs);
  return { ...status, conditions };
}

function progress(
  deployment: Deployment,
  status: DeploymentStatus,
  current: ReplicaSet | undefined,
  nowMs: number,
): Conditions {
  if (!hasProgressDeadline(deployment)) return withoutCondition(status.conditions, 'Progressing');
  const present = findCondition(deployment.status?.conditions, 'Progressing');
  if (status.replicas === status.updatedReplicas && present?.reason === 'NewReplicaSetAvailable')
    return status.conditions;
  const subject = current
    ? `ReplicaSet ${quote(current.metadata.name ?? '')}`
    : `Deployment ${quote(deployment.metadata.name ?? '')}`;
  if (isComplete(deployment, status)) {
    const message = `${subject} has successfully progressed.`;
    return setCondition(
      status.conditions,
      deploymentCondition({ type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', message }, nowMs),
    );
  }
  if (isProgressing(deployment, status)) {
    const made = deploymentCondition(
      { type: 'Progressing', status: 'True', reason: 'ReplicaSetUpdated', message: `${subject} is progressing.` },
      nowMs,
    );
    const since = present?.status === 'True' ? present.lastTransitionTime : made.lastTransitionTime;
    // Replaced even when reason and status stay: its lastUpdateTime is what the deadline is counted from.
    return [...withoutCondition(status.conditions, 'Progressing'), { ...made, lastTransitionTime: since }];
  }
  if (!isTimedOut(deployment, status, nowMs)) return status.conditions;
  const message = `${subject} has timed out progressing.`;
  return setCondition(
    status.conditions,
    deploymentCondition({ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message }, nowMs),
  );
}

/** More updated, ready or available than before, or fewer old ones. */
function isProgressing(deployment: Deployment, next: DeploymentStatus): boolean {
  const old = (status: DeploymentStatus | undefined) => (status?.replicas ?? 0) - (status?.updatedReplicas ?? 0);
  const before = deployment.status;
  return (
    (next.updatedReplicas ?? 0) > (before?.updatedReplicas ?? 0) ||
    old(next) < old(before) ||
    (next.readyReplicas ?? 0) > (before?.readyReplicas ?? 0) ||
    (next.availableReplicas ?? 0) > (before?.availableReplicas ?? 0)
  );
}

function isTimedOut(deployment: Deployment, status: DeploymentStatus, nowMs: number): boolean {
  const condition = findCondition(status.conditions, 'Progressing');
  if (!condition || condition.reason === 'NewReplicaSetAvailable') return false;
  if (condition.reason === 'ProgressDeadlineExceeded') return true;
  return deadlineMs(deployment, condition) < nowMs;
}

function deadlineMs(deployment: Deployment, condition: DeploymentCondition): number {
  return Date.parse(condition.lastUpdateTime ?? '') + (deployment.spec.progressDeadlineSeconds ?? 0) * 1000;
}

/** When to look again at a rollout in which nothing happens, so that its deadline is noticed; undefined when there is none. */
export function progressCheckInMs(deployment: Deployment, status: DeploymentStatus, nowMs: number): number | undefined {
  const condition = findCondition(deployment.status?.conditions, 'Progressing');
  if (!hasProgressDeadline(deployment) || !condition) return undefined;
  if (isComplete(deployment, status) || condition.reason === 'ProgressDeadlineExceeded') return undefined;
  // The extra second makes sure that the deadline has passed, for times have no fractions.
  return Math.max(0, deadlineMs(deployment, condition) - nowMs) + 1000;
}

/** The newest ReplicaSet's failure, else that of any other. */
function withFailure(
  conditions: Conditions,
  all: readonly ReplicaSet[],
  current: ReplicaSet | undefined,
  nowMs: number,
): Conditions {
  const failureOf = (replicaSet: ReplicaSet) => findCondition(replicaSet.status?.conditions, 'ReplicaFailure');
  const failing = current && failureOf(current) ? current : all.find(failureOf);
  const failure = failing && failureOf(failing);
  if (!failure) return withoutCondition(conditions, 'ReplicaFailure');
  return setCondition(conditions, {
    type: 'ReplicaFailure',
    status: failure.status,
    reason: failure.reason,
    message: failure.message,
    lastTransitionTime: failure.lastTransitionTime,
    lastUpdateTime: formatTime(nowMs),
  });
}
