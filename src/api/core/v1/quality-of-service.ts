/**
 * A Pod's quality-of-service class, which decides its cgroup, its OOM score and its place in the order of eviction. It follows
 * from the requests and limits of cpu and memory alone, and never changes while the Pod lives.
 */
import { parseQuantity } from '../../../apimachinery/quantity.ts';
import type { Pod, PodQOSClass, PodSpec, ResourceRequirements } from '../../gen/core-v1.ts';

const counted: ReadonlySet<string> = new Set(['cpu', 'memory']);

/** The class recorded in the status, or, before the API server has recorded one, the computed class. */
export function qosClass(pod: Pod): PodQOSClass {
  return pod.status?.qosClass ?? computeQosClass(pod.spec);
}

/**
 * BestEffort: nothing asked. Guaranteed: every container limits both cpu and memory, and the requests add up to the limits.
 * Burstable: all else. Requests and limits of the Pod as a whole, where set, decide in the containers' stead.
 */
export function computeQosClass(spec: PodSpec): PodQOSClass {
  const requests = new Map<string, number>();
  const limits = new Map<string, number>();
  let everyLimitSet = true;
  const count = (resources: ResourceRequirements | undefined) => {
    sum(requests, resources?.requests);
    const limited = sum(limits, resources?.limits);
    if (limited.size < counted.size) everyLimitSet = false;
  };
  if (spec.resources) count(spec.resources);
  else for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) count(container.resources);

  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const equal = [...requests].every(([resource, amount]) => limits.get(resource) === amount);
  return everyLimitSet && equal && requests.size === limits.size ? 'Guaranteed' : 'Burstable';
}

/** Adds the positive quantities to `into`, in thousandths; returns the resources it found. */
function sum(into: Map<string, number>, quantities: Readonly<Record<string, string>> | undefined): Set<string> {
  const found = new Set<string>();
  for (const [resource, quantity] of Object.entries(quantities ?? {})) {
    if (!counted.has(resource)) continue;
    const milli = Number(parseQuantity(quantity).milliValue());
    if (milli <= 0) continue;
    found.add(resource);
    into.set(resource, (into.get(resource) ?? 0) + milli);
  }
  return found;
}
