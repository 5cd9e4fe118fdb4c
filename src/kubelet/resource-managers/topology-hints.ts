/**
 * Where a container's resources had best lie: each resource names the sets of memory nodes that could give it, preferred ones among them; the
 * policy joins these to one set, or refuses. A set is a mask of bits, one per node. Pure; the rules are upstream's.
 *
 *     processors {01 preferred, 10 preferred, 11}, memory {10 preferred, 11}: best 10, preferred
 *     restricted and single-numa-node admit only what is preferred; the latter only single nodes
 */
import type { MemoryNode } from './machine-topology.ts';

export type NodeMask = number;

export interface TopologyHint {
  /** Undefined: any. */
  readonly nodes: NodeMask | undefined;
  readonly preferred: boolean;
}

export type TopologyPolicy = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

export interface MergeOptions {
  readonly policy: TopologyPolicy;
  readonly nodes: readonly MemoryNode[];
  readonly prefersClosest?: boolean | undefined;
}

export interface MergedHint {
  readonly hint: TopologyHint;
  readonly admits: boolean;
}

const anywhere: TopologyHint = { nodes: undefined, preferred: true };

/** One list per resource; undefined: the resource does not care; empty: there is no place for it. */
export function mergeHints(hints: readonly (readonly TopologyHint[] | undefined)[], options: MergeOptions): MergedHint {
  const { policy, nodes } = options;
  if (policy === 'none') return { hint: anywhere, admits: true };
  const lists = hints.map((list) =>
    !list ? [anywhere] : list.length === 0 ? [{ nodes: undefined, preferred: false }] : list,
  );
  const isSingle = policy === 'single-numa-node';
  const eligible = isSingle
    ? lists.map((list) =>
        list.filter((hint) => hint.preferred && (hint.nodes === undefined || countOf(hint.nodes) === 1)),
      )
    : lists;
  const everywhere = nodes.reduce((mask, _, place) => mask | (1 << place), 0);
  const narrowest = Math.max(
    0,
    ...eligible
      .map((list) => Math.min(...list.flatMap((hint) => (hint.nodes === undefined ? [] : [countOf(hint.nodes)]))))
      .filter(Number.isFinite),
  );
  let best: Required<TopologyHint> | undefined;
  for (const permutation of permutations(eligible)) {
    const masks = permutation.flatMap((hint) => (hint.nodes === undefined ? [] : [hint.nodes]));
    const merged = masks.reduce((mask, one) => mask & one, everywhere);
    const preferred = permutation.every((hint) => hint.preferred) && masks.every((mask) => mask === masks[0]);
    const candidate = { nodes: merged, preferred };
    if (merged !== 0 && (best === undefined || isBetter(candidate, best, narrowest, options))) best = candidate;
  }
  const hint = best ?? { nodes: everywhere, preferred: false };
  const isAll = isSingle && hint.nodes === everywhere;
  return {
    hint: isAll ? { nodes: undefined, preferred: hint.preferred } : hint,
    admits: policy === 'best-effort' || hint.preferred,
  };
}

function* permutations(lists: readonly (readonly TopologyHint[])[]): Generator<readonly TopologyHint[]> {
  const [first, ...rest] = lists;
  if (!first) {
    yield [];
    return;
  }
  for (const hint of first) for (const others of permutations(rest)) yield [hint, ...others];
}

type Mask = { readonly nodes: NodeMask | undefined; readonly preferred: boolean };

/** Preferred before not; among those not, as many nodes as the neediest resource takes at least. */
function isBetter(candidate: Mask, current: Mask, narrowest: number, options: MergeOptions): boolean {
  if (candidate.preferred !== current.preferred) return candidate.preferred;
  const [ours, theirs] = [countOf(candidate.nodes!), countOf(current.nodes!)];
  if (candidate.preferred || theirs > narrowest) return isFitter(candidate.nodes!, current.nodes!, options);
  if (theirs === narrowest) return ours === narrowest && isFitter(candidate.nodes!, current.nodes!, options);
  if (ours > narrowest) return false;
  if (ours === narrowest || ours !== theirs) return ours > theirs;
  return isFitter(candidate.nodes!, current.nodes!, options);
}

/** Fewer nodes; of as many the closest to each other where that counts, and else the lower. */
function isFitter(candidate: NodeMask, current: NodeMask, { nodes, policy, prefersClosest }: MergeOptions): boolean {
  if (candidate === current) return false;
  const difference = countOf(candidate) - countOf(current);
  if (difference !== 0) return difference < 0;
  if (prefersClosest && policy !== 'single-numa-node') {
    const distance = averageDistance(candidate, nodes) - averageDistance(current, nodes);
    if (distance !== 0) return distance < 0;
  }
  return candidate < current;
}

function averageDistance(mask: NodeMask, nodes: readonly MemoryNode[]): number {
  const places = nodesIn(mask);
  const distances = places.flatMap((from) => places.map((to) => nodes[from]?.distances[to] ?? 0));
  return distances.reduce((sum, distance) => sum + distance, 0) / Math.max(1, distances.length);
}

/** Bits that are set. */
export function countOf(mask: NodeMask): number {
  return nodesIn(mask).length;
}

/** Places of the bits that are set. */
export function nodesIn(mask: NodeMask): number[] {
  const places: number[] = [];
  for (let place = 0; mask >> place !== 0; place++) if ((mask >> place) & 1) places.push(place);
  return places;
}

/** All sets but the empty one. */
export function allMasks(nodeCount: number): readonly NodeMask[] {
  return Array.from({ length: 2 ** nodeCount - 1 }, (_, index) => index + 1);
}
