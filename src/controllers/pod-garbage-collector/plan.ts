/**
 * Which Pods nobody else will ever remove: pure. Finished ones beyond the threshold; those bound to Nodes that are gone; those
 * deleted before they were bound; those stuck on a Node that its administrator declared out of service.
 */
import { isPodTerminal } from '../../api/core/v1/pod-status.ts';
import { isTolerated, wellKnownTaints } from '../../api/core/v1/tolerations.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';

/** Finished Pods beyond the threshold, the oldest first; evicted ones before all others. */
export function planTerminated(pods: readonly Pod[], threshold: number): readonly Pod[] {
  if (threshold <= 0) return [];
  const finished = pods.filter((pod) => isFinished(pod));
  const surplus = finished.length - threshold;
  if (surplus <= 0) return [];
  const isEvicted = ({ status }: Pod) => status?.reason === 'Evicted';
  return finished
    .sort(
      (a, b) =>
        Number(isEvicted(b)) - Number(isEvicted(a)) ||
        (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '') ||
        (a.metadata.name ?? '').localeCompare(b.metadata.name ?? ''),
    )
    .slice(0, surplus);
}

/** In no phase in which something may still run. */
function isFinished({ status }: Pod): boolean {
  return status?.phase !== undefined && !['Pending', 'Running', 'Unknown'].includes(status.phase);
}

/** Being deleted on a Node that is not ready and out of service, which they do not tolerate. */
export function planOutOfService(nodes: readonly Node[], podsOn: (nodeName: string) => readonly Pod[]): readonly Pod[] {
  return nodes.flatMap((node) => {
    const taint = node.spec.taints?.find(({ key }) => key === wellKnownTaints.outOfService);
    const ready = findCondition(node.status?.conditions, 'Ready')?.status === 'True';
    if (!taint || ready) return [];
    const stuck = (pod: Pod) =>
      pod.metadata.deletionTimestamp !== undefined && !isTolerated(taint, pod.spec.tolerations);
    return podsOn(node.metadata.name ?? '').filter(stuck);
  });
}

/** Being deleted and never bound: no kubelet will confirm their end. */
export function planUnscheduled(pods: readonly Pod[]): readonly Pod[] {
  return pods.filter(({ metadata, spec }) => metadata.deletionTimestamp !== undefined && !spec.nodeName);
}

/** Names of Nodes that Pods are bound to and that do not exist. */
export function missingNodes(pods: readonly Pod[], exists: (nodeName: string) => boolean): ReadonlySet<string> {
  return new Set(pods.map(({ spec }) => spec.nodeName ?? '').filter((name) => name !== '' && !exists(name)));
}

/** Whether a Pod that is removed must be shown as failed first: nobody else will say how it ended. */
export function mustFailFirst(pod: Pod): boolean {
  return !isPodTerminal(pod);
}
