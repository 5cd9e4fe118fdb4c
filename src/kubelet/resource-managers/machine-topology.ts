/** How processors and memory of a machine lie to each other. */
import type { CpuSet } from './cpu-set.ts';

export interface Processor {
  readonly id: number;
  /** Unique over the machine: threads of one core share it. */
  readonly core: number;
  readonly socket: number;
  readonly node: number;
  /** The last-level cache that only some cores of the node share; where all share one, the socket. */
  readonly cache: number;
}

/** A memory node (NUMA) with what is closest to it. */
export interface MemoryNode {
  readonly id: number;
  readonly memoryBytes: number;
  /** By resource: `hugepages-2Mi`. */
  readonly hugepages: Readonly<Record<string, number>>;
  /** To each node, by its place; 10 to itself. */
  readonly distances: readonly number[];
}

export interface MachineTopology {
  readonly processors: readonly Processor[];
  readonly nodes: readonly MemoryNode[];
}

export function threadsPerCore({ processors }: MachineTopology): number {
  return Math.max(1, Math.floor(processors.length / new Set(processors.map(({ core }) => core)).size));
}

/** Of all sockets that the nodes are part of. */
export function processorsOfSockets({ processors }: MachineTopology, nodes: readonly number[]): CpuSet {
  const sockets = socketsOf({ processors }, nodes);
  return processors.filter(({ socket }) => sockets.has(socket)).map(({ id }) => id);
}

export function socketsOf(
  { processors }: Pick<MachineTopology, 'processors'>,
  nodes: readonly number[],
): ReadonlySet<number> {
  return new Set(processors.filter(({ node }) => nodes.includes(node)).map(({ socket }) => socket));
}

export function processorsOf({ processors }: MachineTopology, nodes: readonly number[]): CpuSet {
  return processors.filter(({ node }) => nodes.includes(node)).map(({ id }) => id);
}
