/** A node's taints keep away Pods that do not tolerate them, or let it be preferred less. */
import { isTolerated, tolerates } from '../../api/core/v1/tolerations.ts';
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
      filter({ hardTaints }) {
        for (const taint of hardTaints) if (!isTolerated(taint, tolerations)) return rejection;
        return undefined;
      },
      score({ softTaints }) {
        if (softTaints.length === 0) return 0;
        return softTaints.filter((taint) => !soft.some((toleration) => tolerates(toleration, taint))).length;
      },
      normalize: (scores) => normalizeByHighest(scores, true),
    };
  },
};
