/**
 * Conditions of a status: one entry a type, `lastTransitionTime` changing only when `status` does. Works on every kind's
 * condition type, for they share these fields. Never changes the list it is given.
 */
import { formatTime } from './time.ts';

export interface ConditionLike {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
}

export function findCondition<C extends { readonly type: string }>(
  conditions: readonly C[] | undefined,
  type: C['type'],
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function isConditionTrue(conditions: readonly ConditionLike[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/**
 * The list with `condition` put in place of the one of its type, or added at the end. An unset `lastTransitionTime` becomes
 * `nowMs` where the status changes and stays as it was where not. Returns the very same list when nothing changes.
 */
export function withCondition<C extends ConditionLike>(
  conditions: readonly C[] | undefined,
  condition: C,
  nowMs: number,
): readonly C[] {
  const list = conditions ?? [];
  const index = list.findIndex((other) => other.type === condition.type);
  const previous = list[index];
  const keepsTime = previous !== undefined && previous.status === condition.status;
  const lastTransitionTime = keepsTime
    ? previous.lastTransitionTime
    : (condition.lastTransitionTime ?? formatTime(nowMs));
  const next: C = { ...condition, lastTransitionTime };
  if (previous === undefined) return [...list, next];
  return sameFields(previous, next) ? list : list.with(index, next);
}

/** The list without the condition of that type; the same list when it has none. */
export function withoutCondition<C extends { readonly type: string }>(
  conditions: readonly C[] | undefined,
  type: C['type'],
): readonly C[] {
  const list = conditions ?? [];
  return list.some((condition) => condition.type === type) ? list.filter((condition) => condition.type !== type) : list;
}

function sameFields(a: object, b: object): boolean {
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].every((key) => left[key] === right[key]);
}
