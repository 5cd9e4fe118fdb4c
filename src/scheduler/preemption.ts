/**
 * Making room for a more important Pod: on which node would the Pod fit if less important Pods went, and which Pods need to go. Of all
 * candidates the one is taken that breaks the fewest disruption budgets, then whose victims matter least. It only chooses; the
 * scheduler evicts.
 */

import { isPodTerminating } from '../api/core/v1/pod-status.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import type { ClusterState, NodeInfo } from './cluster-state.ts';
import { countReasons, type Diagnosis } from './diagnosis.ts';
import { isRejection, type Rejection, type SchedulingProfile } from './framework.ts';
import { filterNode, objectionOfNominated, preparePod, priorityOf } from './placement.ts';
import type { PodInfo } from './pod-info.ts';

export interface Victims {
  readonly node: NodeInfo;
  readonly pods: readonly Pod[];
  /** How many of them a disruption budget would protect. */
  readonly violations: number;
}

export type PreemptionOutcome =
  | { readonly victims: Victims; readonly message: '' }
  /** With the text for the Pod's condition, and whether the Pod may go on waiting for the node it is nominated to. */
  | { readonly victims: undefined; readonly message: string; readonly keepsNomination: boolean };

/**
 * A Pod that a plugin rules out on all nodes before the plugin of resource claims has seen it: upstream's then misses its own notes, and
 * preemption, which comes after it, is not asked.
 */
const neverPrepared: PreemptionOutcome = { victims: undefined, message: 'not found', keepsNomination: true };

/** It has made its notes before it rules anything out. */
const claimsPlugin = 'DynamicResources';

/** Whether a disruption budget has no room left for this Pod. */
export type IsProtected = (pod: Pod) => boolean;

export interface PreemptionContext {
  readonly state: ClusterState;
  readonly profile: SchedulingProfile;
  readonly isProtected: IsProtected;
}

export function preempt(
  pod: Pod,
  diagnosis: Diagnosis,
  { state, profile, isProtected }: PreemptionContext,
): PreemptionOutcome {
  // Upstream's plugin of resource claims is asked before preemption, and says of each Pod without claims what it cannot do for it.
  const none = (message: string, keepsNomination = true): PreemptionOutcome => ({
    victims: undefined,
    message: `${diagnosis.claims ?? 'no new claims to deallocate'}, preemption: ${message}`,
    keepsNomination,
  });
  if (diagnosis.forAllNodes && !diagnosis.forAllNodes.resolvable && diagnosis.forAllNodes.plugin !== claimsPlugin)
    return neverPrepared;
  if (pod.spec.preemptionPolicy === 'Never') return none('not eligible due to preemptionPolicy=Never.');
  const nominated = pod.status?.nominatedNodeName;
  const nominatedInfo = nominated ? state.node(nominated) : undefined;
  if (
    nominatedInfo &&
    [...nominatedInfo.pods.values()].some((other) => isVictimOf(other, pod) && isPodTerminating(other.pod))
  )
    return none('not eligible due to a terminating pod on the nominated node.');
  const rejections = new Map<string, Rejection>();
  const unhelpful: Rejection = {
    plugin: 'DefaultPreemption',
    reasons: ['Preemption is not helpful for scheduling'],
    resolvable: false,
  };
  const candidates: Victims[] = [];
  const most = Math.max(100, Math.floor(state.nodes.length / 10));
  for (const node of state.nodes) {
    const rejection = diagnosis.forAllNodes ?? diagnosis.byNode.get(node.name);
    if (!rejection?.resolvable) rejections.set(node.name, unhelpful);
    else if (candidates.length < most) {
      const found = victimsOn(node, pod, state, profile, isProtected);
      if ('pods' in found) candidates.push(found);
      else rejections.set(node.name, found);
    }
  }
  const chosen = candidates.sort(compareCandidates)[0];
  if (chosen) return { victims: chosen, message: '' };
  return none(`0/${state.nodes.length} nodes are available: ${countReasons(rejections.values()).join(', ')}.`, false);
}

function isVictimOf(other: PodInfo, pod: Pod): boolean {
  return priorityOf(other.pod) < priorityOf(pod);
}

/** Takes all less important Pods away, and gives back, most important first, each one that still leaves room. */
function victimsOn(
  node: NodeInfo,
  pod: Pod,
  state: ClusterState,
  profile: SchedulingProfile,
  isProtected: IsProtected,
): Victims | Rejection {
  const potential = [...node.pods.values()].filter((other) => isVictimOf(other, pod));
  if (potential.length === 0)
    return {
      plugin: 'DefaultPreemption',
      reasons: ['No preemption victims found for incoming pod'],
      resolvable: false,
    };
  for (const other of potential) node.removePod(other.key);
  const victims: PodInfo[] = [];
  let violations = 0;
  try {
    // Plugins count Pods over the whole cluster, so the Pod is prepared anew for each arrangement tried.
    const objection = () => {
      const prepared = preparePod(pod, state, profile);
      if (isRejection(prepared)) return prepared;
      return filterNode(prepared, node) ?? objectionOfNominated({ pod, node, state, profile });
    };
    const stillRejected = objection();
    if (stillRejected) return stillRejected;
    const protectedFirst = [
      ...potential.filter((p) => isProtected(p.pod)),
      ...potential.filter((p) => !isProtected(p.pod)),
    ].sort((a, b) => Number(isProtected(b.pod)) - Number(isProtected(a.pod)) || moreImportantFirst(a, b));
    for (const other of protectedFirst) {
      node.addPod(other);
      if (!objection()) continue;
      node.removePod(other.key);
      victims.push(other);
      if (isProtected(other.pod)) violations++;
    }
  } finally {
    for (const other of potential) node.addPod(other);
  }
  return { node, pods: victims.sort(moreImportantFirst).map(({ pod: victim }) => victim), violations };
}

function moreImportantFirst(a: PodInfo, b: PodInfo): number {
  return priorityOf(b.pod) - priorityOf(a.pod) || startOf(a.pod) - startOf(b.pod);
}

function startOf(pod: Pod): number {
  return Date.parse(pod.status?.startTime ?? '') || Number.MAX_SAFE_INTEGER;
}

/** Fewest violations, lowest highest priority, lowest sum of priorities, fewest victims, latest start of the most important. */
function compareCandidates(a: Victims, b: Victims): number {
  const highest = (v: Victims) => (v.pods[0] ? priorityOf(v.pods[0]) : Number.NEGATIVE_INFINITY);
  const sum = (v: Victims) => v.pods.reduce((total, pod) => total + priorityOf(pod) + 2 ** 31, 0);
  const start = (v: Victims) => Math.min(...v.pods.filter((pod) => priorityOf(pod) === highest(v)).map(startOf));
  return (
    a.violations - b.violations ||
    highest(a) - highest(b) ||
    sum(a) - sum(b) ||
    a.pods.length - b.pods.length ||
    start(b) - start(a)
  );
}
