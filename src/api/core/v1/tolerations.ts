/**
 * Which taints a Pod tolerates: the rule that the scheduler, the kubelet's admission, the node lifecycle and the DaemonSet
 * controllers share. Pure; it never looks at a Node or a clock.
 */
import type { Pod, Taint, TaintEffect, Toleration } from '../../gen/core-v1.ts';

/** Label and taint keys that components agree on. */
export const wellKnownTaints = {
  notReady: 'node.kubernetes.io/not-ready',
  unreachable: 'node.kubernetes.io/unreachable',
  unschedulable: 'node.kubernetes.io/unschedulable',
  memoryPressure: 'node.kubernetes.io/memory-pressure',
  diskPressure: 'node.kubernetes.io/disk-pressure',
  pidPressure: 'node.kubernetes.io/pid-pressure',
  networkUnavailable: 'node.kubernetes.io/network-unavailable',
  outOfService: 'node.kubernetes.io/out-of-service',
  shutdown: 'node.cloudprovider.kubernetes.io/shutdown',
  uninitialized: 'node.cloudprovider.kubernetes.io/uninitialized',
} as const;

/**
 * Whether one toleration covers one taint. An empty effect covers every effect, an empty key every key (with operator Exists);
 * `Lt` and `Gt` compare decimal integers and cover nothing when either side is none.
 */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  switch (toleration.operator || 'Equal') {
    case 'Exists':
      return true;
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '');
    case 'Lt':
      return compare(taint.value, toleration.value, (taintValue, limit) => taintValue < limit);
    case 'Gt':
      return compare(taint.value, toleration.value, (taintValue, limit) => taintValue > limit);
    default:
      return false;
  }
}

export function isTolerated(taint: Taint, tolerations: readonly Toleration[] | undefined): boolean {
  return tolerations?.some((toleration) => tolerates(toleration, taint)) ?? false;
}

/** The first taint with one of `effects` that no toleration covers; undefined when all are covered. */
export function untoleratedTaint(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly TaintEffect[],
): Taint | undefined {
  return taints?.find((taint) => effects.includes(taint.effect) && !isTolerated(taint, tolerations));
}

/**
 * How long a Pod may stay under NoExecute taints: the smallest `tolerationSeconds` among the tolerations in use, `Infinity` when
 * none of them is limited, 0 when a taint is not tolerated at all. Negative seconds count as 0.
 */
export function tolerationSeconds(pod: Pod, taints: readonly Taint[]): number {
  let smallest = Number.POSITIVE_INFINITY;
  for (const taint of taints) {
    if (taint.effect !== 'NoExecute') continue;
    // As upstream: the first toleration that matches decides for a taint.
    const used = pod.spec.tolerations?.find((toleration) => tolerates(toleration, taint));
    if (!used) return 0;
    if (typeof used.tolerationSeconds === 'number') smallest = Math.min(smallest, Math.max(0, used.tolerationSeconds));
  }
  return smallest;
}

/** Whether two taints are the same one: value and time may differ. */
export function isSameTaint(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect;
}

function compare(
  taintValue: string | undefined,
  limit: string | undefined,
  holds: (taintValue: bigint, limit: bigint) => boolean,
): boolean {
  const decimal = /^-?(0|[1-9][0-9]*)$/;
  if (!decimal.test(taintValue ?? '') || !decimal.test(limit ?? '')) return false;
  return holds(BigInt(taintValue!), BigInt(limit!));
}
