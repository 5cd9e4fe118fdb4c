/**
 * How many Pods under a PodDisruptionBudget may be disrupted now: pure. How many there should be is asked of their controllers, so
 * that a budget in percent does not shrink with each Pod that is lost.
 */
import { isPodReady } from '../../api/core/v1/pod-status.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../api/gen/policy-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import type { Condition } from '../../apimachinery/gen/meta-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { scaledValue } from '../common/rounding.ts';

/** An eviction that was granted and did not happen counts no longer after this time. */
const deletionTimeoutMs = 120_000;

export interface Expectation {
  readonly expected: number;
  readonly desiredHealthy: number;
}

/** `scale` is the sum of the sizes of the Pods' controllers; it is asked for only where the budget needs it. */
export function expectationOf({ spec }: PodDisruptionBudget, podCount: number, scale: () => number): Expectation {
  const { minAvailable, maxUnavailable } = spec ?? {};
  if (maxUnavailable !== undefined) {
    const expected = scale();
    return { expected, desiredHealthy: Math.max(0, expected - (scaledValue(maxUnavailable, expected, true) ?? 0)) };
  }
  if (typeof minAvailable === 'number') return { expected: podCount, desiredHealthy: minAvailable };
  if (minAvailable === undefined) return { expected: podCount, desiredHealthy: 0 };
  const expected = scale();
  return { expected, desiredHealthy: scaledValue(minAvailable, expected, true) ?? 0 };
}

export interface DisruptedPods {
  /** Those still to be counted as lost. */
  readonly waiting: Readonly<Record<string, string>>;
  /** Those that should have been deleted by now. */
  readonly overdue: readonly Pod[];
  readonly recheckInMs: number | undefined;
}

export function planDisrupted(budget: PodDisruptionBudget, pods: readonly Pod[], nowMs: number): DisruptedPods {
  const granted = budget.status?.disruptedPods ?? {};
  const waiting: Record<string, string> = {};
  const overdue: Pod[] = [];
  let recheckInMs: number | undefined;
  for (const pod of pods) {
    const time = granted[pod.metadata.name ?? ''];
    if (time === undefined || pod.metadata.deletionTimestamp) continue;
    const leftMs = Date.parse(time) + deletionTimeoutMs - nowMs;
    if (leftMs < 0) overdue.push(pod);
    else {
      waiting[pod.metadata.name ?? ''] = time;
      recheckInMs = Math.min(recheckInMs ?? leftMs, leftMs);
    }
  }
  return { waiting, overdue, recheckInMs };
}

export interface BudgetSituation {
  readonly expectation: Expectation;
  /** Granted to be disrupted and still there, with the time of the grant. */
  readonly disruptedPods: Readonly<Record<string, string>>;
  readonly nowMs: number;
}

export function planBudgetStatus(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  { expectation: { expected, desiredHealthy }, disruptedPods, nowMs }: BudgetSituation,
): PodDisruptionBudgetStatus {
  const counts = (pod: Pod) =>
    !pod.metadata.deletionTimestamp && disruptedPods[pod.metadata.name ?? ''] === undefined && isPodReady(pod);
  const currentHealthy = pods.filter(counts).length;
  const disruptionsAllowed = expected <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
  const condition =
    disruptionsAllowed > 0
      ? { status: 'True', reason: 'SufficientPods', message: '' }
      : { status: 'False', reason: 'InsufficientPods', message: '' };
  return {
    observedGeneration: budget.metadata.generation,
    ...(Object.keys(disruptedPods).length > 0 ? { disruptedPods } : {}),
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods: expected,
    conditions: withAllowed(budget, condition, nowMs),
  };
}

/** Counting failed, so nothing may be disrupted. */
export function planFailedStatus(
  budget: PodDisruptionBudget,
  message: string,
  nowMs: number,
): PodDisruptionBudgetStatus {
  const condition = { status: 'False', reason: 'SyncFailed', message };
  return {
    currentHealthy: 0,
    desiredHealthy: 0,
    expectedPods: 0,
    ...budget.status,
    observedGeneration: budget.metadata.generation,
    disruptionsAllowed: 0,
    conditions: withAllowed(budget, condition, nowMs),
  };
}

function withAllowed(
  { metadata, status }: PodDisruptionBudget,
  next: Pick<Condition, 'status' | 'reason' | 'message'>,
  nowMs: number,
): readonly Condition[] {
  const type = 'DisruptionAllowed';
  const present = findCondition(status?.conditions, type);
  const lastTransitionTime = present?.status === next.status ? present.lastTransitionTime : formatTime(nowMs);
  const condition: Condition = { type, ...next, lastTransitionTime, observedGeneration: metadata.generation };
  const others = (status?.conditions ?? []).filter((other) => other.type !== type);
  return [...others, condition];
}
