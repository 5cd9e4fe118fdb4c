/**
 * Which Pods to give up first when there are too many, in upstream's order: those that serve least, cost least and are youngest.
 * Ages are compared by the power of two they fall into, so that among Pods of about the same age chance (their uid) decides and a
 * rollout does not always punish the newest.
 */
import { isPodReady, podCondition } from '../../api/core/v1/pod-status.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { maxContainerRestarts } from './pods.ts';

const deletionCostAnnotation = 'controller.kubernetes.io/pod-deletion-cost';

/**
 * The Pods in the order in which they should be deleted. `colocated(pod)` is how many active Pods of the same workload share its
 * node: crowded nodes are relieved first.
 */
export function rankForDeletion(pods: readonly Pod[], colocated: (pod: Pod) => number, nowMs: number): Pod[] {
  return [...pods].sort((a, b) => compare(a, b, colocated, nowMs));
}

function compare(a: Pod, b: Pod, colocated: (pod: Pod) => number, nowMs: number): number {
  return (
    byFlag(Boolean(a.spec.nodeName), Boolean(b.spec.nodeName)) ||
    phaseRank(a) - phaseRank(b) ||
    byFlag(isPodReady(a), isPodReady(b)) ||
    deletionCost(a) - deletionCost(b) ||
    colocated(b) - colocated(a) ||
    readiness(a, b, nowMs) ||
    maxContainerRestarts(b) - maxContainerRestarts(a) ||
    byAge(a.metadata.creationTimestamp, b.metadata.creationTimestamp, nowMs) ||
    (String(a.metadata.uid) < String(b.metadata.uid) ? -1 : 1)
  );
}

/** False before true. */
function byFlag(a: boolean, b: boolean): number {
  return Number(a) - Number(b);
}

function phaseRank(pod: Pod): number {
  return { Pending: 0, Unknown: 1, Running: 2 }[pod.status?.phase as string] ?? 0;
}

/** A value that is no 32-bit integer counts as 0, as upstream has it. */
function deletionCost(pod: Pod): number {
  const text = pod.metadata.annotations?.[deletionCostAnnotation];
  if (text === undefined || !/^(0|-?[1-9][0-9]*)$/.test(text)) return 0;
  const cost = Number(text);
  return cost >= -(2 ** 31) && cost < 2 ** 31 ? cost : 0;
}

function readiness(a: Pod, b: Pod, nowMs: number): number {
  if (!isPodReady(a) || !isPodReady(b)) return 0;
  return byAge(
    podCondition(a.status, 'Ready')?.lastTransitionTime,
    podCondition(b.status, 'Ready')?.lastTransitionTime,
    nowMs,
  );
}

/** Younger first; ages within the same power of two nanoseconds are equal; a Pod without the time comes first. */
function byAge(a: string | undefined, b: string | undefined, nowMs: number): number {
  if (!a || !b) return Number(Boolean(a)) - Number(Boolean(b));
  return ageBucket(a, nowMs) - ageBucket(b, nowMs);
}

function ageBucket(time: string, nowMs: number): number {
  const ageMs = nowMs - Date.parse(time);
  return ageMs <= 0 ? -1 : Math.floor(Math.log2(ageMs * 1e6));
}
