/**
 * When a Pod must leave its Node because of the Node's NoExecute taints: pure. A schedule once begun is kept as long as it is no
 * later than a new one would be, so that a taint changing its value does not give Pods new time.
 */
import { tolerationSeconds } from '../../api/core/v1/tolerations.ts';
import type { Pod, Taint } from '../../api/gen/core-v1.ts';

export interface Schedule {
  readonly podUid: string;
  readonly beganAtMs: number;
  readonly dueAtMs: number;
}

/** undefined: the Pod may stay. A due time that has passed means now. */
export function planEviction(
  pod: Pod,
  taints: readonly Taint[] | undefined,
  scheduled: Schedule | undefined,
  nowMs: number,
): Schedule | undefined {
  const noExecute = (taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  if (noExecute.length === 0 || pod.metadata.deletionTimestamp) return undefined;
  const seconds = tolerationSeconds(pod, noExecute);
  if (seconds === Number.POSITIVE_INFINITY) return undefined;
  const podUid = pod.metadata.uid ?? '';
  const present = scheduled?.podUid === podUid ? scheduled : undefined;
  const beganAtMs = present?.beganAtMs ?? nowMs;
  if (seconds === 0) return { podUid, beganAtMs, dueAtMs: nowMs };
  const dueAtMs = beganAtMs + seconds * 1000;
  return present && present.dueAtMs <= dueAtMs ? present : { podUid, beganAtMs, dueAtMs };
}
