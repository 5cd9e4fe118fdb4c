/**
 * One attempt to place a Pod: which nodes would do, and which of them is best. Pure but for `random`, which decides between equals.
 * Runs to its end without waiting, against the cluster as it is now.
 */
import type { Pod } from '../api/gen/core-v1.ts';
import type { Random } from '../base/random.ts';
import type { ClusterState, NodeInfo } from './cluster-state.ts';
import type { Diagnosis } from './diagnosis.ts';
import {
  feasibleNodesEnough,
  isRejection,
  maxNodeScore,
  type PreparedPlugin,
  type Rejection,
  type SchedulingPlugin,
  type SchedulingProfile,
  type ScoredNode,
} from './framework.ts';
import { podKeyOf } from './pod-info.ts';

export interface PreparedPod {
  readonly plugins: readonly { readonly plugin: SchedulingPlugin; readonly prepared: PreparedPlugin }[];
  /** Those of them that judge nodes. */
  readonly filters: readonly Pick<Required<PreparedPlugin>, 'filter'>[];
}

export type Placement = { readonly node: NodeInfo; readonly prepared: PreparedPod } | Nowhere;

interface Nowhere {
  readonly node: undefined;
  readonly diagnosis: Diagnosis;
}

export interface PlacementContext {
  readonly random: Random;
  /** Where the search begins, so that no node is always looked at first; moves on with every attempt. */
  startIndex: number;
  /** The node that preemption made room on for this Pod: tried first. */
  readonly nominatedNode?: string | undefined;
}

export function place(pod: Pod, state: ClusterState, profile: SchedulingProfile, context: PlacementContext): Placement {
  const nodeCount = state.nodes.length;
  const prepared = preparePod(pod, state, profile);
  const failed = (forAllNodes: Rejection | undefined, byNode: ReadonlyMap<string, Rejection>): Nowhere => ({
    node: undefined,
    diagnosis: { nodeCount, forAllNodes, byNode, preemption: '' },
  });
  if (isRejection(prepared)) return failed(prepared, new Map());
  const nominated = context.nominatedNode ? state.node(context.nominatedNode) : undefined;
  const objection = (node: NodeInfo) =>
    filterNode(prepared, node) ?? objectionOfNominated({ pod, node, state, profile });
  if (nominated && !objection(nominated)) return { node: nominated, prepared };
  const byNode = new Map<string, Rejection>();
  const feasible: NodeInfo[] = [];
  const candidates = candidateNodes(prepared, state);
  const enough = feasibleNodesEnough(candidates.length, profile.percentageOfNodesToScore);
  let looked = 0;
  for (; looked < candidates.length && feasible.length < enough; looked++) {
    const node = candidates[(context.startIndex + looked) % candidates.length]!;
    const rejection = objection(node);
    if (rejection) byNode.set(node.name, rejection);
    else feasible.push(node);
  }
  context.startIndex = candidates.length === 0 ? 0 : (context.startIndex + looked) % candidates.length;
  if (feasible.length === 0) {
    markUnasked(prepared, state, byNode);
    const { diagnosis } = failed(undefined, byNode);
    const [claims] = prepared.plugins.flatMap((entry) => entry.prepared.whenNowhere?.() ?? []);
    return { node: undefined, diagnosis: { ...diagnosis, claims } };
  }
  return { node: feasible.length === 1 ? feasible[0]! : best(prepared, feasible, context.random), prepared };
}

/** Asks every plugin what the Pod wants; a rejection rules out all nodes. */
export function preparePod(pod: Pod, state: ClusterState, profile: SchedulingProfile): PreparedPod | Rejection {
  const plugins: PreparedPod['plugins'][number][] = [];
  for (const plugin of profile.plugins) {
    const prepared = plugin.prepare?.(pod, state);
    if (prepared === undefined) continue;
    if (isRejection(prepared)) return prepared;
    plugins.push({ plugin, prepared });
  }
  const filters = plugins.flatMap(({ prepared }) => (judges(prepared) ? [prepared] : []));
  return { plugins, filters };
}

function judges(prepared: PreparedPlugin): prepared is PreparedPlugin & Pick<Required<PreparedPlugin>, 'filter'> {
  return prepared.filter !== undefined;
}

/** The first plugin's objection to a node, or undefined. */
export function filterNode(prepared: PreparedPod, node: NodeInfo): Rejection | undefined {
  for (const judge of prepared.filters) {
    const rejection = judge.filter(node);
    if (rejection) return rejection;
  }
  return undefined;
}

export interface Trial {
  readonly pod: Pod;
  readonly node: NodeInfo;
  readonly state: ClusterState;
  readonly profile: SchedulingProfile;
}

/**
 * What stands against the node once those are there that preemption makes room for and that are no less important than this Pod. Who
 * was told to make room must not find somebody else in it; but whether they will ever come is not sure, so the node must do without
 * them too.
 */
export function objectionOfNominated({ pod, node, state, profile }: Trial): Rejection | undefined {
  const nominated = state.nominatedOn(node.name);
  if (nominated.length === 0) return undefined;
  const key = podKeyOf(pod);
  const awaited = nominated.filter((other) => other.key !== key && priorityOf(other.pod) >= priorityOf(pod));
  if (awaited.length === 0) return undefined;
  for (const other of awaited) node.addPod(other);
  try {
    const prepared = preparePod(pod, state, profile);
    return isRejection(prepared) ? prepared : filterNode(prepared, node);
  } finally {
    for (const other of awaited) node.removePod(other.key);
  }
}

export function priorityOf(pod: Pod): number {
  return pod.spec.priority ?? 0;
}

function candidateNodes(prepared: PreparedPod, state: ClusterState): readonly NodeInfo[] {
  let only: readonly string[] | undefined;
  for (const { onlyNodes } of prepared.plugins.map((entry) => entry.prepared)) {
    if (onlyNodes) only = only ? only.filter((name) => onlyNodes.has(name)) : [...onlyNodes];
  }
  return only ? only.flatMap((name) => state.node(name) ?? []) : state.nodes;
}

/** Nodes left out because the Pod names others count as not matching its affinity, as upstream reports them. */
function markUnasked(prepared: PreparedPod, state: ClusterState, byNode: Map<string, Rejection>): void {
  if (!prepared.plugins.some((entry) => entry.prepared.onlyNodes)) return;
  const rejection: Rejection = {
    plugin: 'NodeAffinity',
    reasons: ["node(s) didn't satisfy plugin(s) [NodeAffinity]"],
    resolvable: false,
  };
  for (const node of state.nodes) if (!byNode.has(node.name)) byNode.set(node.name, rejection);
}

function best(prepared: PreparedPod, feasible: readonly NodeInfo[], random: Random): NodeInfo {
  const totals = new Float64Array(feasible.length);
  // One list for all plugins, each of which writes its own scores into it.
  const scores: ScoredNode[] = feasible.map((node) => ({ node, score: 0 }));
  for (const { plugin, prepared: view } of prepared.plugins) {
    if (!view.score || view.prepareScores?.(feasible) === false) continue;
    for (const scored of scores) scored.score = view.score(scored.node);
    view.normalize?.(scores);
    const { name, weight = 1 } = plugin;
    for (let i = 0; i < scores.length; i++) {
      const { score } = scores[i]!;
      if (score < 0 || score > maxNodeScore) throw new RangeError(`plugin ${name} returned an invalid score ${score}`);
      totals[i]! += score * weight;
    }
  }
  let chosen = 0;
  let equals = 1;
  for (let i = 1; i < feasible.length; i++) {
    if (totals[i]! > totals[chosen]!) {
      chosen = i;
      equals = 1;
    } else if (totals[i] === totals[chosen] && random.next() < 1 / ++equals) chosen = i;
  }
  return feasible[chosen]!;
}
