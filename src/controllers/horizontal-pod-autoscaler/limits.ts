/**
 * From what the metrics call for to what is done: pure. Recommendations of the recent past hold back a change of mind
 * (stabilization), policies bound the speed, and the user's minimum and maximum have the last word.
 */
import type { HorizontalPodAutoscaler, HPAScalingRules } from '../../api/gen/autoscaling-v2.ts';

export interface TimedReplicas {
  readonly atMs: number;
  readonly replicas: number;
}

/** What is remembered of one autoscaler. */
export interface History {
  readonly recommendations: readonly TimedReplicas[];
  /** By how much it grew and shrank, and when. */
  readonly ups: readonly TimedReplicas[];
  readonly downs: readonly TimedReplicas[];
}

export const noHistory: History = { recommendations: [], ups: [], downs: [] };

export interface Outcome {
  readonly replicas: number;
  readonly able: { readonly reason: string; readonly message: string };
  readonly limited: { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string };
  readonly recommendations: readonly TimedReplicas[];
}

const longestMemoryMs = 3_600_000;
const defaultUp: HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};
const defaultDown: HPAScalingRules = {
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
};

export function planReplicas(
  { spec }: HorizontalPodAutoscaler,
  wanted: { readonly current: number; readonly recommended: number },
  history: History,
  times: { readonly nowMs: number; readonly downscaleStabilizationMs: number },
): Outcome {
  const { nowMs } = times;
  const up = { ...defaultUp, ...defined(spec.behavior?.scaleUp) };
  const down = { ...defaultDown, ...defined(spec.behavior?.scaleDown) };
  const windowMs = (rules: HPAScalingRules, otherwiseMs: number) =>
    rules.stabilizationWindowSeconds === undefined ? otherwiseMs : rules.stabilizationWindowSeconds * 1000;
  const recent = (withinMs: number) =>
    history.recommendations.filter(({ atMs }) => atMs > nowMs - withinMs).map(({ replicas }) => replicas);
  const floor = Math.min(wanted.recommended, ...recent(windowMs(up, 0)));
  const ceiling = Math.max(wanted.recommended, ...recent(windowMs(down, times.downscaleStabilizationMs)));
  const stable = Math.min(Math.max(wanted.current, floor), ceiling);
  const recommendations = [...history.recommendations, { atMs: nowMs, replicas: wanted.recommended }].filter(
    ({ atMs }) => atMs > nowMs - longestMemoryMs,
  );
  return {
    ...bound(spec, wanted.current, stable, { up, down, history, nowMs }),
    able: ability(stable, wanted.recommended),
    recommendations,
  };
}

function defined(rules: HPAScalingRules | undefined): Partial<HPAScalingRules> {
  return Object.fromEntries(Object.entries(rules ?? {}).filter(([, value]) => value !== undefined));
}

function ability(stable: number, recommended: number): Outcome['able'] {
  if (stable === recommended) return { reason: 'ReadyForNewScale', message: 'recommended size matches current size' };
  const [which, other] = stable > recommended ? ['higher', 'highest'] : ['lower', 'lowest'];
  return {
    reason: stable > recommended ? 'ScaleDownStabilized' : 'ScaleUpStabilized',
    message: `recent recommendations were ${which} than current one, applying the ${other} recent recommendation`,
  };
}

interface Rules {
  readonly up: HPAScalingRules;
  readonly down: HPAScalingRules;
  readonly history: History;
  readonly nowMs: number;
}

function bound(
  spec: HorizontalPodAutoscaler['spec'],
  current: number,
  stable: number,
  rules: Rules,
): Pick<Outcome, 'replicas' | 'limited'> {
  const min = spec.minReplicas ?? 1;
  const max = spec.maxReplicas;
  const tooMany = {
    status: 'True' as const,
    reason: 'TooManyReplicas',
    message: 'the desired replica count is more than the maximum replica count',
  };
  const tooFew = {
    status: 'True' as const,
    reason: 'TooFewReplicas',
    message: 'the desired replica count is less than the minimum replica count',
  };
  const fine = {
    status: 'False' as const,
    reason: 'DesiredWithinRange',
    message: 'the desired count is within the acceptable range',
  };
  if (stable > current) {
    const limit = Math.max(current, upLimit(current, rules));
    if (stable <= Math.min(limit, max)) return { replicas: stable, limited: fine };
    if (limit < max) {
      const message = 'the desired replica count is increasing faster than the maximum scale rate';
      return { replicas: limit, limited: { status: 'True', reason: 'ScaleUpLimit', message } };
    }
    return { replicas: max, limited: tooMany };
  }
  if (stable < current) {
    const limit = Math.min(current, downLimit(current, rules));
    if (stable >= Math.max(limit, min)) return { replicas: stable, limited: fine };
    if (limit > min) {
      const message = 'the desired replica count is decreasing faster than the maximum scale rate';
      return { replicas: limit, limited: { status: 'True', reason: 'ScaleDownLimit', message } };
    }
    return { replicas: min, limited: tooFew };
  }
  if (stable > max) return { replicas: max, limited: tooMany };
  if (stable < min) return { replicas: min, limited: tooFew };
  return { replicas: stable, limited: fine };
}

/** Changes within a policy's period count against it. */
function upLimit(current: number, { up, history, nowMs }: Rules): number {
  if (up.selectPolicy === 'Disabled') return current;
  const limits = (up.policies ?? []).map(({ type, value, periodSeconds }) => {
    const atStart =
      current - changeWithin(history.ups, periodSeconds, nowMs) + changeWithin(history.downs, periodSeconds, nowMs);
    return type === 'Pods' ? atStart + value : Math.ceil(atStart * (1 + value / 100));
  });
  return up.selectPolicy === 'Min' ? Math.min(...limits) : Math.max(...limits);
}

function downLimit(current: number, { down, history, nowMs }: Rules): number {
  if (down.selectPolicy === 'Disabled') return current;
  const limits = (down.policies ?? []).map(({ type, value, periodSeconds }) => {
    const atStart =
      current - changeWithin(history.ups, periodSeconds, nowMs) + changeWithin(history.downs, periodSeconds, nowMs);
    return type === 'Pods' ? atStart - value : Math.floor(atStart * (1 - value / 100));
  });
  return down.selectPolicy === 'Min' ? Math.max(...limits) : Math.min(...limits);
}

function changeWithin(changes: readonly TimedReplicas[], periodSeconds: number, nowMs: number): number {
  return changes
    .filter(({ atMs }) => atMs > nowMs - periodSeconds * 1000)
    .reduce((sum, { replicas }) => sum + replicas, 0);
}

/** The history with a change of size that was made. */
export function withChange(
  history: History,
  { before, after, atMs }: { readonly before: number; readonly after: number; readonly atMs: number },
): History {
  const keep = (changes: readonly TimedReplicas[]) =>
    changes.filter((earlier) => earlier.atMs > atMs - longestMemoryMs);
  const change = { atMs, replicas: Math.abs(after - before) };
  if (after > before) return { ...history, ups: [...keep(history.ups), change] };
  return after < before ? { ...history, downs: [...keep(history.downs), change] } : history;
}
