/**
 * Why no node would do, in upstream's sentence: `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.`
 * Reasons are counted over the nodes and sorted as text.
 */
import type { Rejection } from './framework.ts';

export interface Diagnosis {
  readonly nodeCount: number;
  /** Set when a plugin ruled out all nodes at once. */
  readonly forAllNodes: Rejection | undefined;
  /** By node name; nodes that no plugin looked at (not asked for by name) are left out. */
  readonly byNode: ReadonlyMap<string, Rejection>;
  /** What the plugin of devices says of a Pod with claims. */
  readonly claims?: string | undefined;
  /** What preemption found, e.g. `no new claims to deallocate, preemption: 0/1 nodes are available: ...`. */
  readonly preemption: string;
}

export function diagnosisMessage(diagnosis: Diagnosis): string {
  if (diagnosis.nodeCount === 0 && !diagnosis.forAllNodes) return 'no nodes available to schedule pods';
  let message = `0/${diagnosis.nodeCount} nodes are available:`;
  if (diagnosis.forAllNodes) message += ` ${diagnosis.forAllNodes.reasons.join(', ')}.`;
  else {
    const counted = countReasons(diagnosis.byNode.values());
    if (counted.length > 0) message += ` ${counted.join(', ')}.`;
  }
  return diagnosis.preemption === '' ? message : `${message} ${diagnosis.preemption}`;
}

/** `['1 Insufficient cpu', '2 node(s) were unschedulable']`. */
export function countReasons(rejections: Iterable<Rejection>): string[] {
  const counts = new Map<string, number>();
  for (const { reasons } of rejections) for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
}

/** Names of the plugins that stood in the way: changes that can help them bring the Pod back into the queue. */
export function rejectingPlugins(diagnosis: Diagnosis): ReadonlySet<string> {
  const names = new Set<string>();
  if (diagnosis.forAllNodes) names.add(diagnosis.forAllNodes.plugin);
  for (const { plugin } of diagnosis.byNode.values()) names.add(plugin);
  return names;
}
