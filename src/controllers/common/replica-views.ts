/**
 * What the loop behind ReplicaSets asks of all of an owner's Pods at each of its looks, and it looks at every change of any of them. A version
 * of a Pod never changes, so the answers are found once for each and kept as long as it lives.
 */
import { isPodActive, isPodAvailable, isPodReady } from '../../api/core/v1/pod-status.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { LabelMatcher } from '../../apimachinery/labels.ts';
import { controllerOf } from '../../apimachinery/meta.ts';
import { isPodStopping } from './pods.ts';
import type { ReplicaCounts, ReplicaOwner } from './replication-plan.ts';

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
