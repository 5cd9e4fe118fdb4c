/** A cordoned node takes only Pods that tolerate that. */
import { isTolerated, wellKnownTaints } from '../../api/core/v1/tolerations.ts';
import type { SchedulingPlugin } from '../framework.ts';

export const nodeUnschedulable: SchedulingPlugin = {
  name: 'NodeUnschedulable',
  helpedBy: ['NodeAdded', 'NodeChanged'],
  prepare(pod) {
    const taint = { key: wellKnownTaints.unschedulable, effect: 'NoSchedule' } as const;
    if (isTolerated(taint, pod.spec.tolerations)) return undefined;
    const rejection = { plugin: 'NodeUnschedulable', reasons: ['node(s) were unschedulable'], resolvable: false };
    return { filter: (node) => (node.isUnschedulable ? rejection : undefined) };
  },
};
