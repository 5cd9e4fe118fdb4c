/** What eviction decides on: how much of the node is left, and what each Pod uses of it. */
import type { DiskUse, MachineFacts, MachineUsage, PodsMemory } from '../host/host.ts';
import type { Signal } from './thresholds.ts';

export interface ContainerUse {
  readonly name: string;
  readonly memoryBytes?: number | undefined;
  /** Its writable layer. */
  readonly layer?: DiskUse | undefined;
  readonly logs?: DiskUse | undefined;
}

export interface PodUse {
  readonly memoryBytes: number;
  readonly processes: number;
  readonly containers: readonly ContainerUse[];
  /** Local volumes by name. */
  readonly volumes: ReadonlyMap<string, DiskUse>;
}

/** How much of a resource is left of how much. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

export type Observations = ReadonlyMap<Signal, Observation>;

export function observationsOf(
  facts: MachineFacts,
  usage: MachineUsage,
  podsMemory: PodsMemory | undefined,
): Observations {
  const { nodefs, imagefs, pidsMax, pidsUsed } = usage;
  const observations = new Map<Signal, Observation>([
    ['memory.available', { available: usage.memoryAvailableBytes, capacity: facts.memoryBytes }],
    ['pid.available', { available: pidsMax - pidsUsed, capacity: pidsMax }],
  ]);
  for (const [name, space] of [
    ['nodefs', nodefs],
    ['imagefs', imagefs],
    ['containerfs', imagefs],
  ] as const) {
    observations.set(`${name}.available`, { available: space.availableBytes, capacity: space.capacityBytes });
    // Some file systems count no inodes.
    if (space.inodes > 0)
      observations.set(`${name}.inodesFree`, { available: space.inodesFree, capacity: space.inodes });
  }
  if (podsMemory) {
    const { limitBytes, workingSetBytes } = podsMemory;
    observations.set('allocatableMemory.available', {
      available: Math.max(0, limitBytes - workingSetBytes),
      capacity: limitBytes,
    });
  }
  return observations;
}
