/**
 * What a Pod asks of a node: requests and limits of all its containers taken together, by the rule that the scheduler, the
 * kubelet and quotas must share, or a node is filled differently than it was planned.
 *
 * Amounts are plain numbers (`cpu` in thousandths of a core, all else in whole units, both rounded up), because they are added
 * and compared by the million; quantities as text are parsed once, here.
 *
 *     containers a: 100m, b: 200m; init container i: 500m; sidecar s: 50m (declared before i)
 *     requests = max(100 + 200 + 50, 50 + 500) = 550
 */
import { parseQuantity } from '../../../apimachinery/quantity.ts';
import type { Container, ContainerStatus, Pod } from '../../gen/core-v1.ts';
import { isSidecar, podCondition } from './pod-status.ts';

/** Resource name to amount: `{ cpu: 250, memory: 134217728 }`. */
export type ResourceAmounts = Readonly<Record<string, number>>;

export interface PodResourcesOptions {
  /** Count what the kubelet reports as running and allocated, while it differs from the spec (resize in place). */
  readonly useStatus?: boolean;
  /** Requests of a container that names none for a resource, as the scheduler's scores assume them. */
  readonly missingRequests?: ResourceAmounts;
  readonly withoutOverhead?: boolean;
  /** Look at the containers alone, not at `spec.resources`. */
  readonly withoutPodLevel?: boolean;
}

type Side = 'requests' | 'limits';
type Amounts = Record<string, number>;

/** One quantity of one resource as a number: `amountOf('cpu', '250m')` is 250, `amountOf('memory', '1Ki')` is 1024. */
export function amountOf(resource: string, quantity: string): number {
  const plain = plainAmount.exec(quantity);
  if (plain) {
    const amount = Number(plain[1]);
    // Rounded up, as the exact way does.
    if (plain[2] === 'm') return resource === 'cpu' ? amount : Math.ceil(amount / 1000);
    return (resource === 'cpu' ? amount * 1000 : amount) * binaryUnits[plain[2] ?? '']!;
  }
  const parsed = parseQuantity(quantity);
  return resource === 'cpu' ? Number(parsed.milliValue()) : Number(parsed.value());
}

/** As nearly all are written; a double holds these exactly. */
const plainAmount = /^([0-9]{1,9})(m|Ki|Mi|Gi)?$/;
const binaryUnits: Readonly<Record<string, number>> = { '': 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/** A list of quantities as numbers. */
export function amountsOf(quantities: Readonly<Record<string, string>> | undefined): ResourceAmounts {
  const amounts: Amounts = {};
  for (const resource in quantities) amounts[resource] = amountOf(resource, quantities[resource]!);
  return amounts;
}

/** Requests of the whole Pod, overhead included: what scheduling and the kubelet's admission count. */
export function podRequests(pod: Pod, options: PodResourcesOptions = {}): ResourceAmounts {
  const total = containersTotal(pod, 'requests', options);
  if (!options.withoutPodLevel) applyPodLevel(total, pod, 'requests', options);
  if (!options.withoutOverhead) add(total, amountsOf(pod.spec.overhead));
  return total;
}

/** Limits of the whole Pod. Overhead is added where there is a limit at all. */
export function podLimits(pod: Pod, options: PodResourcesOptions = {}): ResourceAmounts {
  const total = containersTotal(pod, 'limits', options);
  if (!options.withoutPodLevel) applyPodLevel(total, pod, 'limits', options);
  if (!options.withoutOverhead) {
    for (const [resource, amount] of Object.entries(amountsOf(pod.spec.overhead))) {
      if (total[resource]) total[resource] += amount;
    }
  }
  return total;
}

/** Resources that may be set for a Pod as a whole. */
export function isPodLevelResource(resource: string): boolean {
  return resource === 'cpu' || resource === 'memory' || resource.startsWith('hugepages-');
}

/** Whether the Pod asks for resources as a whole. */
export function hasPodLevelResources({ spec: { resources } }: Pod): boolean {
  return Object.keys({ ...resources?.requests, ...resources?.limits }).some(isPodLevelResource);
}

/** Adds `more` to `total` in place. */
export function add(total: Amounts, more: ResourceAmounts): void {
  for (const resource in more) total[resource] = (total[resource] ?? 0) + more[resource]!;
}

function raise(total: Amounts, floor: ResourceAmounts): void {
  for (const resource in floor) {
    const [present, amount] = [total[resource], floor[resource]!];
    if (present === undefined || amount > present) total[resource] = amount;
  }
}

/**
 * The larger of two moments: all containers and sidecars running, and the hungriest init container beside the sidecars that
 * were started before it.
 */
function containersTotal(pod: Pod, side: Side, options: PodResourcesOptions): Amounts {
  const total: Amounts = {};
  for (const container of pod.spec.containers ?? []) add(total, ofContainer(pod, container, side, options));
  const sidecars: Amounts = {};
  const starting: Amounts = {};
  for (const container of pod.spec.initContainers ?? []) {
    const own = ofContainer(pod, container, side, options);
    if (isSidecar(container)) {
      add(total, own);
      add(sidecars, own);
      raise(starting, sidecars);
    } else {
      const moment = { ...own };
      add(moment, sidecars);
      raise(starting, moment);
    }
  }
  raise(total, starting);
  return total;
}

function ofContainer(pod: Pod, container: Container, side: Side, options: PodResourcesOptions): ResourceAmounts {
  const own: Amounts = { ...amountsOf(container.resources?.[side]) };
  let amounts = own;
  const status = options.useStatus ? statusOf(pod, container) : undefined;
  if (status?.resources) {
    const actuated = amountsOf(status.resources[side]);
    // A resize that cannot happen here leaves what runs now as the truth.
    amounts = isResizeInfeasible(pod) ? {} : own;
    raise(amounts, actuated);
    if (side === 'requests') raise(amounts, amountsOf(status.allocatedResources));
  }
  if (side === 'requests' && options.missingRequests) return { ...options.missingRequests, ...amounts };
  return amounts;
}

function statusOf(pod: Pod, container: Container): ContainerStatus | undefined {
  const named = (status: ContainerStatus) => status.name === container.name;
  return (
    pod.status?.containerStatuses?.find(named) ??
    (isSidecar(container) ? pod.status?.initContainerStatuses?.find(named) : undefined)
  );
}

/** `spec.resources` replaces what the containers add up to, resource by resource. */
function applyPodLevel(total: Amounts, pod: Pod, side: Side, options: PodResourcesOptions): void {
  const wanted = pod.spec.resources?.[side];
  if (!wanted) return;
  const reported = options.useStatus ? pod.status?.resources : undefined;
  for (const [resource, quantity] of Object.entries(wanted)) {
    if (!isPodLevelResource(resource)) continue;
    const effective: Amounts = reported && isResizeInfeasible(pod) ? {} : { [resource]: amountOf(resource, quantity) };
    if (reported) {
      raise(effective, amountsOf(reported[side]));
      if (side === 'requests') raise(effective, amountsOf(pod.status?.allocatedResources));
    }
    total[resource] = effective[resource] ?? 0;
  }
}

function isResizeInfeasible(pod: Pod): boolean {
  return podCondition(pod.status, 'PodResizePending')?.reason === 'Infeasible';
}
