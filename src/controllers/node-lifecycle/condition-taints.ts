/**
 * The taints that a Node's conditions ask for: pure. NoSchedule taints follow the conditions at once; NoExecute taints, which drive
 * Pods away, are put on under rate limits (`zones.ts`).
 */
import { wellKnownTaints } from '../../api/core/v1/tolerations.ts';
import type { Node, Taint } from '../../api/gen/core-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';

export const notReadyNoExecute: Taint = { key: wellKnownTaints.notReady, effect: 'NoExecute' };
export const unreachableNoExecute: Taint = { key: wellKnownTaints.unreachable, effect: 'NoExecute' };

/** Condition, status, and the NoSchedule taint that they mean. */
const byCondition: readonly (readonly [type: string, status: string, key: string])[] = [
  ['Ready', 'False', wellKnownTaints.notReady],
  ['Ready', 'Unknown', wellKnownTaints.unreachable],
  ['MemoryPressure', 'True', wellKnownTaints.memoryPressure],
  ['DiskPressure', 'True', wellKnownTaints.diskPressure],
  ['NetworkUnavailable', 'True', wellKnownTaints.networkUnavailable],
  ['PIDPressure', 'True', wellKnownTaints.pidPressure],
];

const managedKeys: ReadonlySet<string> = new Set([
  ...byCondition.map(([, , key]) => key),
  wellKnownTaints.unschedulable,
]);

export interface TaintChange {
  readonly add: readonly Taint[];
  readonly remove: readonly Taint[];
}

/** `now` is RFC 3339. Taints of other keys and effects are others' business. */
export function planNoScheduleTaints(node: Node, now: string): TaintChange {
  const wanted = new Set(
    byCondition
      .filter(([type, status]) => findCondition(node.status?.conditions, type)?.status === status)
      .map(([, , key]) => key),
  );
  if (node.spec.unschedulable) wanted.add(wellKnownTaints.unschedulable);
  const present = (node.spec.taints ?? []).filter(({ key, effect }) => effect === 'NoSchedule' && managedKeys.has(key));
  return {
    add: [...wanted]
      .filter((key) => !present.some((taint) => taint.key === key))
      .map((key) => ({ key, effect: 'NoSchedule', timeAdded: now })),
    remove: present.filter(({ key }) => !wanted.has(key)),
  };
}

/** The NoExecute taint for a Ready condition, and the one that it replaces. */
export function noExecuteTaints(ready: string | undefined): { readonly want: Taint; readonly drop: Taint } | undefined {
  if (ready === 'False') return { want: notReadyNoExecute, drop: unreachableNoExecute };
  if (ready === 'Unknown') return { want: unreachableNoExecute, drop: notReadyNoExecute };
  return undefined;
}
