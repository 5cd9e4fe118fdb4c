/** TaintNodesByCondition: a new Node takes no Pods until the node controller has seen it ready. */
import type { Node } from '../../../api/gen/core-v1.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import type { AdmissionPlugin } from '../admission.ts';
import { handling } from '../plugin-context.ts';

const key = 'node.kubernetes.io/not-ready';

export function taintNodesByCondition(): AdmissionPlugin {
  return {
    name: 'TaintNodesByCondition',
    handles: handling(['CREATE'], '', 'nodes'),
    admit(attributes) {
      const node = attributes.object as Draft<Node>;
      node.spec ??= {};
      if (node.spec.taints?.some((taint) => taint.key === key && taint.effect === 'NoSchedule')) return;
      node.spec.taints = [...(node.spec.taints ?? []), { key, effect: 'NoSchedule' }];
    },
  };
}
