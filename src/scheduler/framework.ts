/**
 * The scheduling framework: what a plugin is. For each attempt to place a Pod every plugin works out once what the Pod asks
 * (`prepare`) and returns functions that judge and score single nodes; its state lives in their closures. An attempt runs without
 * waiting for anything, so the cluster state it reads cannot change under it.
 */
import type { Pod } from '../api/gen/core-v1.ts';
import type { ClusterState, NodeInfo } from './cluster-state.ts';

/** Highest score a plugin may give a node; the lowest is 0. */
export const maxNodeScore = 100;

/** Why a Pod cannot go to a node, or to any. */
export interface Rejection {
  readonly plugin: string;
  /** In upstream's words: they are counted over all nodes and shown to the user. */
  readonly reasons: readonly string[];
  /** Whether removing Pods from the node could help, so that preemption is worth a try. */
  readonly resolvable: boolean;
}

/** What changed in the cluster, as plugins name what could help a Pod they rejected. */
export type ClusterEvent =
  | 'NodeAdded'
  | 'NodeChanged'
  | 'PodAdded'
  | 'PodChanged'
  | 'PodRemoved'
  | 'VolumeChanged'
  | 'DevicesChanged'
  | 'NamespaceChanged';

export interface ScoredNode {
  readonly node: NodeInfo;
  score: number;
}

/** A plugin's view of one Pod in one attempt. Leave out what the Pod does not ask for. */
export interface PreparedPlugin {
  /** Only these nodes come into question. */
  readonly onlyNodes?: ReadonlySet<string>;
  filter?(node: NodeInfo): Rejection | undefined;
  /** Called once with the nodes that passed, before `score`. Returning false: this plugin does not score this Pod. */
  prepareScores?(feasible: readonly NodeInfo[]): boolean;
  score?(node: NodeInfo): number;
  /** Brings raw scores into 0..100; absent: they are already. */
  normalize?(scores: readonly ScoredNode[]): void;
  /** No node would do: does what can be done about it, and says what for the Pod's condition. */
  whenNowhere?(): string;
  /** The node was chosen: what the Pod gets there is nobody else's from now on. */
  reserve?(node: NodeInfo): void;
  /** What must happen before the Pod is bound to its node, e.g. volumes; throwing puts the Pod back into the queue. */
  beforeBind?(node: NodeInfo, signal: AbortSignal): Promise<void>;
  /** The Pod could not be bound after all. */
  unreserve?(): Promise<void>;
}

/** Thrown where nothing can be said about nodes because something is wrong with what the Pod asks for; tried again later. */
export class SchedulingFailure extends Error {}

export interface SchedulingPlugin {
  readonly name: string;
  /** Weight of its scores; default 1. */
  readonly weight?: number;
  /** Changes that can make a Pod schedulable which this plugin rejected. */
  readonly helpedBy: readonly ClusterEvent[];
  /** Whether the Pod may be tried at all. */
  mayEnqueue?(pod: Pod): Rejection | undefined;
  /** Undefined: nothing to say about this Pod. A rejection: no node will do. */
  prepare?(pod: Pod, state: ClusterState): PreparedPlugin | Rejection | undefined;
}

export function isRejection(value: object): value is Rejection {
  return 'reasons' in value;
}

/** A profile: what `spec.schedulerName` names. */
export interface SchedulingProfile {
  readonly schedulerName: string;
  readonly plugins: readonly SchedulingPlugin[];
  /** Share of the nodes to look for feasible ones in, in percent; 0: by cluster size. */
  readonly percentageOfNodesToScore: number;
}

/**
 * How many feasible nodes are enough: all of fewer than 100; else 50% less a point per 125 nodes, at least 5% and 100 nodes
 * (upstream's adaptive rule).
 */
export function feasibleNodesEnough(nodeCount: number, percentage: number): number {
  if (nodeCount < 100) return nodeCount;
  const share = percentage > 0 ? percentage : Math.max(5, 50 - Math.floor(nodeCount / 125));
  return share >= 100 ? nodeCount : Math.max(100, Math.floor((nodeCount * share) / 100));
}

/** Scales raw scores so that the highest becomes 100; `reverse` turns them round (fewer is better). */
export function normalizeByHighest(scores: readonly ScoredNode[], reverse: boolean): void {
  let highest = 0;
  for (const { score } of scores) highest = Math.max(highest, score);
  for (const scored of scores) {
    const scaled = highest === 0 ? 0 : Math.floor((maxNodeScore * scored.score) / highest);
    scored.score = reverse ? maxNodeScore - scaled : scaled;
  }
}
