/** Which conditions of a Pod are the kubelet's, and which changes of a Pod are not: the echo of what the kubelet itself has written. */
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { resizeConditionTypes } from '../resize/resize-conditions.ts';
import { restartingCondition } from './restart-all.ts';
import { sameJson } from './status-writer.ts';

export const ownConditions = new Set([
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  restartingCondition,
  ...resizeConditionTypes,
]);

/** Whether two versions of a Pod differ only in what the kubelet itself writes. */
export function isSameToKubelet(a: Pod, b: Pod): boolean {
  const [x, y] = [a.metadata, b.metadata];
  const isSameSpec = x.generation !== undefined ? x.generation === y.generation : sameJson(a.spec, b.spec);
  if (
    !isSameSpec ||
    x.deletionTimestamp !== y.deletionTimestamp ||
    x.deletionGracePeriodSeconds !== y.deletionGracePeriodSeconds
  )
    return false;
  if (!sameJson(x.labels, y.labels) || !sameJson(x.annotations, y.annotations)) return false;
  const foreign = (pod: Pod) => (pod.status?.conditions ?? []).filter(({ type }) => !ownConditions.has(type));
  return sameJson(foreign(a), foreign(b));
}

/** As our own status had them, new ones last: a list that only changes its order is no change. */
export function inOrder(
  conditions: NonNullable<PodStatus['conditions']>,
  own: PodStatus,
): NonNullable<PodStatus['conditions']> {
  const position = (type: string) => {
    const index = own.conditions?.findIndex((condition) => condition.type === type) ?? -1;
    return index < 0 ? Number.MAX_SAFE_INTEGER : index;
  };
  return [...conditions].sort((a, b) => position(a.type) - position(b.type));
}
