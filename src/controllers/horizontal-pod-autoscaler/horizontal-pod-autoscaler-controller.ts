/**
 * Sizes workloads by what their Pods use. Every 15 seconds each autoscaler's metrics are read (`metrics.ts`), the largest answer is
 * tempered (`limits.ts`) and written to the target's `scale`; what stands in the way is told by conditions.
 */

import type { Scale } from '../../api/gen/autoscaling-v1.ts';
import {
  type HorizontalPodAutoscaler,
  type HorizontalPodAutoscalerStatus,
  horizontalPodAutoscalers,
  type MetricStatus,
} from '../../api/gen/autoscaling-v2.ts';
import { pods as podType } from '../../api/gen/core-v1.ts';
import { withCondition } from '../../apimachinery/conditions.ts';
import { parseLabelSelector } from '../../apimachinery/labels.ts';
import { parseApiVersion, type ResourceType } from '../../apimachinery/resource.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { discover } from '../../client/discovery.ts';
import { type CauseNote, subjectOfKey } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import { withKind } from '../common/events.ts';
import { equalOnWire, sameStatus } from '../common/wire-equality.ts';
import { type History, noHistory, planReplicas, withChange } from './limits.ts';
import { answerOf, type MetricAnswer, type MetricContext, MetricFailure } from './metrics.ts';

export interface HorizontalPodAutoscalerOptions {
  readonly workers?: number | undefined;
  /** Between two looks; default 15 s. */
  readonly syncPeriodMs?: number | undefined;
  /** Deviation from the target that changes nothing; default 0.1. */
  readonly tolerance?: number | undefined;
  /** Default 5 minutes. */
  readonly downscaleStabilizationMs?: number | undefined;
  /** Default 5 minutes. */
  readonly cpuInitializationMs?: number | undefined;
  /** Default 30 s. */
  readonly initialReadinessDelayMs?: number | undefined;
}

export async function runHorizontalPodAutoscalerController(
  context: ComponentContext,
  options: HorizontalPodAutoscalerOptions = {},
): Promise<void> {
  const { informers } = context;
  const all = informers.of(horizontalPodAutoscalers);
  const pods = informers.of(podType);
  const histories = new Map<string, History>();
  const againAfterMs = options.syncPeriodMs ?? 15_000;
  const events = context.eventRecorder('horizontal-pod-autoscaler');
  const controller = createController(context, {
    name: 'horizontal-pod-autoscaler-controller',
    queue: 'horizontalpodautoscaler',
    workers: options.workers ?? 5,
    waitFor: [all, pods],
    async reconcile(key: string): Promise<ReconcileResult | undefined> {
      const autoscaler = all.get(key);
      if (!autoscaler) {
        histories.delete(key);
        return undefined;
      }
      const look = new Look(context, events, options, autoscaler, histories.get(key) ?? noHistory);
      histories.set(key, await look.run((namespace) => pods.list(namespace)));
      return { againAfterMs, causes: look.causes() };
    },
    about: (key) => subjectOfKey(horizontalPodAutoscalers, key),
  });
  controller.watchMapped(all, (autoscaler, previous) => {
    // Our own status comes back as an update: only what the user changes is worth a look before its time.
    const same = previous !== undefined && equalOnWire(previous.spec, autoscaler.spec);
    return same ? [] : [`${autoscaler.metadata.namespace}/${autoscaler.metadata.name}`];
  });
  await controller.run();
}

type ScaleTarget = Scale & { readonly metadata: Scale['metadata'] };

/** Of `AbleToScale`, which is True all the same. */
const holdingReasons: ReadonlySet<string> = new Set(['ScaleDownStabilized', 'ScaleUpStabilized']);

class Look {
  readonly #context: ComponentContext;
  readonly #events: EventRecorder;
  readonly #options: HorizontalPodAutoscalerOptions;
  readonly #autoscaler: HorizontalPodAutoscaler;
  readonly #nowMs: number;
  #history: History;
  #status: HorizontalPodAutoscalerStatus;

  constructor(
    context: ComponentContext,
    events: EventRecorder,
    options: HorizontalPodAutoscalerOptions,
    autoscaler: HorizontalPodAutoscaler,
    history: History,
  ) {
    this.#context = context;
    this.#events = events;
    this.#options = options;
    this.#autoscaler = autoscaler;
    this.#history = history;
    this.#nowMs = context.clock.now();
    const { generation } = autoscaler.metadata;
    this.#status = { desiredReplicas: 0, ...autoscaler.status, observedGeneration: generation };
  }

  /** Returns what to remember. */
  async run(podsIn: (namespace: string | undefined) => MetricContext['pods']): Promise<History> {
    const target = await this.#target();
    if (target) await this.#size(target.type, target.scale, podsIn(this.#autoscaler.metadata.namespace));
    if (!sameStatus(this.#autoscaler.status, this.#status)) {
      await this.#context.client.updateStatus(horizontalPodAutoscalers, { ...this.#autoscaler, status: this.#status });
    }
    return this.#history;
  }

  /** What its conditions say in passing: the size that the metrics call for, and what keeps the target from it. */
  causes(): readonly CauseNote[] {
    return (this.#status.conditions ?? [])
      .filter(({ type, status, reason = '' }) =>
        type === 'ScalingLimited' ? status === 'True' : type === 'AbleToScale' && holdingReasons.has(reason),
      )
      .map(({ reason = '', message = '' }) => ({ reason, message }));
  }

  async #target(): Promise<{ readonly type: ResourceType<ScaleTarget>; readonly scale: ScaleTarget } | undefined> {
    const { client } = this.#context;
    const { apiVersion = 'v1', kind, name } = this.#autoscaler.spec.scaleTargetRef;
    const { namespace } = this.#autoscaler.metadata;
    try {
      const { group, version } = parseApiVersion(apiVersion);
      const { all } = await discover(client);
      const found = all.find((type) => type.group === group && type.version === version && type.kind === kind);
      if (!found) throw new Error(`no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`);
      const type = found as unknown as ResourceType<ScaleTarget>;
      const scale = await client.get(type, { namespace, name }, { subresource: 'scale' });
      this.#condition(
        'AbleToScale',
        'True',
        'SucceededGetScale',
        "the HPA controller was able to get the target's current scale",
      );
      return { type, scale };
    } catch (error) {
      this.#record('Warning', 'FailedGetScale', messageOf(error));
      const message = `the HPA controller was unable to get the target's current scale: ${messageOf(error)}`;
      this.#condition('AbleToScale', 'False', 'FailedGetScale', message);
      return undefined;
    }
  }

  async #size(type: ResourceType<ScaleTarget>, scale: ScaleTarget, pods: MetricContext['pods']): Promise<void> {
    const { minReplicas = 1, maxReplicas } = this.#autoscaler.spec;
    const current = scale.spec.replicas ?? 0;
    this.#status = { ...this.#status, currentReplicas: current };
    let desired = current;
    let reason = '';
    if (current === 0 && minReplicas !== 0) {
      const message = 'scaling is disabled since the replica count of the target is zero';
      this.#condition('ScalingActive', 'False', 'ScalingDisabled', message);
      this.#status = { ...this.#status, desiredReplicas: 0 };
      return;
    }
    if (current > maxReplicas) [desired, reason] = [maxReplicas, 'Current number of replicas above Spec.MaxReplicas'];
    else if (current < minReplicas)
      [desired, reason] = [minReplicas, 'Current number of replicas below Spec.MinReplicas'];
    else {
      const answer = await this.#measure(scale, current, pods);
      if (!answer) return;
      desired = this.#temper(current, answer.replicas);
      if (desired > current) reason = `${answer.name} above target`;
      else if (desired < current) reason = 'All metrics below target';
    }
    this.#status = { ...this.#status, desiredReplicas: desired };
    if (desired !== current) await this.#rescale(type, scale, desired, reason);
  }

  /** The largest answer of all metrics; one that fails only hinders shrinking. */
  async #measure(scale: ScaleTarget, current: number, pods: MetricContext['pods']): Promise<MetricAnswer | undefined> {
    const selector = scale.status?.selector ?? '';
    if (selector === '') {
      this.#record('Warning', 'SelectorRequired', 'selector is required');
      this.#condition('ScalingActive', 'False', 'InvalidSelector', "the HPA target's scale is missing a selector");
      return undefined;
    }
    const matcher = parseLabelSelector(selector);
    const { tolerance = 0.1, cpuInitializationMs = 300_000, initialReadinessDelayMs = 30_000 } = this.#options;
    const context: MetricContext = {
      client: this.#context.client,
      autoscaler: this.#autoscaler,
      current,
      selector,
      pods: pods.filter(({ metadata }) => matcher.matches(metadata.labels)),
      tolerances: this.#tolerances(tolerance),
      times: { cpuInitializationMs, initialReadinessDelayMs },
      nowMs: this.#nowMs,
    };
    const answers: MetricAnswer[] = [];
    let failure: unknown;
    for (const metric of this.#autoscaler.spec.metrics ?? []) {
      try {
        answers.push(await answerOf(metric, context));
      } catch (error) {
        failure ??= error;
      }
    }
    const [best] = answers.sort((a, b) => b.replicas - a.replicas);
    if (!best || (failure !== undefined && best.replicas < current)) {
      this.#cannotMeasure(failure);
      return undefined;
    }
    this.#condition(
      'ScalingActive',
      'True',
      'ValidMetricFound',
      `the HPA was able to successfully calculate a replica count from ${best.name}`,
    );
    this.#status = { ...this.#status, currentMetrics: answers.map(({ status }): MetricStatus => status) };
    return best;
  }

  #tolerances(tolerance: number) {
    const { scaleUp, scaleDown } = this.#autoscaler.spec.behavior ?? {};
    return { up: Number(scaleUp?.tolerance ?? tolerance), down: Number(scaleDown?.tolerance ?? tolerance) };
  }

  #cannotMeasure(failure: unknown): void {
    const count = this.#autoscaler.spec.metrics?.length ?? 0;
    const reason = failure instanceof MetricFailure ? failure.reason : 'FailedGetResourceMetric';
    const message = messageOf(failure ?? 'no metrics are configured');
    this.#record('Warning', reason, message);
    this.#record(
      'Warning',
      'FailedComputeMetricsReplicas',
      `invalid metrics (1 invalid out of ${count}), first error is: ${message}`,
    );
    this.#condition('ScalingActive', 'False', reason, `the HPA was unable to compute the replica count: ${message}`);
  }

  #temper(current: number, recommended: number): number {
    const downscaleStabilizationMs = this.#options.downscaleStabilizationMs ?? 300_000;
    const times = { nowMs: this.#nowMs, downscaleStabilizationMs };
    const { replicas, able, limited, recommendations } = planReplicas(
      this.#autoscaler,
      { current, recommended },
      this.#history,
      times,
    );
    this.#history = { ...this.#history, recommendations };
    this.#condition('AbleToScale', 'True', able.reason, able.message);
    this.#condition('ScalingLimited', limited.status, limited.reason, limited.message);
    return replicas;
  }

  async #rescale(type: ResourceType<ScaleTarget>, scale: ScaleTarget, replicas: number, reason: string): Promise<void> {
    try {
      await this.#context.client.update(
        type,
        { ...scale, spec: { ...scale.spec, replicas } },
        { subresource: 'scale' },
      );
    } catch (error) {
      const what = `New size: ${replicas}; reason: ${reason}; error: ${messageOf(error)}`;
      this.#record('Warning', 'FailedRescale', what);
      const message = `the HPA controller was unable to update the target scale: ${messageOf(error)}`;
      this.#condition('AbleToScale', 'False', 'FailedUpdateScale', message);
      return;
    }
    this.#history = withChange(this.#history, { before: scale.spec.replicas ?? 0, after: replicas, atMs: this.#nowMs });
    this.#status = { ...this.#status, lastScaleTime: formatTime(this.#nowMs) };
    this.#condition(
      'AbleToScale',
      'True',
      'SucceededRescale',
      `the HPA controller was able to update the target scale to ${replicas}`,
    );
    this.#record('Normal', 'SuccessfulRescale', `New size: ${replicas}; reason: ${reason}`);
  }

  #condition(type: string, status: 'True' | 'False', reason: string, message: string): void {
    const conditions = withCondition(this.#status.conditions, { type, status, reason, message }, this.#nowMs);
    this.#status = { ...this.#status, conditions };
  }

  #record(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#events.record(withKind(horizontalPodAutoscalers, this.#autoscaler), type, reason, message);
  }
}
