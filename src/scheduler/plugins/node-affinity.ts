/** A Pod's node selector and affinity say which nodes it may go to, and which it would rather. */
import { matchesNodeSelection, pinnedNodeNames, preferredNodeWeight } from '../../api/core/v1/node-affinity.ts';
import { normalizeByHighest, type SchedulingPlugin } from '../framework.ts';

export const nodeAffinity: SchedulingPlugin = {
  name: 'NodeAffinity',
  weight: 2,
  helpedBy: ['NodeAdded', 'NodeChanged', 'PodChanged'],
  prepare(pod) {
    const affinity = pod.spec.affinity?.nodeAffinity;
    const selects =
      pod.spec.nodeSelector !== undefined || affinity?.requiredDuringSchedulingIgnoredDuringExecution !== undefined;
    const prefers = (affinity?.preferredDuringSchedulingIgnoredDuringExecution?.length ?? 0) > 0;
    if (!selects && !prefers) return undefined;
    const pinned = pinnedNodeNames(pod);
    const rejection = {
      plugin: 'NodeAffinity',
      reasons: ["node(s) didn't match Pod's node affinity/selector"],
      resolvable: false,
    };
    if (pinned?.size === 0) return { ...rejection, reasons: ['pod affinity terms conflict'] };
    return {
      ...(pinned ? { onlyNodes: pinned } : {}),
      ...(selects ? { filter: (node) => (matchesNodeSelection(pod, node.node) ? undefined : rejection) } : {}),
      ...(prefers
        ? {
            score: (node) => preferredNodeWeight(pod, node.node),
            normalize: (scores) => normalizeByHighest(scores, false),
          }
        : {}),
    };
  },
};
