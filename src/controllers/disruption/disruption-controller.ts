/**
 * Keeps the status of PodDisruptionBudgets true, from which the eviction API decides whether a Pod may go. It stops nobody itself.
 */
import { isPodReady } from '../../api/core/v1/pod-status.ts';
import { type Pod, pods as podType } from '../../api/gen/core-v1.ts';
import {
  type PodDisruptionBudget,
  type PodDisruptionBudgetStatus,
  podDisruptionBudgets,
} from '../../api/gen/policy-v1.ts';
import { labelMatcherOf } from '../../apimachinery/labels.ts';
import { keyOf } from '../../apimachinery/meta.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { type CauseNote, subjectOf } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import { withKind } from '../common/events.ts';
import { sameStatus } from '../common/wire-equality.ts';
import { expectationOf, planBudgetStatus, planDisrupted, planFailedStatus } from './plan.ts';
import { ControllerScales } from './scale.ts';

/** Until a budget that could not be computed is tried again. */
const retryMs = 5000;

export async function runDisruptionController(context: ComponentContext): Promise<void> {
  const { client, clock, informers } = context;
  const budgets = informers.of(podDisruptionBudgets);
  const pods = informers.of(podType);
  const scales = new ControllerScales(context);
  const events = context.eventRecorder('controllermanager');

  async function reconcile(key: string): Promise<ReconcileResult | undefined> {
    const budget = budgets.get(key);
    if (!budget) return undefined;
    const selector = labelMatcherOf(budget.spec?.selector);
    const selected = pods.list(budget.metadata.namespace).filter(({ metadata }) => selector.matches(metadata.labels));
    const record = (type: 'Normal' | 'Warning', reason: string, message: string, about = budget) =>
      events.record(withKind(podDisruptionBudgets, about), type, reason, message);
    if (selected.length === 0) record('Normal', 'NoPods', 'No matching pods found');
    try {
      const scale = await scales.of(selected);
      if (scale.unmanaged.length > 0) {
        const message = `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`;
        record('Warning', 'UnmanagedPods', message);
      }
      const expectation = expectationOf(budget, selected.length, () => scale.expected);
      const { waiting, overdue, recheckInMs } = planDisrupted(budget, selected, clock.now());
      for (const pod of overdue) {
        const message = `Pod was expected by PDB ${key} to be deleted but it wasn't`;
        events.record(withKind(podType, pod), 'Warning', 'NotDeleted', message);
      }
      const status = planBudgetStatus(budget, selected, {
        expectation,
        disruptedPods: waiting,
        nowMs: clock.now(),
      });
      if (!sameStatus(budget.status, status)) await client.updateStatus(podDisruptionBudgets, { ...budget, status });
      const causes = (status.disruptionsAllowed ?? 0) > 0 ? [] : [spent(status, selected)];
      return { causes, againAfterMs: recheckInMs === undefined ? undefined : recheckInMs + 1 };
    } catch (error) {
      const message = `Failed to calculate the number of expected pods: ${messageOf(error)}`;
      record('Warning', 'CalculateExpectedPodCountFailed', message);
      await failSafe(budget, messageOf(error));
      // A controller that is being deleted, or is too new to be known: its Pods' next change tells, or time does.
      return { againAfterMs: retryMs, causes: [{ reason: 'SyncFailed', message }] };
    }
  }

  async function failSafe(budget: PodDisruptionBudget, message: string): Promise<void> {
    const status = planFailedStatus(budget, message, clock.now());
    if (!sameStatus(budget.status, status)) await client.updateStatus(podDisruptionBudgets, { ...budget, status });
  }

  const controller = createController(context, {
    name: 'disruption-controller',
    queue: 'disruption',
    workers: 1,
    waitFor: [budgets, pods, ...scales.informers],
    reconcile,
  });
  controller.watch(budgets);
  const keysFor = ({ metadata }: Pod): string[] =>
    budgets
      .list(metadata.namespace)
      .filter(({ spec }) => labelMatcherOf(spec?.selector).matches(metadata.labels))
      .map(keyOf);
  controller.watchMapped(pods, (pod, previous) => [...keysFor(pod), ...(previous ? keysFor(previous) : [])]);
  await controller.run();
}

/** Evictions of its Pods are refused. */
function spent(
  { currentHealthy, desiredHealthy }: Pick<PodDisruptionBudgetStatus, 'currentHealthy' | 'desiredHealthy'>,
  selected: readonly Pod[],
): CauseNote {
  const unhealthy = selected.filter((pod) => !isPodReady(pod) || pod.metadata.deletionTimestamp);
  const message = `no Pod of it may be evicted: ${currentHealthy} are healthy, and ${desiredHealthy} must be`;
  const waitsFor = unhealthy.slice(0, 3).map((pod) => subjectOf(podType, pod));
  return { reason: 'InsufficientPods', message, waitsFor };
}
