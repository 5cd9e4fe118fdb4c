/** A Pod is not tried before all its scheduling gates are gone. */
import type { SchedulingPlugin } from '../framework.ts';

export const schedulingGates: SchedulingPlugin = {
  name: 'SchedulingGates',
  helpedBy: ['PodChanged'],
  mayEnqueue(pod) {
    const gates = pod.spec.schedulingGates ?? [];
    if (gates.length === 0) return undefined;
    const names = gates.map((gate) => gate.name).join(' ');
    return { plugin: 'SchedulingGates', reasons: [`waiting for scheduling gates: [${names}]`], resolvable: false };
  },
};
