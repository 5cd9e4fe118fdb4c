/**
 * How many replicas a metric calls for: pure, upstream's arithmetic. Pods of which nothing is known are assumed to use what speaks
 * against the change that the others suggest, so that missing data never causes a large step.
 *
 *     3 Pods use 90, 80, 100 of 100 each, target 50 %  ->  ratio 1.8  ->  ceil(1.8 * 3) = 6
 */
import { isPodReady, isPodTerminal, podCondition } from '../../api/core/v1/pod-status.ts';
import type { Pod } from '../../api/gen/core-v1.ts';

export interface Tolerances {
  readonly up: number;
  readonly down: number;
}

/** What one Pod uses, in thousandths. */
export interface Sample {
  readonly milli: number;
  readonly takenAtMs: number;
  readonly windowMs: number;
}

export interface GroupedPods {
  readonly readyCount: number;
  /** Still starting: what they use now says nothing. */
  readonly unready: readonly string[];
  readonly missing: readonly string[];
  readonly ignored: readonly string[];
}

export interface StartupTimes {
  readonly cpuInitializationMs: number;
  readonly initialReadinessDelayMs: number;
}

export interface GroupingInput {
  readonly samples: ReadonlyMap<string, Sample>;
  /** `cpu` says little of a Pod that still starts; empty for metrics of others. */
  readonly resource: string;
  readonly times: StartupTimes;
  readonly nowMs: number;
}

export function groupPods(pods: readonly Pod[], { samples, resource, times, nowMs }: GroupingInput): GroupedPods {
  let readyCount = 0;
  const unready: string[] = [];
  const missing: string[] = [];
  const ignored: string[] = [];
  for (const pod of pods) {
    const name = pod.metadata.name ?? '';
    const sample = samples.get(name);
    if (pod.metadata.deletionTimestamp || pod.status?.phase === 'Failed') ignored.push(name);
    else if (pod.status?.phase === 'Pending') unready.push(name);
    else if (!sample) missing.push(name);
    else if (resource === 'cpu' && isStarting(pod, sample, times, nowMs)) unready.push(name);
    else readyCount++;
  }
  return { readyCount, unready, missing, ignored };
}

function isStarting(pod: Pod, sample: Sample, times: StartupTimes, nowMs: number): boolean {
  const ready = podCondition(pod.status, 'Ready');
  if (!ready || !pod.status?.startTime) return true;
  const startedMs = Date.parse(pod.status.startTime);
  const changedMs = Date.parse(ready.lastTransitionTime ?? '');
  if (startedMs + times.cpuInitializationMs > nowMs) {
    return ready.status === 'False' || sample.takenAtMs < changedMs + sample.windowMs;
  }
  return ready.status === 'False' && startedMs + times.initialReadinessDelayMs > changedMs;
}

export interface Recommendation {
  readonly replicas: number;
  /** Of the target, in percent; undefined for amounts. */
  readonly utilization: number | undefined;
  /** Average use of a Pod, in thousandths. */
  readonly averageMilli: number;
}

export interface MetricInput {
  readonly current: number;
  readonly pods: readonly Pod[];
  readonly samples: ReadonlyMap<string, Sample>;
  readonly grouped: GroupedPods;
  readonly tolerances: Tolerances;
  /** Average use of a Pod that is aimed at, in thousandths; or a share of what each asks for, in percent. */
  readonly target: { readonly averageMilli: number } | { readonly percent: number; requestMilli(pod: Pod): number };
}

/** Throws when nothing can be said. */
export function recommend(input: MetricInput): Recommendation {
  const { pods, grouped, samples, current, tolerances } = input;
  const out = new Set([...grouped.ignored, ...grouped.unready]);
  const known = new Map([...samples].filter(([name]) => !out.has(name)).map(([name, { milli }]) => [name, milli]));
  if (known.size === 0) throw new Error('did not receive metrics for targeted pods (pods might be unready)');
  const first = usage(input, known);
  const scaleUpWithUnready = grouped.unready.length > 0 && first.ratio > 1;
  if (!scaleUpWithUnready && grouped.missing.length === 0) {
    const replicas = within(first.ratio, tolerances) ? current : Math.ceil(first.ratio * grouped.readyCount);
    return { replicas, utilization: first.utilization, averageMilli: first.averageMilli };
  }
  const byName = new Map(pods.map((pod) => [pod.metadata.name ?? '', pod]));
  const whole = (name: string) => wholeTarget(input, byName.get(name));
  if (first.ratio < 1) for (const name of grouped.missing) known.set(name, whole(name));
  else if (first.ratio > 1) for (const name of grouped.missing) known.set(name, 0);
  if (scaleUpWithUnready) for (const name of grouped.unready) known.set(name, 0);
  const second = usage(input, known);
  const crossed = (first.ratio < 1 && second.ratio > 1) || (first.ratio > 1 && second.ratio < 1);
  let replicas = within(second.ratio, tolerances) || crossed ? current : Math.ceil(second.ratio * known.size);
  // What was assumed must not turn growth into shrinking, or the other way round.
  if ((second.ratio < 1 && replicas > current) || (second.ratio > 1 && replicas < current)) replicas = current;
  return { replicas, utilization: first.utilization, averageMilli: first.averageMilli };
}

function within(ratio: number, { up, down }: Tolerances): boolean {
  return ratio >= 1 - down && ratio <= 1 + up;
}

/** A Pod without data is taken to use just what is aimed at, or all it asks for. */
function wholeTarget({ target }: MetricInput, pod: Pod | undefined): number {
  if ('averageMilli' in target) return target.averageMilli;
  return pod ? (target.requestMilli(pod) * Math.max(100, target.percent)) / 100 : 0;
}

function usage({ target, pods }: MetricInput, known: ReadonlyMap<string, number>) {
  const used = [...known.values()].reduce((sum, milli) => sum + milli, 0);
  const averageMilli = known.size === 0 ? 0 : used / known.size;
  if ('averageMilli' in target)
    return { ratio: averageMilli / target.averageMilli, utilization: undefined, averageMilli };
  const asked = pods
    .filter(({ metadata }) => known.has(metadata.name ?? ''))
    .reduce((sum, pod) => sum + target.requestMilli(pod), 0);
  if (asked === 0) throw new Error('no metrics returned matched known pods');
  const utilization = Math.trunc((used * 100) / asked);
  return { ratio: utilization / target.percent, utilization, averageMilli };
}

/** For metrics of something else than Pods: the value against the target, times the Pods that are ready. */
export function recommendByValue(
  {
    valueMilli,
    targetMilli,
    current,
  }: { readonly valueMilli: number; readonly targetMilli: number; readonly current: number },
  { pods, tolerances }: { readonly pods: readonly Pod[]; readonly tolerances: Tolerances },
): number {
  const ratio = valueMilli / targetMilli;
  if (current === 0) return Math.ceil(ratio);
  if (within(ratio, tolerances)) return current;
  const ready = pods.filter((pod) => isPodReady(pod) && !isPodTerminal(pod)).length;
  return Math.ceil(ratio * ready);
}

/** For totals that all replicas share. */
export function recommendByShare(
  {
    totalMilli,
    averageMilli,
    current,
  }: { readonly totalMilli: number; readonly averageMilli: number; readonly current: number },
  tolerances: Tolerances,
): number {
  const ratio = current === 0 ? Number.POSITIVE_INFINITY : totalMilli / (averageMilli * current);
  return within(ratio, tolerances) ? current : Math.ceil(totalMilli / averageMilli);
}
