/**
 * The simple questions to a node: is it open for Pods, is it the one asked for by name, does the Pod tolerate its taints, is it one
 * that the Pod's selector and affinity ask for, are the Pod's host ports free, may the Pod be scheduled yet.
 */
import { matchesNodeSelection, pinnedNodeNames, preferredNodeWeight } from '../../api/core/v1/node-affinity.ts';
import { isTolerated, tolerates, untoleratedTaint, wellKnownTaints } from '../../api/core/v1/tolerations.ts';
import type { ContainerPort } from '../../api/gen/core-v1.ts';
import { podInfoOf } from '../cluster-state.ts';
import { normalizeByHighest, type SchedulingPlugin } from '../framework.ts';

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

export const nodeUnschedulable: SchedulingPlugin = {
  name: 'NodeUnschedulable',
  helpedBy: ['NodeAdded', 'NodeChanged'],
  prepare(pod) {
    const taint = { key: wellKnownTaints.unschedulable, effect: 'NoSchedule' } as const;
    if (isTolerated(taint, pod.spec.tolerations)) return undefined;
    const rejection = { plugin: 'NodeUnschedulable', reasons: ['node(s) were unschedulable'], resolvable: false };
    return { filter: (node) => (node.node.spec?.unschedulable ? rejection : undefined) };
  },
};

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

export const nodePorts: SchedulingPlugin = {
  name: 'NodePorts',
  helpedBy: ['NodeAdded', 'PodRemoved'],
  prepare(pod) {
    const { hostPorts } = podInfoOf(pod);
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
