/**
 * How many Pods are missing or too many, and which to give up: the decision that ReplicaSets and ReplicationControllers share,
 * with the status that follows from the same Pods. Pure; no Pod is ever counted that is over or being deleted.
 */
import type { Pod, PodTemplateSpec } from '../../api/gen/core-v1.ts';
import { type ConditionLike, findCondition, withoutCondition } from '../../apimachinery/conditions.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { rankForDeletion } from './deletion-ranking.ts';
import { sameStatus } from './wire-equality.ts';

/** Creations or deletions in one go. */
const burstReplicas = 500;

/** What ReplicaSet and ReplicationController have in common. */
export interface ReplicaOwner {
  readonly metadata: { readonly uid?: string | undefined; readonly generation?: number | undefined };
  readonly spec: {
    readonly replicas?: number | undefined;
    readonly minReadySeconds?: number | undefined;
    readonly template?: PodTemplateSpec | undefined;
  };
  readonly status?: ReplicaStatus | undefined;
}

export interface ReplicaStatus {
  readonly replicas: number;
  readonly fullyLabeledReplicas?: number | undefined;
  readonly readyReplicas?: number | undefined;
  readonly availableReplicas?: number | undefined;
  readonly terminatingReplicas?: number | undefined;
  readonly observedGeneration?: number | undefined;
  readonly conditions?: readonly ConditionLike[] | undefined;
}

export interface ObservedReplicas {
  readonly desired: number;
  /** The owner's active Pods. */
  readonly active: readonly Pod[];
  /** Active Pods of the owner and its siblings (the same Deployment's ReplicaSets): they crowd nodes together. */
  related(): readonly Pod[];
}

export type ReplicaAction =
  | { readonly do: 'nothing' }
  | { readonly do: 'create'; readonly count: number }
  | { readonly do: 'delete'; readonly pods: readonly Pod[] };

export function planReplicas(observed: ObservedReplicas, nowMs: number): ReplicaAction {
  const surplus = observed.active.length - observed.desired;
  if (surplus === 0) return { do: 'nothing' };
  if (surplus < 0) return { do: 'create', count: Math.min(-surplus, burstReplicas) };
  const count = Math.min(surplus, burstReplicas);
  if (count === observed.active.length) return { do: 'delete', pods: observed.active };
  const perNode = new Map<string, number>();
  for (const { spec } of observed.related())
    if (spec.nodeName) perNode.set(spec.nodeName, (perNode.get(spec.nodeName) ?? 0) + 1);
  const ranked = rankForDeletion(observed.active, (pod) => perNode.get(pod.spec.nodeName ?? '') ?? 0, nowMs);
  return { do: 'delete', pods: ranked.slice(0, count) };
}

/** Of an owner's active Pods. */
export interface ReplicaCounts {
  readonly all: number;
  /** Those with all labels of the template. */
  readonly fullyLabeled: number;
  readonly ready: number;
  readonly available: number;
}

export interface ReplicaStatusInput {
  readonly counts: ReplicaCounts;
  /** Pods being deleted; undefined for kinds that do not report them. */
  readonly terminating: number | undefined;
  /** What kept the last change of the number of Pods from happening. */
  readonly failure: { readonly reason: 'FailedCreate' | 'FailedDelete'; readonly message: string } | undefined;
}

/** The status to write, or undefined when the present one says the same already. */
export function planReplicaStatus(
  owner: ReplicaOwner,
  input: ReplicaStatusInput,
  nowMs: number,
): ReplicaStatus | undefined {
  const { counts, terminating } = input;
  const status: ReplicaStatus = {
    replicas: counts.all,
    fullyLabeledReplicas: counts.fullyLabeled,
    readyReplicas: counts.ready,
    availableReplicas: counts.available,
    ...(terminating === undefined ? {} : { terminatingReplicas: terminating }),
    observedGeneration: owner.metadata.generation,
    conditions: failureConditions(owner.status?.conditions, input.failure, nowMs),
  };
  return sameStatus(owner.status, status) ? undefined : status;
}

/** A failure that is already told keeps its words until it is over. */
function failureConditions(
  present: readonly ConditionLike[] | undefined,
  failure: ReplicaStatusInput['failure'],
  nowMs: number,
): readonly ConditionLike[] {
  if (!failure) return withoutCondition(present, 'ReplicaFailure');
  if (present && findCondition(present, 'ReplicaFailure')) return present;
  return [
    ...(present ?? []),
    { type: 'ReplicaFailure', status: 'True', ...failure, lastTransitionTime: formatTime(nowMs) },
  ];
}
