/**
 * The resize of one Pod: whether the node agrees to what the Pod asks for now, which of its containers do not yet run with what they
 * were given, and what its conditions and Events say of it.
 */
import { amountOf } from '../../api/core/v1/pod-resources.ts';
import type { Container, Pod, PodCondition, ResourceRequirements } from '../../api/gen/core-v1.ts';
import { effectiveLimits } from '../containers/resources.ts';
import { swapResources } from '../containers/swap.ts';
import type { PodServices } from '../pods/pod-services.ts';
import { resourceSettings } from '../pods/resource-settings.ts';
import { type RuntimeContainer, type RuntimePod, runningContainers } from '../pods/runtime-pod.ts';
import { infeasibility, restartsFor } from './resize-admission.ts';
import { ResizeConditions, resizeMessage } from './resize-conditions.ts';

export type ResizeChange = 'none' | 'update' | 'restart';

/** A resize for which there is not enough now is looked at again after this, and whenever another Pod gives something back. */
const pendingRetryMs = 180_000;

export class PodResize {
  readonly #services: PodServices;
  readonly #conditions: ResizeConditions;

  constructor(services: PodServices, pod: Pod) {
    this.#services = services;
    this.#conditions = new ResizeConditions(pod);
  }

  get conditions(): readonly PodCondition[] {
    return this.#conditions.list();
  }

  /** Waits until others have given something back. */
  get isDeferred(): boolean {
    return this.#conditions.get('PodResizePending')?.reason === 'Deferred';
  }

  get retryAfterMs(): number | undefined {
    return this.isDeferred ? pendingRetryMs : undefined;
  }

  /** Gives the Pod what it asks for, if that can be; whether it got something new. */
  consider(pod: Pod): boolean {
    const { allocations, clock } = this.#services;
    const given = allocations.allocated(pod);
    const { generation } = pod.metadata;
    if (given === pod) {
      this.#conditions.clear('PodResizePending');
      return false;
    }
    const refusal = this.#refusal(pod, given);
    if (refusal) {
      const { message, reason } = refusal;
      if (this.#conditions.set('PodResizePending', { reason, message, generation }, clock.now())) {
        const text = resizeMessage(`Pod resize ${reason}`, pod, { error: message, generation });
        this.#services.event(pod, 'Warning', `Resize${reason}`, text);
      }
      return false;
    }
    allocations.allocate(pod);
    this.#conditions.clearAll();
    this.#conditions.set('PodResizeInProgress', { generation }, clock.now());
    this.#services.event(pod, 'Normal', 'ResizeStarted', resizeMessage('Pod resize started', pod, { generation }));
    return true;
  }

  /** What has to happen to a running container so that it has what it was given. */
  changeOf(pod: Pod, spec: Container, container: RuntimeContainer): ResizeChange {
    const { allocations } = this.#services;
    const uid = pod.metadata.uid ?? '';
    const actuated = allocations.actuated(uid, spec.name, container.id);
    const asWhole = allocations.actuatedAsWhole(uid) ?? pod.spec.resources;
    const before = { ...pod, spec: { ...pod.spec, resources: asWhole } };
    const wanted = { ...spec.resources, limits: effectiveLimits(pod, spec) };
    const actual = { ...actuated, limits: effectiveLimits(before, { ...spec, resources: actuated }) };
    const differs = (resource: 'cpu' | 'memory') =>
      amountsOf(wanted, resource) !== amountsOf(actuated && actual, resource);
    const changed = (['cpu', 'memory'] as const).filter(differs);
    if (changed.length === 0) return 'none';
    // Nobody knows what it has: it is set once more, and need not be started anew for that.
    return actuated && changed.some((resource) => restartsFor(spec, resource)) ? 'restart' : 'update';
  }

  /** After every look at what runs: a resize is through when all that runs has what it was given. */
  settle(pod: Pod, observed: RuntimePod): void {
    const { clock } = this.#services;
    const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    const isUnderWay =
      changesWhole(this.#services, pod) ||
      runningContainers(observed).some((container) => {
        const spec = all.find(({ name }) => name === container.name);
        return spec !== undefined && this.changeOf(pod, spec, container) !== 'none';
      });
    if (isUnderWay) {
      this.#conditions.set('PodResizeInProgress', { generation: pod.metadata.generation }, clock.now());
      return;
    }
    const through = this.#conditions.clear('PodResizeInProgress');
    if (!through) return;
    const generation = through.observedGeneration;
    this.#services.event(pod, 'Normal', 'ResizeCompleted', resizeMessage('Pod resize completed', pod, { generation }));
  }

  /** It cannot be carried out now. */
  fail(pod: Pod, message: string): void {
    const cause = { reason: 'Error', message, generation: pod.metadata.generation };
    if (!this.#conditions.set('PodResizeInProgress', cause, this.#services.clock.now())) return;
    const generation = this.#conditions.get('PodResizeInProgress')?.observedGeneration;
    const text = resizeMessage('Pod resize error', pod, { error: message, generation });
    this.#services.event(pod, 'Warning', 'ResizeError', text);
  }

  end(): void {
    this.#conditions.clearAll();
  }

  #refusal(pod: Pod, given: Pod): { readonly reason: 'Infeasible' | 'Deferred'; readonly message: string } | undefined {
    const settings = resourceSettings(this.#services);
    const { swap, isUnified = false, memoryCapacityBytes } = settings;
    const usesSwap = (of: Pod, container: Container) => {
      if (!swap || !isUnified || swap.behavior !== 'LimitedSwap' || swap.capacityBytes === 0) return false;
      return (
        swapResources(of, container, { swap, isUnified, memoryCapacityBytes }).unified?.['memory.swap.max'] !== '0'
      );
    };
    const never = infeasibility(pod, given, { ...this.#services.configuration, usesSwap });
    if (never) return { reason: 'Infeasible', message: never };
    const now = this.#services.resizeRejection(pod);
    return now && { reason: 'Deferred', message: now.message };
  }
}

/** Whether the Pod's own group has something else than the Pod was given as a whole. */
export function changesWhole({ allocations }: Pick<PodServices, 'allocations'>, pod: Pod): boolean {
  const actual = allocations.actuatedAsWhole(pod.metadata.uid ?? '');
  const { resources } = pod.spec;
  if (!actual || !resources) return false;
  return ['cpu', 'memory'].some((resource) => amountsOf(resources, resource) !== amountsOf(actual, resource));
}

/** Request and limit, as text that can be compared. */
function amountsOf(resources: ResourceRequirements | undefined, resource: string): string {
  const amount = (list: Readonly<Record<string, string>> | undefined) =>
    list?.[resource] === undefined ? 0 : amountOf(resource, list[resource]);
  return `${amount(resources?.requests)}/${amount(resources?.limits)}`;
}
