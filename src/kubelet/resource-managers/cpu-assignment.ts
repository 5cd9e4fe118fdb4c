/**
 * Which processors a container gets for itself, so that it shares as little as it can with others: whole memory nodes or sockets while it
 * needs as many, then whole cores, then single threads; and always from where most is taken already, so that large pieces stay whole.
 * Pure; the order is upstream's.
 *
 *     2 nodes of 2 cores of 2 threads, processors 0-3 and 4-7, of which 0 is taken: 3 more
 *     no whole node is needed; core {2,3} of the fuller node first, then thread 1 whose core is broken already: 1-3
 */
import type { CpuSet } from './cpu-set.ts';
import type { MachineTopology, Processor } from './machine-topology.ts';

export interface AssignmentOptions {
  /** One thread of each core before the second of any. */
  readonly spreadsOverCores?: boolean | undefined;
}

/** Undefined when there are not as many. */
export function takeByTopology(
  topology: MachineTopology,
  available: CpuSet,
  count: number,
  { spreadsOverCores = false }: AssignmentOptions = {},
): CpuSet | undefined {
  if (available.length < count) return undefined;
  const free = new Map(topology.processors.filter(({ id }) => available.includes(id)).map((one) => [one.id, one]));
  const taken: number[] = [];
  const take = (processors: readonly Processor[]) => {
    for (const { id } of processors) {
      free.delete(id);
      taken.push(id);
    }
  };
  const sizes = sizesOf(topology);
  const takeWhole = (level: Level) => {
    for (const group of groups([...free.values()], level)) {
      const isWhole = group.length === sizes[level].get(group[0]![level]);
      if (isWhole && group.length <= count - taken.length) take(group);
    }
  };
  // A socket may hold several nodes, or a node several sockets; the larger comes first.
  const sockets = new Set(topology.processors.map(({ socket }) => socket)).size;
  const levels: readonly Level[] = sockets < topology.nodes.length ? ['socket', 'node'] : ['node', 'socket'];
  for (const level of levels) takeWhole(level);
  if (!spreadsOverCores) takeWhole('core');
  while (taken.length < count) {
    const order = spreadsOverCores
      ? freshCoresFirst([...free.values()], taken, topology)
      : brokenCoresFirst([...free.values()]);
    take(order.slice(0, spreadsOverCores ? 1 : count - taken.length));
  }
  return [...taken].sort((a, b) => a - b);
}

type Level = 'node' | 'socket' | 'core';

function sizesOf({ processors }: MachineTopology): Record<Level, Map<number, number>> {
  const sizes = { node: new Map<number, number>(), socket: new Map<number, number>(), core: new Map<number, number>() };
  for (const processor of processors)
    for (const level of ['node', 'socket', 'core'] as const)
      sizes[level].set(processor[level], (sizes[level].get(processor[level]) ?? 0) + 1);
  return sizes;
}

/** The fullest, which have the fewest free, first; cores within their node. */
function groups(free: readonly Processor[], level: Level): readonly (readonly Processor[])[] {
  const byLevel = (key: Level) => {
    const counts = new Map<number, number>();
    for (const one of free) counts.set(one[key], (counts.get(one[key]) ?? 0) + 1);
    return counts;
  };
  const inNode = byLevel('node');
  const inSocket = byLevel('socket');
  const found = new Map<number, Processor[]>();
  for (const one of [...free].sort((a, b) => a.id - b.id))
    found.set(one[level], [...(found.get(one[level]) ?? []), one]);
  const rank = (group: readonly Processor[]) => {
    const [first] = group as readonly [Processor];
    return level === 'core'
      ? [inNode.get(first.node)!, first.node, inSocket.get(first.socket)!, first.socket, group.length, first.core]
      : [group.length, first[level]];
  };
  return [...found.values()].sort((a, b) => compareLists(rank(a), rank(b)));
}

function brokenCoresFirst(free: readonly Processor[]): readonly Processor[] {
  return groups(free, 'core').flat();
}

function freshCoresFirst(
  free: readonly Processor[],
  taken: readonly number[],
  { processors }: MachineTopology,
): readonly Processor[] {
  const used = (core: number) => processors.filter((one) => one.core === core && taken.includes(one.id)).length;
  return [...free].sort((a, b) => used(a.core) - used(b.core) || a.id - b.id);
}

function compareLists(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) if (value !== b[index]) return value - b[index]!;
  return 0;
}
