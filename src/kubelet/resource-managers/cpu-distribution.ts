/**
 * Processors for one container spread evenly over as few memory nodes as can hold them, for programs that divide their work by node and
 * wait for the slowest. What does not divide goes to the nodes that leave the machine most balanced: the least standard deviation of
 * what is free afterwards. Where no set of nodes divides, they are packed. Pure; the arithmetic is upstream's (KEP 2902).
 *
 *     2 nodes of 8 free processors, 10 wanted: 5 and 5, where packing would take 8 and 2
 */
import { type AssignmentOptions, compareLists, takeByTopology } from './cpu-assignment.ts';
import { type CpuSet, union, without } from './cpu-set.ts';
import { type MachineTopology, processorsOf } from './machine-topology.ts';

export interface DistributionOptions extends AssignmentOptions {
  /** Processors that are given only together: the threads of a core, or 1. */
  readonly groupSize: number;
}

/** Undefined when there are not as many. */
export function takeDistributed(
  topology: MachineTopology,
  available: CpuSet,
  count: number,
  { groupSize, ...options }: DistributionOptions,
): CpuSet | undefined {
  const pack = (from: CpuSet, wanted: number) => takeByTopology(topology, from, wanted, options);
  if (available.length < count) return undefined;
  if (count === 0 || count % groupSize !== 0) return pack(available, count);
  const spread = bestSpread(freeByNode(topology, available), count, {
    groupSize,
    groupsPerNode: groupsPerNode(topology, groupSize),
  });
  if (!spread) return pack(available, count);
  let taken: CpuSet = [];
  const takeFrom = (node: number, wanted: number) => {
    const free = without(available, taken).filter((id) => processorsOf(topology, [node]).includes(id));
    taken = union(taken, pack(free, wanted) ?? []);
  };
  for (const node of spread.nodes) takeFrom(node, spread.each);
  for (const node of spread.extra) takeFrom(node, groupSize);
  return taken;
}

/** How many a node holds at most. */
function groupsPerNode({ processors }: MachineTopology, groupSize: number): number {
  const groups = Math.ceil(processors.length / groupSize);
  return Math.ceil(groups / new Set(processors.map(({ node }) => node)).size);
}

type FreeByNode = ReadonlyMap<number, number>;

/** Nodes by what is free on them, the fullest first; in the order in which they are packed. */
function freeByNode({ processors }: MachineTopology, available: CpuSet): FreeByNode {
  const ids = new Set(available);
  const free = processors.filter(({ id }) => ids.has(id));
  const bySocket = new Map<number, number>();
  const byNode = new Map<number, number>();
  const socketOf = new Map(processors.map(({ node, socket }) => [node, socket]));
  for (const { node, socket } of free) {
    bySocket.set(socket, (bySocket.get(socket) ?? 0) + 1);
    byNode.set(node, (byNode.get(node) ?? 0) + 1);
  }
  const hasLargeSockets = new Set(socketOf.values()).size < socketOf.size;
  const rank = (node: number) => {
    const socket = socketOf.get(node)!;
    return [...(hasLargeSockets ? [bySocket.get(socket)!, socket] : []), byNode.get(node)!, node];
  };
  return new Map([...byNode].sort(([a], [b]) => compareLists(rank(a), rank(b))));
}

interface Spread {
  readonly nodes: readonly number[];
  /** Processors from each of the nodes. */
  readonly each: number;
  /** Nodes that give one group more, in turn. */
  readonly extra: readonly number[];
  /** How unequal what is free on all nodes is afterwards. */
  readonly imbalance: number;
}

interface SpreadOptions {
  readonly groupSize: number;
  readonly groupsPerNode: number;
}

function bestSpread(
  free: FreeByNode,
  count: number,
  { groupSize, groupsPerNode: perNode }: SpreadOptions,
): Spread | undefined {
  const groups = Math.ceil(count / groupSize);
  const fewest = Math.ceil(groups / perNode);
  const most = Math.min(groups, free.size);
  for (let size = fewest; size <= most; size++) {
    let best: Spread | undefined;
    for (const nodes of combinations([...free.keys()], size)) {
      const spread = spreadOver(nodes, free, { count, groupSize });
      if (spread && (!best || spread.imbalance < best.imbalance)) best = spread;
      if (best?.imbalance === 0) break;
    }
    if (best) return best;
  }
  return undefined;
}

/** Undefined when these nodes cannot give equal parts and one group more for the rest. */
function spreadOver(
  nodes: readonly number[],
  free: FreeByNode,
  { count, groupSize }: { readonly count: number; readonly groupSize: number },
): Spread | undefined {
  const each = Math.floor(count / nodes.length / groupSize) * groupSize;
  const groups = nodes.reduce((sum, node) => sum + Math.floor(free.get(node)! / groupSize), 0);
  if (groups * groupSize < count || nodes.some((node) => free.get(node)! < each)) return undefined;
  const left = new Map([...free].map(([node, amount]) => [node, nodes.includes(node) ? amount - each : amount]));
  const rest = count - each * nodes.length;
  if (rest === 0) return { nodes, each, extra: [], imbalance: deviation([...left.values()]) };
  const able = nodes.filter((node) => left.get(node)! >= groupSize);
  let best: Spread | undefined;
  for (let size = able.length; size >= 1; size--)
    for (const subset of combinations(able, size)) {
      const given = handOut(subset, left, { rest, groupSize });
      if (given && (!best || given.imbalance < best.imbalance)) best = { nodes, each, ...given };
    }
  return best;
}

/** One group from each node in turn until nothing is left to give. */
function handOut(
  nodes: readonly number[],
  before: ReadonlyMap<number, number>,
  { rest, groupSize }: { readonly rest: number; readonly groupSize: number },
): Pick<Spread, 'extra' | 'imbalance'> | undefined {
  const capacity = nodes.reduce((sum, node) => sum + Math.floor(before.get(node)! / groupSize), 0);
  if (capacity * groupSize < rest) return undefined;
  const left = new Map(before);
  const extra: number[] = [];
  while (extra.length * groupSize < rest)
    for (const node of nodes) {
      if (extra.length * groupSize >= rest || left.get(node)! < groupSize) continue;
      left.set(node, left.get(node)! - groupSize);
      extra.push(node);
    }
  return { extra, imbalance: deviation([...left.values()]) };
}

/** To three digits, as the mean that it starts from: what differs by less counts as equal. */
function deviation(values: readonly number[]): number {
  const rounded = (value: number) => Math.round(value * 1000) / 1000;
  const mean = rounded(values.reduce((sum, value) => sum + value, 0) / values.length);
  return rounded(Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length));
}

/** All subsets of that size, in the order of the list. */
function* combinations(list: readonly number[], size: number): Generator<readonly number[]> {
  if (size === 0) {
    yield [];
    return;
  }
  for (const [index, first] of list.entries())
    for (const rest of combinations(list.slice(index + 1), size - 1)) yield [first, ...rest];
}
