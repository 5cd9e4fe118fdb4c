/** How far a Pod's resize has come, as two conditions of its status tell: it waits for the node, or it is being carried out. Pure. */
import { podCondition } from '../../api/core/v1/pod-status.ts';
import type { Pod, PodCondition } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';

export const resizeConditionTypes: ReadonlySet<string> = new Set(['PodResizePending', 'PodResizeInProgress']);

type ResizeConditionType = 'PodResizePending' | 'PodResizeInProgress';

export interface ResizeCause {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  /** Generation of the Pod that it is about. */
  readonly generation?: number | undefined;
}

/** The conditions of one Pod. */
export class ResizeConditions {
  readonly #conditions = new Map<ResizeConditionType, PodCondition>();

  /** As the status of a Pod has them that an earlier kubelet knew. */
  constructor(pod: Pod) {
    for (const type of ['PodResizePending', 'PodResizeInProgress'] as const) {
      const known = podCondition(pod.status, type);
      if (known) this.#conditions.set(type, known);
    }
  }

  get(type: ResizeConditionType): PodCondition | undefined {
    return this.#conditions.get(type);
  }

  list(): readonly PodCondition[] {
    return [...this.#conditions.values()];
  }

  /** Whether it tells something new. A resize under way keeps its generation, and why it failed until it is through. */
  set(type: ResizeConditionType, cause: ResizeCause, nowMs: number): boolean {
    const before = this.#conditions.get(type);
    const isUnderWay = type === 'PodResizeInProgress' && before !== undefined;
    const generation = isUnderWay ? before.observedGeneration : cause.generation;
    const { reason = isUnderWay ? before.reason : undefined, message = isUnderWay ? before.message : undefined } =
      cause;
    const isNew = !before || before.reason !== reason || before.observedGeneration !== generation;
    if (!isNew && before.message === message) return false;
    const time = formatTime(nowMs);
    this.#conditions.set(type, {
      type,
      status: 'True',
      lastProbeTime: time,
      lastTransitionTime: before && before.reason === reason ? before.lastTransitionTime : time,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...(reason ? { reason } : {}),
      ...(message ? { message } : {}),
    });
    return isNew || isUnderWay;
  }

  /** What it was. */
  clear(type: ResizeConditionType): PodCondition | undefined {
    const before = this.#conditions.get(type);
    this.#conditions.delete(type);
    return before;
  }

  clearAll(): void {
    this.#conditions.clear();
  }
}

/** Text of a resize's Event: what the containers are to have. */
export function resizeMessage(
  title: string,
  pod: Pod,
  { error, generation }: { readonly error?: string | undefined; readonly generation?: number | undefined },
): string {
  const summary = (list: Pod['spec']['containers'] | undefined) =>
    list && list.length > 0 ? list.map(({ name, resources = {} }) => ({ name, resources })) : undefined;
  const { containers, initContainers } = pod.spec;
  const all = {
    initContainers: summary(initContainers),
    containers: summary(containers),
    generation: generation ?? 0,
    error: error || undefined,
  };
  return `${title}: ${JSON.stringify(all)}`;
}
