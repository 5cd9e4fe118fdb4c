/** A Pod that names its node goes to no other. */
import type { SchedulingPlugin } from '../framework.ts';

export const nodeName: SchedulingPlugin = {
  name: 'NodeName',
  helpedBy: ['NodeAdded'],
  prepare(pod) {
    const wanted = pod.spec.nodeName;
    if (!wanted) return undefined;
    const rejection = {
      plugin: 'NodeName',
      reasons: ["node(s) didn't match the requested node name"],
      resolvable: false,
    };
    return { filter: (node) => (node.name === wanted ? undefined : rejection) };
  },
};
