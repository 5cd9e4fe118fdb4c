/**
 * Room on a node: the sum of requests never exceeds allocatable (filter), emptier nodes are preferred (LeastAllocated), and so are
 * nodes whose cpu and memory would be used evenly (BalancedAllocation). Pods that nobody bound through the API do not count.
 */

import type { NodeInfo } from '../cluster-state.ts';
import { maxNodeScore, type SchedulingPlugin } from '../framework.ts';

export const nodeResourcesFit: SchedulingPlugin = {
  name: 'NodeResourcesFit',
  helpedBy: ['NodeAdded', 'NodeChanged', 'PodChanged', 'PodRemoved'],
  prepare(pod, state) {
    const info = state.infoOf(pod);
    const wanted = Object.entries(info.requests).filter(([, amount]) => amount > 0);
    const { cpu = 0, memory = 0 } = info.scoredRequests;
    return {
      filter(node) {
        if (hasRoom(node, wanted)) return undefined;
        const reasons = lacking(node, wanted, info.key);
        if (reasons.length === 0) return undefined;
        // Even an empty node would be too small: removing Pods does not help.
        const resolvable = wanted.every(([resource, amount]) => amount <= (node.allocatable[resource] ?? 0));
        return { plugin: 'NodeResourcesFit', reasons, resolvable };
      },
      score(node) {
        const { allocatable, scoredRequested: used } = node;
        const [cpus, bytes] = [allocatable.cpu ?? 0, allocatable.memory ?? 0];
        const sum = freeShare(cpus, (used.cpu ?? 0) + cpu) + freeShare(bytes, (used.memory ?? 0) + memory);
        const counted = (cpus === 0 ? 0 : 1) + (bytes === 0 ? 0 : 1);
        return counted === 0 ? 0 : Math.floor(sum / counted);
      },
    };
  },
};

/** What would be left, in points; of a resource that the node does not have, none. */
function freeShare(capacity: number, used: number): number {
  return capacity === 0 || used > capacity ? 0 : Math.floor(((capacity - used) * maxNodeScore) / capacity);
}

/** Whether nothing is lacking, without saying what: most nodes have room, and all are asked. */
function hasRoom({ pods, allocatable, requested }: NodeInfo, wanted: readonly (readonly [string, number])[]): boolean {
  if (pods.size >= (allocatable.pods ?? 0)) return false;
  for (const [resource, amount] of wanted)
    if (amount > (allocatable[resource] ?? 0) - (requested[resource] ?? 0)) return false;
  return true;
}

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
  prepare(pod, state) {
    const { cpu = 0, memory = 0 } = state.infoOf(pod).requests;
    // A Pod that asks for nothing leaves every node as balanced as it was.
    if (!cpu && !memory) return undefined;
    return {
      score({ allocatable, requested }) {
        const [cpus, bytes] = [allocatable.cpu ?? 0, allocatable.memory ?? 0];
        if (cpus === 0 || bytes === 0) return maxNodeScore;
        const cpuUsed = Math.min(1, ((requested.cpu ?? 0) + cpu) / cpus);
        const memoryUsed = Math.min(1, ((requested.memory ?? 0) + memory) / bytes);
        return Math.floor((1 - Math.abs(cpuUsed - memoryUsed) / 2) * maxNodeScore);
      },
    };
  },
};
