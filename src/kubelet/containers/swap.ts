/**
 * How much swap space a container may use. Limited: a Burstable container that asks for less memory than its limit has the share of the swap
 * that its request is of the memory; all others, and critical Pods, have none. Pure; the arithmetic is upstream's.
 *
 *     node 4Gi memory, 2Gi swap; request 1Gi: 1/4 of 2Gi = 512Mi
 */
import { amountOf } from '../../api/core/v1/pod-resources.ts';
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { isCriticalPod } from '../pods/pod-phase.ts';
import type { LinuxResources } from '../runtime/runtime.ts';

export const swapBehaviors = ['NoSwap', 'LimitedSwap', 'UnlimitedSwap'] as const;

export type SwapBehavior = (typeof swapBehaviors)[number];

export interface SwapSettings {
  readonly behavior: SwapBehavior;
  readonly capacityBytes: number;
}

export interface SwapOptions {
  readonly swap: SwapSettings;
  readonly memoryCapacityBytes: number;
  /** cgroup v2. In v1 memory and swap have one limit together: the Pod's memory limit. */
  readonly isUnified: boolean;
}

const unlimited = -1;

export function swapResources(
  pod: Pod,
  container: Container,
  { swap, memoryCapacityBytes, isUnified }: SwapOptions,
): Pick<LinuxResources, 'memorySwapLimitBytes' | 'unified'> {
  const isUnlimited = swap.behavior === 'UnlimitedSwap';
  if (!isUnified) {
    const limit = container.resources?.limits?.memory;
    if (isUnlimited) return { memorySwapLimitBytes: unlimited };
    return limit === undefined ? {} : { memorySwapLimitBytes: amountOf('memory', limit) };
  }
  if (isUnlimited) return { unified: { 'memory.swap.max': 'max' } };
  const bytes =
    swap.behavior === 'LimitedSwap' ? limitedSwapBytes(pod, container, swap.capacityBytes, memoryCapacityBytes) : 0;
  return { unified: { 'memory.swap.max': String(bytes) } };
}

function limitedSwapBytes(pod: Pod, { resources }: Container, swapBytes: number, memoryBytes: number): number {
  const amount = (quantity: string | undefined) => (quantity === undefined ? 0 : amountOf('memory', quantity));
  const request = amount(resources?.requests?.memory);
  const asksForAll = request === amount(resources?.limits?.memory);
  if (isCriticalPod(pod) || qosClass(pod) !== 'Burstable' || asksForAll || memoryBytes <= 0 || request > memoryBytes)
    return 0;
  return Math.trunc((request / memoryBytes) * swapBytes);
}
