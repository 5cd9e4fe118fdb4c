/** Two Pods on a node cannot have the same port of the host. */
import type { ContainerPort } from '../../api/gen/core-v1.ts';
import type { SchedulingPlugin } from '../framework.ts';

export const nodePorts: SchedulingPlugin = {
  name: 'NodePorts',
  helpedBy: ['NodeAdded', 'PodRemoved'],
  prepare(pod, state) {
    const { hostPorts } = state.infoOf(pod);
    if (hostPorts.length === 0) return undefined;
    const rejection = {
      plugin: 'NodePorts',
      reasons: ["node(s) didn't have free ports for the requested pod ports"],
      resolvable: true,
    };
    return {
      filter(node) {
        for (const other of node.pods.values())
          for (const used of other.hostPorts) if (hostPorts.some((port) => portsConflict(port, used))) return rejection;
        return undefined;
      },
    };
  },
};

/** Same protocol and port, and addresses that overlap: an unset one stands for all. */
function portsConflict(a: ContainerPort, b: ContainerPort): boolean {
  if (a.hostPort !== b.hostPort || (a.protocol ?? 'TCP') !== (b.protocol ?? 'TCP')) return false;
  const everywhere = (ip: string | undefined) => !ip || ip === '0.0.0.0' || ip === '::';
  return everywhere(a.hostIP) || everywhere(b.hostIP) || a.hostIP === b.hostIP;
}
