/**
 * Room on a node: the sum of requests never exceeds allocatable (filter), emptier nodes are preferred (LeastAllocated), and so are
 * nodes whose cpu and memory would be used evenly (BalancedAllocation). Pods that nobody bound through the API do not count.
 */

import { type NodeInfo, podInfoOf } from '../cluster-state.ts';
import { maxNodeScore, type SchedulingPlugin } from '../framework.ts';

const compared = ['cpu', 'memory'] as const;

export const nodeResourcesFit: SchedulingPlugin = {
  name: 'NodeResourcesFit',
  helpedBy: ['NodeAdded', 'NodeChanged', 'PodChanged', 'PodRemoved'],
  prepare(pod) {
    const info = podInfoOf(pod);
    const wanted = Object.entries(info.requests).filter(([, amount]) => amount > 0);
    return {
      filter(node) {
        const reasons = lacking(node, wanted, info.key);
        if (reasons.length === 0) return undefined;
        // Even an empty node would be too small: removing Pods does not help.
        const resolvable = wanted.every(([resource, amount]) => amount <= (node.allocatable[resource] ?? 0));
        return { plugin: 'NodeResourcesFit', reasons, resolvable };
      },
      score(node) {
        let sum = 0;
        let counted = 0;
        for (const resource of compared) {
          const capacity = node.allocatable[resource] ?? 0;
          if (capacity === 0) continue;
          counted++;
          const used = (node.scoredRequested[resource] ?? 0) + (info.scoredRequests[resource] ?? 0);
          if (used <= capacity) sum += Math.floor(((capacity - used) * maxNodeScore) / capacity);
        }
        return counted === 0 ? 0 : Math.floor(sum / counted);
      },
    };
  },
};

function lacking(node: NodeInfo, wanted: readonly (readonly [string, number])[], ownKey: string): string[] {
  const reasons: string[] = [];
  const others = node.pods.size - (node.pods.has(ownKey) ? 1 : 0);
  if (others + 1 > (node.allocatable.pods ?? 0)) reasons.push('Too many pods');
  for (const [resource, amount] of wanted) {
    const free = (node.allocatable[resource] ?? 0) - (node.requested[resource] ?? 0);
    if (amount > free) reasons.push(`Insufficient ${resource}`);
  }
  return reasons;
}

export const nodeResourcesBalancedAllocation: SchedulingPlugin = {
  name: 'NodeResourcesBalancedAllocation',
  helpedBy: [],
  prepare(pod) {
    const info = podInfoOf(pod);
    // A Pod that asks for nothing leaves every node as balanced as it was.
    if (compared.every((resource) => !info.requests[resource])) return undefined;
    return {
      score(node) {
        const fractions: number[] = [];
        for (const resource of compared) {
          const capacity = node.allocatable[resource] ?? 0;
          if (capacity === 0) continue;
          fractions.push(Math.min(1, ((node.requested[resource] ?? 0) + (info.requests[resource] ?? 0)) / capacity));
        }
        const deviation = fractions.length === 2 ? Math.abs(fractions[0]! - fractions[1]!) / 2 : 0;
        return Math.floor((1 - deviation) * maxNodeScore);
      },
    };
  },
};
