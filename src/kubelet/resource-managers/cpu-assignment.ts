/**
 * Which processors a container gets for itself, so that it shares as little as it can with others: whole memory nodes or sockets while it
 * needs as many, then whole cores, then single threads; and always from where most is taken already, so that large pieces stay whole.
 * Pure; the order is upstream's. `cpu-distribution.ts` spreads the same over memory nodes.
 *
 *     2 nodes of 2 cores of 2 threads, processors 0-3 and 4-7, of which 0 is taken: 3 more
 *     no whole node is needed; core {2,3} of the fuller node first, then thread 1 whose core is broken already: 1-3
 */
import type { CpuSet } from './cpu-set.ts';
import { type MachineTopology, type Processor, threadsPerCore } from './machine-topology.ts';

export interface AssignmentOptions {
  /** Processors in the order of their numbers rather than core by core: where siblings are numbered apart, one thread of each core first. */
  readonly spreadsOverCores?: boolean | undefined;
  /** Before cores whole caches, and what is left from one cache if one has as much. */
  readonly alignsByCache?: boolean | undefined;
}

/** Undefined when there are not as many. */
export function takeByTopology(
  topology: MachineTopology,
  available: CpuSet,
  count: number,
  options: AssignmentOptions = {},
): CpuSet | undefined {
  if (available.length < count) return undefined;
  const pool = new Pool(topology, available, count);
  for (const level of pool.hierarchy) pool.takeWhole(level);
  if (options.alignsByCache) pool.takeByCache();
  if (!options.spreadsOverCores) pool.takeWhole('core');
  pool.takeRest(options.spreadsOverCores ?? false);
  return pool.taken;
}

type Level = 'node' | 'socket' | 'cache' | 'core';
type Group = readonly [Processor, ...Processor[]];

/** The free processors, and those taken out of them. */
class Pool {
  /** A socket may hold several nodes, or a node several sockets; the larger comes first. */
  readonly hierarchy: readonly ['socket', 'node'] | readonly ['node', 'socket'];
  readonly #topology: MachineTopology;
  #free: readonly Processor[];
  #taken: readonly Processor[] = [];
  #needed: number;

  constructor(topology: MachineTopology, available: CpuSet, count: number) {
    const ids = new Set(available);
    this.#topology = topology;
    this.#free = topology.processors.filter(({ id }) => ids.has(id)).sort((a, b) => a.id - b.id);
    this.#needed = count;
    const sizeOf = (level: Level) => new Set(topology.processors.map((one) => one[level])).size;
    this.hierarchy = sizeOf('socket') < sizeOf('node') ? ['socket', 'node'] : ['node', 'socket'];
  }

  get taken(): CpuSet {
    return this.#taken.map(({ id }) => id).sort((a, b) => a - b);
  }

  takeWhole(level: Level): void {
    for (const group of this.#groups(level))
      if (group.length <= this.#needed && this.#isWhole(level, group)) this.#take(group);
  }

  /** Whole caches while as many are needed, and the rest from the first cache that has it. */
  takeByCache(): void {
    const caches = new Set(this.#topology.processors.map(({ cache }) => cache)).size;
    const perCache = Math.floor(this.#topology.processors.length / caches);
    for (const [{ cache }] of this.#groups('cache')) {
      if (this.#needed >= perCache) this.takeWhole('cache');
      if (this.#needed === 0) return;
      this.#takeFromCache(cache);
    }
  }

  takeRest(spreadsOverCores: boolean): void {
    const order = this.#groups(spreadsOverCores ? 'socket' : 'core').flat();
    this.#take(order.slice(0, this.#needed));
  }

  /** All that is still needed, or nothing; of the last core only one thread when the count is odd. */
  #takeFromCache(cache: number): void {
    const perCore = threadsPerCore(this.#topology);
    const here = this.#free.filter((one) => one.cache === cache);
    const cores = [...new Set(here.map(({ core }) => core))].sort((a, b) => a - b);
    const chosen = new Set(cores.slice(0, Math.ceil(this.#needed / perCore)));
    const threads = here.filter(({ core }) => chosen.has(core));
    const isOdd = this.#needed % 2 === 1 && perCore > 1 && threads.length > this.#needed;
    const wanted = isOdd ? threads.slice(0, -1) : threads;
    if (wanted.length === this.#needed) this.#take(wanted);
  }

  #take(processors: readonly Processor[]): void {
    this.#taken = [...this.#taken, ...processors];
    this.#free = this.#free.filter((one) => !processors.includes(one));
    this.#needed -= processors.length;
  }

  #isWhole(level: Level, group: Group): boolean {
    return group.length === this.#topology.processors.filter((one) => one[level] === group[0][level]).length;
  }

  /** Free processors by what they share: those of the fullest, which have the fewest free, first, within the larger levels around them. */
  #groups(level: Level): readonly Group[] {
    const [outer, inner] = this.hierarchy;
    const around: Readonly<Record<Level, readonly Level[]>> = {
      [outer]: [],
      [inner]: [outer],
      cache: outer === 'node' ? ['node'] : [outer, inner],
      core: [outer, inner],
    } as Record<Level, Level[]>;
    const levels = [...around[level], level];
    const counts = new Map(levels.map((one) => [one, this.#freeBy(one)]));
    const rank = ([first]: Group) => levels.flatMap((one) => [counts.get(one)!.get(first[one])!, first[one]]);
    const found = Map.groupBy(this.#free, (one) => one[level]);
    return ([...found.values()] as unknown as Group[]).sort((a, b) => compareLists(rank(a), rank(b)));
  }

  #freeBy(level: Level): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const one of this.#free) counts.set(one[level], (counts.get(one[level]) ?? 0) + 1);
    return counts;
  }
}

/** By the first place in which they differ. */
export function compareLists(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) if (value !== b[index]) return value - b[index]!;
  return 0;
}
