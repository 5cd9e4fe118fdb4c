/**
 * Memory and huge pages for containers of Guaranteed Pods on memory nodes of their own (policy `Static`). Nodes that give to one
 * container together stay a group: alone they give nothing until all is returned. Changes only itself.
 */
import { amountsOf, hasPodLevelResources } from '../../api/core/v1/pod-resources.ts';
import { isSidecar } from '../../api/core/v1/pod-status.ts';
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { AllocationError } from './allocation-error.ts';
import type { MachineTopology, MemoryNode } from './machine-topology.ts';
import { allMasks, countOf, type NodeMask, nodesIn, type TopologyHint } from './topology-hints.ts';

export interface MemoryAllocatorOptions {
  readonly topology: MachineTopology;
  /** What of each node nobody gets, by its id and the resource. */
  readonly reserved: Readonly<Record<number, Readonly<Record<string, number>>>>;
}

export interface MemoryBlock {
  readonly numaAffinity: readonly number[];
  readonly type: string;
  readonly size: number;
}

/** Of one kind of memory of a node, in bytes. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  readonly reserved: number;
  readonly free: number;
}

export interface NodeMemoryState {
  /** Blocks that lie on it. */
  readonly numberOfAssignments: number;
  readonly memoryMap: Readonly<Record<string, MemoryTable>>;
  /** The nodes with which it gives together. */
  readonly cells: readonly number[];
}

export interface MemoryCheckpoint {
  readonly policyName: string;
  /** By the id of the node. */
  readonly machineState: Readonly<Record<string, NodeMemoryState>>;
  readonly entries: Readonly<Record<string, Readonly<Record<string, readonly MemoryBlock[]>>>>;
}

type Request = Readonly<Record<string, number>>;

export class MemoryAllocator {
  readonly #options: MemoryAllocatorOptions;
  /** By Pod and container. */
  readonly #blocks = new Map<string, Map<string, readonly MemoryBlock[]>>();

  constructor(options: MemoryAllocatorOptions) {
    this.#options = options;
  }

  /** Ids of the nodes whose memory the container may use; undefined: all. */
  nodesOf(podUid: string, container: string): readonly number[] | undefined {
    const blocks = this.#blocks.get(podUid)?.get(container);
    return blocks && [...new Set(blocks.flatMap(({ numaAffinity }) => numaAffinity))].sort((a, b) => a - b);
  }

  blocksOf(podUid: string, container: string): readonly MemoryBlock[] {
    return this.#blocks.get(podUid)?.get(container) ?? [];
  }

  /** What each node could give when nothing is given away. */
  get allocatable(): readonly MemoryBlock[] {
    return this.#options.topology.nodes.flatMap(({ id, hugepages }, place) =>
      ['memory', ...Object.keys(hugepages)]
        .map((type) => ({ numaAffinity: [id], type, size: this.#whole(1 << place, type) }))
        .filter(({ size }) => size > 0),
    );
  }

  /** By resource; undefined: it takes what it is given. */
  hints(pod: Pod, container: Container): readonly TopologyHint[] | undefined {
    const request = memoryRequest(pod, container);
    if (!request) return undefined;
    const known = this.nodesOf(pod.metadata.uid ?? '', container.name);
    if (known) return [{ nodes: this.#maskOf(known), preferred: true }];
    return this.#hintsFor(request, this.#lent(pod));
  }

  /** Throws `AllocationError` when no nodes have as much. What it already has it keeps. */
  allocate(pod: Pod, container: Container, hint: TopologyHint): void {
    const request = memoryRequest(pod, container);
    const uid = pod.metadata.uid ?? '';
    if (!request || this.#blocks.get(uid)?.has(container.name)) return;
    const lent = this.#lent(pod);
    const mask = this.#bestMask(request, hint, lent);
    if (mask === undefined)
      throw new AllocationError(
        'UnexpectedAdmissionError',
        `Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available, which is unexpected`,
      );
    const numaAffinity = nodesIn(mask).map((place) => this.#options.topology.nodes[place]!.id);
    const blocks = Object.entries(request).map(([type, size]) => ({ numaAffinity, type, size }));
    // Init containers will have ended when this one runs: they stay where they are, but hold nothing.
    const own = this.#blocks.get(uid);
    for (const [name, held] of own ?? [])
      if (lent.includes(lentKey(uid, name)))
        own?.set(
          name,
          held.map((block) => ({ ...block, size: 0 })),
        );
    this.#blocks.set(uid, (this.#blocks.get(uid) ?? new Map()).set(container.name, blocks));
  }

  release(podUid: string): void {
    this.#blocks.delete(podUid);
  }

  podUids(): readonly string[] {
    return [...this.#blocks.keys()];
  }

  checkpoint(): MemoryCheckpoint {
    const entries = Object.fromEntries(
      [...this.#blocks].map(([uid, containers]) => [uid, Object.fromEntries(containers)]),
    );
    return { policyName: 'Static', machineState: this.#machineState(), entries };
  }

  /** What each node has and has given: a block takes from its nodes one after the other what each has left. */
  #machineState(): Record<string, NodeMemoryState> {
    const states = new Map(this.#options.topology.nodes.map((node) => [node.id, this.#untouched(node)]));
    for (const { numaAffinity, type, size } of [...this.#blocks.values()].flatMap((pods) =>
      [...pods.values()].flat(),
    )) {
      let left = size;
      for (const id of numaAffinity) {
        const state = states.get(id);
        if (!state) continue;
        const table = state.memoryMap[type];
        const taken = Math.min(left, table?.free ?? 0);
        left -= taken;
        states.set(id, {
          numberOfAssignments: state.numberOfAssignments + 1,
          cells: numaAffinity,
          memoryMap: {
            ...state.memoryMap,
            ...(table ? { [type]: { ...table, reserved: table.reserved + taken, free: table.free - taken } } : {}),
          },
        });
      }
    }
    return Object.fromEntries(states);
  }

  #untouched({ id, memoryBytes, hugepages }: MemoryNode): NodeMemoryState {
    const table = (type: string, total: number): MemoryTable => {
      const place = this.#options.topology.nodes.findIndex((node) => node.id === id);
      const allocatable = this.#whole(1 << place, type);
      const systemReserved = this.#options.reserved[id]?.[type] ?? 0;
      return { total, systemReserved, allocatable, reserved: 0, free: allocatable };
    };
    const pages = Object.entries(hugepages).map(([type, total]) => [type, table(type, total)]);
    const memoryMap = Object.fromEntries([...pages, ['memory', table('memory', memoryBytes)]]);
    return { numberOfAssignments: 0, memoryMap, cells: [id] };
  }

  restore({ entries }: MemoryCheckpoint): void {
    for (const [uid, containers] of Object.entries(entries)) this.#blocks.set(uid, new Map(Object.entries(containers)));
  }

  #hintsFor(request: Request, lent: readonly string[]): readonly TopologyHint[] {
    const masks = allMasks(this.#options.topology.nodes.length);
    const large = masks.filter((mask) =>
      Object.entries(request).every(([type, size]) => this.#whole(mask, type) >= size),
    );
    const smallest = Math.min(...large.map(countOf));
    return large
      .filter((mask) => this.#keepsGroups(mask, lent))
      .filter((mask) => Object.entries(request).every(([type, size]) => this.#free(mask, type, lent) >= size))
      .map((mask) => ({ nodes: mask, preferred: countOf(mask) === smallest }));
  }

  /** The hint's own nodes if they have enough, else as few more as it takes. */
  #bestMask(request: Request, hint: TopologyHint, lent: readonly string[]): NodeMask | undefined {
    const wanted = hint.nodes ?? 0;
    const possible = this.#hintsFor(request, lent).flatMap(({ nodes, preferred }) =>
      nodes === undefined ? [] : [{ nodes, preferred }],
    );
    const covering = possible.filter(({ nodes }) => (nodes & wanted) === wanted);
    const [best] = (covering.length > 0 ? covering : possible).sort(
      (a, b) => countOf(a.nodes) - countOf(b.nodes) || a.nodes - b.nodes,
    );
    return best?.nodes;
  }

  #maskOf(ids: readonly number[]): NodeMask {
    return this.#options.topology.nodes.reduce(
      (mask, { id }, place) => (ids.includes(id) ? mask | (1 << place) : mask),
      0,
    );
  }

  #whole(mask: NodeMask, type: string): number {
    return nodesIn(mask).reduce((sum, place) => {
      const { id, memoryBytes, hugepages } = this.#options.topology.nodes[place]!;
      // What huge pages are made of is nobody's memory any more.
      const pages = Object.values(hugepages).reduce((all, bytes) => all + bytes, 0);
      const size = type === 'memory' ? memoryBytes - pages : (hugepages[type] ?? 0);
      return sum + Math.max(0, size - (this.#options.reserved[id]?.[type] ?? 0));
    }, 0);
  }

  #free(mask: NodeMask, type: string, lent: readonly string[]): number {
    const taken = this.#active(lent)
      .filter((block) => block.type === type && (this.#maskOf(block.numaAffinity) & mask) !== 0)
      .reduce((sum, { size }) => sum + size, 0);
    return this.#whole(mask, type) - taken;
  }

  /** Blocks overlap a mask either wholly or not at all, and a mask of several nodes holds only blocks of exactly those. */
  #keepsGroups(mask: NodeMask, lent: readonly string[]): boolean {
    return this.#active(lent).every((block) => {
      const group = this.#maskOf(block.numaAffinity);
      return (group & mask) === 0 || group === mask;
    });
  }

  #active(lent: readonly string[]): MemoryBlock[] {
    return [...this.#blocks].flatMap(([uid, containers]) =>
      [...containers].flatMap(([name, blocks]) =>
        lent.includes(lentKey(uid, name)) ? [] : blocks.filter(({ size }) => size > 0),
      ),
    );
  }

  /** Init containers of the Pod, which will have ended. */
  #lent(pod: Pod): readonly string[] {
    const uid = pod.metadata.uid ?? '';
    return (pod.spec.initContainers ?? [])
      .filter((container) => !isSidecar(container))
      .map(({ name }) => lentKey(uid, name));
  }
}

const lentKey = (uid: string, name: string) => `${uid}/${name}`;

function memoryRequest(pod: Pod, { resources }: Container): Request | undefined {
  if (qosClass(pod) !== 'Guaranteed' || hasPodLevelResources(pod)) return undefined;
  const request = Object.entries(amountsOf(resources?.requests)).filter(
    ([name, amount]) => amount > 0 && (name === 'memory' || name.startsWith('hugepages-')),
  );
  return request.length === 0 ? undefined : Object.fromEntries(request);
}
