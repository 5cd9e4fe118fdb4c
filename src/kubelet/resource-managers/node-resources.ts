/**
 * Gives Pods processors, memory and devices of their own, as the policies of the node say: asks each kind where it could, joins the answers to
 * one place, takes it there, and remembers all of it in checkpoint files, so that a kubelet that starts anew finds it as it was. A Pod
 * that cannot have what it asks for is refused whole. One Pod after the other: what one takes the next cannot have.
 */
import { podRequests } from '../../api/core/v1/pod-resources.ts';
import { isSidecar } from '../../api/core/v1/pod-status.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Log } from '../../base/log.ts';
import type { KubeletConfiguration } from '../configuration.ts';
import type { NodeDevices } from '../devices/node-devices.ts';
import type { StateFiles } from '../host/host.ts';
import { reservedAmounts } from '../node/capacity.ts';
import type { Rejection } from '../pods/admission.ts';
import { AllocationError } from './allocation-error.ts';
import {
  formatCpuCheckpoint,
  formatMemoryCheckpoint,
  parseCpuCheckpoint,
  parseMemoryCheckpoint,
} from './checkpoint-files.ts';
import { CpuAllocator, wholeCpus } from './cpu-allocator.ts';
import { type CpuSet, formatCpuSet, parseCpuSet } from './cpu-set.ts';
import type { MachineTopology } from './machine-topology.ts';
import { MemoryAllocator, type MemoryBlock } from './memory-allocator.ts';
import { cpuPolicyOptions, topologyPolicyOptions } from './policy-options.ts';
import { mergeHints, type TopologyHint } from './topology-hints.ts';

export interface NodeResourcesOptions {
  readonly configuration: KubeletConfiguration;
  readonly topology: MachineTopology;
  readonly state: StateFiles;
  readonly log: Log;
  /** Absent where no plugin has any. */
  readonly devices?: NodeDevices | undefined;
}

/** Where a container's processes may run and their memory lie; absent: anywhere. */
export interface ContainerPlacement {
  readonly cpusetCpus?: string | undefined;
  readonly cpusetMems?: string | undefined;
}

const cpuFile = 'cpu_manager_state';
const memoryFile = 'memory_manager_state';
const anywhere: TopologyHint = { nodes: undefined, preferred: true };

export class NodeResources {
  readonly #options: NodeResourcesOptions;
  readonly #cpus: CpuAllocator | undefined;
  readonly #memory: MemoryAllocator | undefined;
  readonly #prefersClosest: boolean = false;
  #saving: Promise<void> = Promise.resolve();

  /** Throws when the configuration asks for what cannot be. */
  constructor(options: NodeResourcesOptions) {
    this.#options = options;
    const { configuration, topology } = options;
    if (configuration.topologyManagerPolicy !== 'none') {
      const { prefersClosest, maxNodes } = topologyPolicyOptions(configuration);
      if (topology.nodes.length > maxNodes)
        throw new Error(`unsupported on machines with more than ${maxNodes} NUMA Nodes`);
      this.#prefersClosest = prefersClosest;
    }
    if (configuration.cpuManagerPolicy === 'static') this.#cpus = cpuAllocator(configuration, topology);
    if (configuration.memoryManagerPolicy === 'Static')
      this.#memory = new MemoryAllocator({ topology, reserved: reservedMemory(configuration) });
  }

  /** Whether containers are placed at all. */
  get isActive(): boolean {
    return this.#cpus !== undefined || this.#memory !== undefined;
  }

  /** Whether there is something to decide about the Pod. */
  concerns(pod: Pod): boolean {
    return this.isActive || (this.#options.devices?.concerns(pod) ?? false);
  }

  /** What the kubelet before this one has given away. Throws when it was another policy's or machine's. */
  async restore(): Promise<void> {
    const { configuration } = this.#options;
    const cpus = await this.#read(cpuFile, configuration.cpuManagerPolicy, { title: 'CPU', parse: parseCpuCheckpoint });
    if (cpus && this.#cpus) this.#cpus.restore(cpus);
    const memory = await this.#read(memoryFile, configuration.memoryManagerPolicy, {
      title: 'memory',
      parse: parseMemoryCheckpoint,
    });
    if (memory && this.#memory) this.#memory.restore(memory);
    await this.#save();
  }

  /** Takes what the Pod is to have for itself, or says why it cannot have it; then it has nothing. Not before the one before it is through. */
  async admit(pod: Pod): Promise<Rejection | undefined> {
    const { topologyManagerScope: scope } = this.#options.configuration;
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    try {
      const shared = scope === 'pod' ? this.#placeFor(pod) : undefined;
      for (const container of containers)
        await this.#allocate(pod, container, shared ?? this.#placeFor(pod, container));
    } catch (error) {
      this.release(pod.metadata.uid ?? '');
      if (error instanceof AllocationError) return { reason: error.reason, message: error.message };
      throw error;
    }
    void this.#save();
    return undefined;
  }

  release(podUid: string): void {
    this.#options.devices?.release(podUid);
    if (!this.isActive) return;
    this.#cpus?.release(podUid);
    this.#memory?.release(podUid);
    void this.#save();
  }

  /** Gives back what Pods hold that the node has no more. */
  retain(hasPod: (uid: string) => boolean): void {
    const { devices } = this.#options;
    const uids = [this.#cpus, this.#memory, devices].flatMap((holder) => holder?.podUids() ?? []);
    for (const uid of new Set(uids)) if (!hasPod(uid)) this.release(uid);
  }

  placementOf(podUid: string, container: string): ContainerPlacement {
    const mems = this.#memory?.nodesOf(podUid, container);
    return {
      ...(this.#cpus ? { cpusetCpus: formatCpuSet(this.#cpus.cpusOf(podUid, container)) } : {}),
      ...(mems ? { cpusetMems: formatCpuSet(mems) } : {}),
    };
  }

  /** Those that it has for itself. */
  exclusiveCpus(podUid: string, container: string): CpuSet {
    return this.hasOwnCpus(podUid, container) ? (this.#cpus?.cpusOf(podUid, container) ?? []) : [];
  }

  /** What containers can have for themselves when none has anything; empty where none can. */
  get allocatableCpus(): CpuSet {
    return this.#cpus?.allocatable ?? [];
  }

  memoryOf(podUid: string, container: string): readonly MemoryBlock[] {
    return this.#memory?.blocksOf(podUid, container) ?? [];
  }

  get allocatableMemory(): readonly MemoryBlock[] {
    return this.#memory?.allocatable ?? [];
  }

  /** A quota would hold back a container that has its processors for itself. */
  hasOwnCpus(podUid: string, container: string): boolean {
    return this.#cpus?.hasOwn(podUid, container) ?? false;
  }

  /** Resolves when what is given away is on the disk. */
  get saved(): Promise<void> {
    return this.#saving;
  }

  /** Without a container: for all of the Pod. */
  #placeFor(pod: Pod, container?: Container): TopologyHint {
    const { configuration, devices, topology } = this.#options;
    const policy = configuration.topologyManagerPolicy;
    if (policy === 'none') return anywhere;
    const one = container ?? asOneContainer(pod);
    const hints = [
      ...(devices?.hints(pod, container) ?? []),
      this.#cpus?.hints(pod, one),
      this.#memory?.hints(pod, one),
    ];
    const { hint, admits } = mergeHints(hints, { policy, nodes: topology.nodes, prefersClosest: this.#prefersClosest });
    if (!admits)
      throw new AllocationError('TopologyAffinityError', 'Resources cannot be allocated with Topology locality');
    return hint;
  }

  async #allocate(pod: Pod, container: Container, hint: TopologyHint): Promise<void> {
    await this.#options.devices?.allocate(pod, container, hint);
    this.#cpus?.allocate(pod, container, hint);
    this.#memory?.allocate(pod, container, hint);
  }

  async #read<T extends { readonly policyName: string }>(
    name: string,
    policy: string,
    { title, parse }: { readonly title: string; parse(text: string): T },
  ): Promise<T | undefined> {
    const text = await this.#options.state.read(name);
    if (text === undefined) return undefined;
    const drain = `please drain this node and delete the ${title} manager checkpoint file "${name}" before restarting Kubelet`;
    let found: T;
    try {
      found = parse(text);
    } catch (error) {
      throw new Error(`could not restore state from checkpoint: ${messageOf(error)}, ${drain}`, { cause: error });
    }
    if (found.policyName !== policy)
      throw new Error(
        `could not restore state from checkpoint: configured policy "${policy}" differs from state checkpoint policy "${found.policyName}", ${drain}`,
      );
    return found;
  }

  /** One after the other: the last state is the one that stays. */
  #save(): Promise<void> {
    const { configuration, log, state } = this.#options;
    if (!this.isActive) return this.#saving;
    const cpus = this.#cpus?.checkpoint() ?? {
      policyName: configuration.cpuManagerPolicy,
      defaultCpuSet: '',
      entries: {},
    };
    const memory = this.#memory?.checkpoint() ?? {
      policyName: configuration.memoryManagerPolicy,
      machineState: {},
      entries: {},
    };
    this.#saving = this.#saving
      .then(() => state.write(cpuFile, formatCpuCheckpoint(cpus)))
      .then(() => state.write(memoryFile, formatMemoryCheckpoint(memory)))
      .catch((error) => log.error('cannot store what is given to containers', { error: messageOf(error) }));
    return this.#saving;
  }
}

/** What the Pod asks for in all: its init containers, which run alone, take no more than the others together, or it takes theirs. */
function asOneContainer(pod: Pod): Container {
  const { cpu: _, ...others } = podRequests(pod);
  let sidecars = 0;
  let cpu = 0;
  for (const container of pod.spec.initContainers ?? []) {
    const count = wholeCpus(pod, container);
    cpu = Math.max(cpu, sidecars + count);
    if (isSidecar(container)) sidecars += count;
  }
  cpu = Math.max(
    cpu,
    pod.spec.containers.reduce((sum, container) => sum + wholeCpus(pod, container), sidecars),
  );
  const requests = Object.fromEntries(
    Object.entries({ ...others, cpu }).map(([name, amount]) => [name, String(amount)]),
  );
  return { name: '', resources: { requests } };
}

function cpuAllocator(configuration: KubeletConfiguration, topology: MachineTopology): CpuAllocator {
  const { reservedSystemCpus } = configuration;
  const policy = cpuPolicyOptions(configuration);
  const sockets = new Set(topology.processors.map(({ socket }) => socket)).size;
  if (policy.alignsBySocket && configuration.topologyManagerPolicy === 'single-numa-node')
    throw new Error(
      'Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option',
    );
  if (policy.alignsBySocket && sockets > topology.nodes.length)
    throw new Error(
      'Align by socket is not compatible with hardware where number of sockets are more than number of NUMA',
    );
  const reserved = reservedSystemCpus ? parseCpuSet(reservedSystemCpus) : reservedCount(configuration);
  return new CpuAllocator({ topology, reserved, policy });
}

function reservedCount(configuration: KubeletConfiguration): number {
  const count = Math.ceil((reservedAmounts(configuration).cpu ?? 0) / 1000);
  if (count === 0)
    throw new Error(
      '[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero',
    );
  return count;
}

function reservedMemory({
  reservedMemory: nodes,
}: KubeletConfiguration): Record<number, Readonly<Record<string, number>>> {
  return Object.fromEntries(nodes.map(({ numaNode, limits }) => [numaNode, limits]));
}
