/**
 * Processors for containers alone (policy `static`): a container of a Guaranteed Pod that requests whole processors gets as many for
 * itself; all others run on what is left, at least on those that are reserved. Init containers lend theirs to those after them.
 * Changes only itself; who runs containers asks it where.
 */
import { amountOf, hasPodLevelResources } from '../../api/core/v1/pod-resources.ts';
import { isSidecar } from '../../api/core/v1/pod-status.ts';
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { AllocationError } from './allocation-error.ts';
import { takeByTopology } from './cpu-assignment.ts';
import { takeDistributed } from './cpu-distribution.ts';
import { type CpuSet, formatCpuSet, intersection, parseCpuSet, union, without } from './cpu-set.ts';
import {
  type MachineTopology,
  processorsOf,
  processorsOfSockets,
  socketsOf,
  threadsPerCore,
} from './machine-topology.ts';
import type { CpuPolicyOptions } from './policy-options.ts';
import { allMasks, countOf, type NodeMask, nodesIn, type TopologyHint } from './topology-hints.ts';

export interface CpuAllocatorOptions {
  readonly topology: MachineTopology;
  /** Never given away: these, or as many of those that would be given first. */
  readonly reserved: CpuSet | number;
  readonly policy: CpuPolicyOptions;
}

/** As the checkpoint file has it. */
export interface CpuCheckpoint {
  readonly policyName: string;
  readonly defaultCpuSet: string;
  readonly entries: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export class CpuAllocator {
  readonly #topology: MachineTopology;
  readonly #policy: CpuPolicyOptions;
  readonly #reserved: CpuSet;
  readonly #all: CpuSet;
  /** By Pod and container. */
  readonly #given = new Map<string, Map<string, CpuSet>>();
  /** Of init containers that have ended when the next one starts. */
  readonly #reusable = new Map<string, CpuSet>();

  /** Throws when as many cannot be reserved. */
  constructor({ topology, reserved, policy }: CpuAllocatorOptions) {
    this.#topology = topology;
    this.#policy = policy;
    this.#all = topology.processors.map(({ id }) => id).sort((a, b) => a - b);
    const kept = typeof reserved === 'number' ? this.#select(this.#all, reserved) : reserved;
    if (!kept)
      throw new Error(
        `[cpumanager] unable to reserve the required amount of CPUs (size of  did not equal ${reserved})`,
      );
    this.#reserved = kept;
  }

  /** What can be given away when nothing is. */
  get allocatable(): CpuSet {
    return without(this.#all, this.#reserved);
  }

  /** Where containers without processors of their own run. */
  get shared(): CpuSet {
    const given = [...this.#given.values()].flatMap((containers) => [...containers.values()]);
    const left = without(this.#all, union(...given));
    return this.#policy.keepsReservedFree ? without(left, this.#reserved) : left;
  }

  cpusOf(podUid: string, container: string): CpuSet {
    return this.#given.get(podUid)?.get(container) ?? this.shared;
  }

  hasOwn(podUid: string, container: string): boolean {
    return this.#given.get(podUid)?.has(container) ?? false;
  }

  /** Undefined: it takes what it is given; empty: there is no place. */
  hints(pod: Pod, container: Container): readonly TopologyHint[] | undefined {
    const count = wholeCpus(pod, container);
    if (count === 0) return undefined;
    const topology = this.#topology;
    const uid = pod.metadata.uid ?? '';
    const own = this.#given.get(uid)?.get(container.name);
    if (own && own.length !== count) return [];
    const reusable = this.#reusable.get(uid) ?? [];
    const available = own ? [] : this.#assignable();
    const mustInclude = own ?? reusable;
    const masks = allMasks(topology.nodes.length).map((mask) => {
      const cpus = processorsOf(topology, this.#idsOf(mask));
      const includes = intersection(mustInclude, cpus).length === mustInclude.length;
      const free = intersection(union(mustInclude, available), cpus).length;
      return { mask, isLargeEnough: cpus.length >= count, fits: includes && free >= count };
    });
    const smallest = Math.min(...masks.filter(({ isLargeEnough }) => isLargeEnough).map(({ mask }) => countOf(mask)));
    return masks
      .filter(({ fits }) => fits)
      .map(({ mask }) => ({ nodes: mask, preferred: this.#prefers(mask, smallest) }));
  }

  /** As few nodes as can be, or with `align-by-socket` nodes of as few sockets. */
  #prefers(mask: NodeMask, fewestNodes: number): boolean {
    if (countOf(mask) === fewestNodes) return true;
    if (!this.#policy.alignsBySocket) return false;
    const { nodes, processors } = this.#topology;
    const perSocket = Math.floor(nodes.length / new Set(processors.map(({ socket }) => socket)).size);
    return perSocket > 0 && socketsOf(this.#topology, this.#idsOf(mask)).size === Math.ceil(fewestNodes / perSocket);
  }

  #idsOf(mask: NodeMask): readonly number[] {
    return nodesIn(mask).map((place) => this.#topology.nodes[place]!.id);
  }

  /** Throws `AllocationError` when there are not enough. What it already has it keeps. */
  allocate(pod: Pod, container: Container, hint: TopologyHint): void {
    const count = wholeCpus(pod, container);
    const uid = pod.metadata.uid ?? '';
    if (count === 0) return;
    const known = this.#given.get(uid)?.get(container.name);
    if (!known) this.#checkCores(count);
    const cpus = known ?? this.#take(count, this.#reusable.get(uid) ?? [], hint);
    this.#given.set(uid, (this.#given.get(uid) ?? new Map()).set(container.name, cpus));
    this.#lend(pod, container, cpus);
  }

  release(podUid: string): void {
    this.#given.delete(podUid);
    this.#reusable.delete(podUid);
  }

  podUids(): readonly string[] {
    return [...this.#given.keys()];
  }

  checkpoint(): CpuCheckpoint {
    const entries = Object.fromEntries(
      [...this.#given].map(([uid, containers]) => [
        uid,
        Object.fromEntries([...containers].map(([name, cpus]) => [name, formatCpuSet(cpus)])),
      ]),
    );
    return { policyName: 'static', defaultCpuSet: formatCpuSet(this.shared), entries };
  }

  /** Throws when the machine is not the one that it was written on. */
  restore({ entries }: CpuCheckpoint): void {
    for (const [uid, containers] of Object.entries(entries))
      for (const [name, text] of Object.entries(containers)) {
        const cpus = parseCpuSet(text);
        if (without(cpus, this.#all).length > 0)
          throw new Error(
            `current set of available CPUs "${formatCpuSet(this.#all)}" doesn't match with CPUs in state "${text}"`,
          );
        this.#given.set(uid, (this.#given.get(uid) ?? new Map()).set(name, cpus));
      }
  }

  #assignable(): CpuSet {
    return without(this.shared, this.#reserved);
  }

  #checkCores(count: number): void {
    const perCore = threadsPerCore(this.#topology);
    if (!this.#policy.fullCoresOnly) return;
    if (count % perCore !== 0)
      throw new AllocationError(
        'SMTAlignmentError',
        `SMT Alignment Error: requested ${count} cpus not multiple cpus per core = ${perCore}`,
      );
    const free = this.#wholeCores().length;
    if (count > free)
      throw new AllocationError(
        'SMTAlignmentError',
        `SMT Alignment Error: not enough free physical CPUs: available physical CPUs = ${free}, requested CPUs = ${count}, CPUs per core = ${perCore}`,
      );
  }

  /** Processors of cores of which nothing is taken. */
  #wholeCores(): CpuSet {
    const free = new Set(this.#assignable());
    const broken = new Set(this.#topology.processors.filter(({ id }) => !free.has(id)).map(({ core }) => core));
    return this.#topology.processors.filter(({ core }) => !broken.has(core)).map(({ id }) => id);
  }

  #take(count: number, reusable: CpuSet, hint: TopologyHint): CpuSet {
    const { alignsBySocket, fullCoresOnly } = this.#policy;
    const pool = union(fullCoresOnly ? this.#wholeCores() : this.#assignable(), reusable);
    // First what lies where it should, then the rest.
    const nearest = alignsBySocket ? processorsOfSockets : processorsOf;
    const aligned =
      hint.nodes === undefined ? [] : intersection(pool, nearest(this.#topology, this.#idsOf(hint.nodes)));
    const first = this.#select(aligned, Math.min(count, aligned.length)) ?? [];
    const others = without(pool, first);
    const rest = this.#select(others, count - first.length);
    if (!rest)
      throw new AllocationError(
        'UnexpectedAdmissionError',
        `Allocate failed due to not enough cpus available to satisfy request: requested=${count - first.length}, available=${others.length}, which is unexpected`,
      );
    return union(first, rest);
  }

  #select(from: CpuSet, count: number): CpuSet | undefined {
    const { alignsByCache, fullCoresOnly, spreadsOverCores, spreadsOverNodes } = this.#policy;
    if (!spreadsOverNodes) return takeByTopology(this.#topology, from, count, { alignsByCache, spreadsOverCores });
    const groupSize = fullCoresOnly ? threadsPerCore(this.#topology) : 1;
    return takeDistributed(this.#topology, from, count, { groupSize });
  }

  #lend(pod: Pod, container: Container, cpus: CpuSet): void {
    const uid = pod.metadata.uid ?? '';
    const before = this.#reusable.get(uid) ?? [];
    const ends = (pod.spec.initContainers ?? []).some(({ name }) => name === container.name) && !isSidecar(container);
    this.#reusable.set(uid, ends ? union(before, cpus) : without(before, cpus));
  }
}

/** How many processors a container gets for itself. Those of Pods with resources of their own share, as their containers do. */
export function wholeCpus(pod: Pod, { resources }: Container): number {
  if (hasPodLevelResources(pod)) return 0;
  const milli = resources?.requests?.cpu === undefined ? 0 : amountOf('cpu', resources.requests.cpu);
  return qosClass(pod) === 'Guaranteed' && milli % 1000 === 0 ? milli / 1000 : 0;
}
