/**
 * Whether the node takes a Pod that was bound to it: the scheduler may have decided on old knowledge, and static Pods never met it.
 * Pure; reasons and messages are upstream's.
 */
import { matchesNodeSelection } from '../../api/core/v1/node-affinity.ts';
import { add, amountsOf, podRequests, type ResourceAmounts } from '../../api/core/v1/pod-resources.ts';
import { tolerates } from '../../api/core/v1/tolerations.ts';
import type { Node, Pod, PodSpec } from '../../api/gen/core-v1.ts';
import { isStaticPod } from './pod-phase.ts';

export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

/** What a Pod asks for. */
export type RequestsOf = (pod: Pod) => ResourceAmounts;

/**
 * Each Pod is asked once for as long as its spec stays the same: whoever lets many Pods in would reckon those that are there again and
 * again.
 */
export function rememberedRequests(): RequestsOf {
  const known = new WeakMap<PodSpec, ResourceAmounts>();
  return (pod) => {
    let requests = known.get(pod.spec);
    if (!requests) {
      requests = podRequests(pod);
      known.set(pod.spec, requests);
    }
    return requests;
  };
}

/** `others` are the Pods that hold resources of the node: all that have not ended. */
export function rejectionOf(
  pod: Pod,
  others: readonly Pod[],
  { node, requestsOf = podRequests }: { readonly node: Node; readonly requestsOf?: RequestsOf | undefined },
): Rejection | undefined {
  return (
    insufficient(pod, others, { node, requestsOf }) ??
    wrongNode(pod, node) ??
    portConflict(pod, others) ??
    untolerated(pod, node) ??
    unsupported(pod, node)
  );
}

function insufficient(
  pod: Pod,
  others: readonly Pod[],
  { node, requestsOf }: { readonly node: Node; readonly requestsOf: RequestsOf },
): Rejection | undefined {
  const allocatable: ResourceAmounts = amountsOf(node.status?.allocatable);
  const pods = allocatable.pods ?? 0;
  if (others.length + 1 > pods) return outOf('pods', 1, others.length, pods);
  const requests = requestsOf(pod);
  const used: Record<string, number> = {};
  for (const other of others) add(used, requestsOf(other));
  for (const [name, amount] of Object.entries(requests)) {
    const capacity = allocatable[name];
    // Extended resources that the node does not have are their device plugin's to refuse.
    if (amount === 0 || (capacity === undefined && name.includes('/'))) continue;
    if ((used[name] ?? 0) + amount > (capacity ?? 0)) return outOf(name, amount, used[name] ?? 0, capacity ?? 0);
  }
  return undefined;
}

function outOf(resource: string, requested: number, used: number, capacity: number): Rejection {
  return {
    reason: `OutOf${resource}`,
    message: `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  };
}

function wrongNode(pod: Pod, node: Node): Rejection | undefined {
  if (matchesNodeSelection(pod, node)) return undefined;
  return predicate('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
}

function predicate(name: string, description: string): Rejection {
  return { reason: name, message: `Predicate ${name} failed: ${description}` };
}

interface UsedPort {
  readonly protocol: string;
  readonly hostIp: string;
  readonly port: number;
}

function hostPorts(pod: Pod): UsedPort[] {
  const containers = [
    ...pod.spec.containers,
    ...(pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always'),
  ];
  return containers.flatMap(({ ports = [] }) =>
    ports
      .filter(({ hostPort }) => hostPort)
      .map(({ protocol = 'TCP', hostIP, hostPort }) => ({ protocol, hostIp: hostIP || '0.0.0.0', port: hostPort! })),
  );
}

function portConflict(pod: Pod, others: readonly Pod[]): Rejection | undefined {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return undefined;
  const taken = others.flatMap(hostPorts);
  const clashes = (a: UsedPort, b: UsedPort) =>
    a.port === b.port &&
    a.protocol === b.protocol &&
    (a.hostIp === b.hostIp || a.hostIp === '0.0.0.0' || b.hostIp === '0.0.0.0');
  if (!wanted.some((port) => taken.some((other) => clashes(port, other)))) return undefined;
  return predicate('NodePorts', "node(s) didn't have free ports for the requested pod ports");
}

function untolerated(pod: Pod, node: Node): Rejection | undefined {
  if (isStaticPod(pod)) return undefined;
  const hits = (node.spec?.taints ?? []).some(
    (taint) =>
      taint.effect === 'NoExecute' && !(pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
  );
  return hits ? predicate('TaintToleration', "node(s) had taints that the pod didn't tolerate") : undefined;
}

function unsupported(pod: Pod, node: Node): Rejection | undefined {
  const system = pod.spec.os?.name;
  if (system && system !== 'linux') {
    return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" };
  }
  const isStrict = pod.spec.securityContext?.supplementalGroupsPolicy === 'Strict';
  if (isStrict && !node.status?.features?.supplementalGroupsPolicy) {
    const message = 'SupplementalGroupsPolicy=Strict is not supported in this node';
    return { reason: 'SupplementalGroupsPolicyNotSupported', message };
  }
  const selected = pod.spec.nodeSelector?.['kubernetes.io/os'];
  if (selected && selected !== (node.metadata.labels?.['kubernetes.io/os'] ?? 'linux')) {
    return {
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    };
  }
  return undefined;
}
