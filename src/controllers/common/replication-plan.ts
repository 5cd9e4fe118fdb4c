/**
 * How many Pods are missing or too many, and which to give up: the decision that ReplicaSets and ReplicationControllers share,
 * with the status that follows from the same Pods. Pure; no Pod is ever counted that is over or being deleted.
 */
import { isPodActive, isPodAvailable, isPodReady } from '../../api/core/v1/pod-status.ts';
import type { Pod, PodTemplateSpec } from '../../api/gen/core-v1.ts';
import { type ConditionLike, findCondition, withoutCondition } from '../../apimachinery/conditions.ts';
import type { LabelMatcher } from '../../apimachinery/labels.ts';
import { controllerOf } from '../../apimachinery/meta.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { rankForDeletion } from './deletion-ranking.ts';
import { isPodStopping } from './pods.ts';
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

/** What an owner's spec says of its Pods' labels. */
interface Demand {
  readonly selector: LabelMatcher;
  readonly template: readonly (readonly [key: string, value: string])[];
}

interface View {
  readonly isActive: boolean;
  readonly isStopping: boolean;
  readonly isReady: boolean;
  readonly controllerUid: string | undefined;
  /** Whose answers the next two are: those of the last that asked. */
  demand: Demand | undefined;
  isSelected: boolean;
  isFullyLabeled: boolean;
}

export interface Sorted {
  /** Active, the owner's and selected by it. */
  readonly owned: readonly Pod[];
  /** Active, and still to be judged: to take in, to let go, or not the owner's business. */
  readonly others: readonly Pod[];
  /** How many of the owner's are being deleted and may still run. */
  readonly stopping: number;
}

/**
 * What the loop asks of all of an owner's Pods at each of its looks, and it looks at every change of any of them. A version of a Pod never
 * changes, so the answers are found once for each and kept as long as it lives.
 */
export class ReplicaViews<T extends ReplicaOwner> {
  readonly #selectorOf: (owner: T) => LabelMatcher;
  readonly #views = new WeakMap<Pod, View>();
  readonly #demands = new WeakMap<T['spec'], Demand>();

  constructor(selectorOf: (owner: T) => LabelMatcher) {
    this.#selectorOf = selectorOf;
  }

  sort(owner: T, pods: readonly Pod[]): Sorted {
    const { uid } = owner.metadata;
    const demand = this.#demandOf(owner);
    const owned: Pod[] = [];
    const others: Pod[] = [];
    let stopping = 0;
    for (const pod of pods) {
      const view = this.#of(pod, demand);
      const isOwn = view.controllerUid !== undefined && view.controllerUid === uid;
      if (isOwn && view.isStopping) stopping++;
      if (view.isActive) (isOwn && view.isSelected ? owned : others).push(pod);
    }
    return { owned, others, stopping };
  }

  /** Of the owner's active Pods. */
  count(owner: T, active: readonly Pod[], nowMs: number): ReplicaCounts {
    const { minReadySeconds = 0 } = owner.spec;
    const demand = this.#demandOf(owner);
    let [fullyLabeled, ready, available] = [0, 0, 0];
    for (const pod of active) {
      const view = this.#of(pod, demand);
      if (view.isFullyLabeled) fullyLabeled++;
      if (!view.isReady) continue;
      ready++;
      if (minReadySeconds === 0 || isPodAvailable(pod, minReadySeconds, nowMs)) available++;
    }
    return { all: active.length, fullyLabeled, ready, available };
  }

  /** An owner's versions share the spec for as long as it says the same. */
  #demandOf(owner: T): Demand {
    let demand = this.#demands.get(owner.spec);
    if (!demand) {
      const template = Object.entries(owner.spec.template?.metadata?.labels ?? {});
      demand = { selector: this.#selectorOf(owner), template };
      this.#demands.set(owner.spec, demand);
    }
    return demand;
  }

  #of(pod: Pod, demand: Demand): View {
    let view = this.#views.get(pod);
    if (!view) {
      view = {
        isActive: isPodActive(pod),
        isStopping: isPodStopping(pod),
        isReady: isPodReady(pod),
        controllerUid: controllerOf(pod)?.uid,
        demand: undefined,
        isSelected: false,
        isFullyLabeled: false,
      };
      this.#views.set(pod, view);
    }
    if (view.demand !== demand) {
      const { labels } = pod.metadata;
      view.demand = demand;
      view.isSelected = demand.selector.matches(labels);
      view.isFullyLabeled = demand.template.every(([key, value]) => labels?.[key] === value);
    }
    return view;
  }
}
