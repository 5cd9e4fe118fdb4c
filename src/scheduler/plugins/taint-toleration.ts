/** A node's taints keep away Pods that do not tolerate them, or let it be preferred less. */
import { tolerates, untoleratedTaint } from '../../api/core/v1/tolerations.ts';
import { normalizeByHighest, type SchedulingPlugin } from '../framework.ts';

export const taintToleration: SchedulingPlugin = {
  name: 'TaintToleration',
  weight: 3,
  helpedBy: ['NodeAdded', 'NodeChanged', 'PodChanged'],
  prepare(pod) {
    const { tolerations } = pod.spec;
    const rejection = { plugin: 'TaintToleration', reasons: ['node(s) had untolerated taint(s)'], resolvable: false };
    const soft = (tolerations ?? []).filter(({ effect }) => !effect || effect === 'PreferNoSchedule');
    return {
      filter: (node) =>
        untoleratedTaint(node.node.spec?.taints, tolerations, ['NoSchedule', 'NoExecute']) ? rejection : undefined,
      score: (node) =>
        (node.node.spec?.taints ?? []).filter(
          (taint) => taint.effect === 'PreferNoSchedule' && !soft.some((toleration) => tolerates(toleration, taint)),
        ).length,
      normalize: (scores) => normalizeByHighest(scores, true),
    };
  },
};
