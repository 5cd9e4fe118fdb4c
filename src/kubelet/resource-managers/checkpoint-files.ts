/**
 * The checkpoint files of processors and of memory, `cpu_manager_state` and `memory_manager_state`, as upstream's kubelet writes and reads
 * them: a node may change from one kubelet to the other and back. Their checksum is FNV-1a over what Go's spew prints of the data,
 * types and all; a file without one is taken as it is.
 *
 *     {"policyName":"static","defaultCpuSet":"0-1,4-7","entries":{"uid":{"main":"2-3"}},"checksum":3680390589}
 */
import { fnv1a } from '../../base/fnv.ts';
import type { CpuCheckpoint } from './cpu-allocator.ts';
import type { MemoryBlock, MemoryCheckpoint, MemoryTable, NodeMemoryState } from './memory-allocator.ts';

interface Written {
  readonly checksum?: number | undefined;
}

export function formatCpuCheckpoint(checkpoint: CpuCheckpoint): string {
  return JSON.stringify({ ...withoutEmptyEntries(checkpoint), checksum: fnv1a(cpuText(checkpoint)) });
}

export function formatMemoryCheckpoint(checkpoint: MemoryCheckpoint): string {
  return JSON.stringify({ ...withoutEmptyEntries(checkpoint), checksum: fnv1a(memoryText(checkpoint)) });
}

/** Throws for what is no checkpoint, and for one that was changed by others. */
export function parseCpuCheckpoint(text: string): CpuCheckpoint {
  const { checksum, ...rest } = JSON.parse(text) as Partial<CpuCheckpoint> & Written;
  const checkpoint = { policyName: '', defaultCpuSet: '', entries: {}, ...rest };
  return verified(checkpoint, checksum, cpuText);
}

/** Throws for what is no checkpoint, and for one that was changed by others. */
export function parseMemoryCheckpoint(text: string): MemoryCheckpoint {
  const { checksum, ...rest } = JSON.parse(text) as Partial<MemoryCheckpoint> & Written;
  const checkpoint = { policyName: '', machineState: {}, entries: {}, ...rest };
  return verified(checkpoint, checksum, memoryText);
}

function verified<T>(checkpoint: T, checksum: number | undefined, textOf: (checkpoint: T) => string): T {
  if (checksum && fnv1a(textOf(checkpoint)) !== checksum) throw new Error('checkpoint is corrupted');
  return checkpoint;
}

function withoutEmptyEntries<T extends { readonly entries: object }>(checkpoint: T): Partial<T> {
  const { entries, ...rest } = checkpoint;
  return (Object.keys(entries).length > 0 ? checkpoint : rest) as Partial<T>;
}

function cpuText({ policyName, defaultCpuSet, entries }: CpuCheckpoint): string {
  const pods = map(entries, (containers) => map(containers, (cpus) => cpus));
  return (
    `(*state.CPUManagerCheckpoint){PolicyName:(string)${policyName} DefaultCPUSet:(string)${defaultCpuSet} ` +
    `Entries:(map[string]map[string]string)${pods} Checksum:(checksum.Checksum)0}`
  );
}

function memoryText({ policyName, machineState, entries }: MemoryCheckpoint): string {
  const pods = map(entries, (containers) => map(containers, (blocks) => list(blocks, blockText)));
  return (
    `(*state.MemoryManagerCheckpoint){PolicyName:(string)${policyName} ` +
    `MachineState:(state.NUMANodeMap)${map(machineState, nodeText, byNumber)} ` +
    `Entries:(state.ContainerMemoryAssignments)${pods} Checksum:(checksum.Checksum)0}`
  );
}

function nodeText({ numberOfAssignments, memoryMap, cells }: NodeMemoryState): string {
  return (
    `<*>{NumberOfAssignments:(int)${numberOfAssignments} ` +
    `MemoryMap:(map[v1.ResourceName]*state.MemoryTable)${map(memoryMap, tableText)} Cells:([]int)${list(cells, String)}}`
  );
}

function tableText({ total, systemReserved, allocatable, reserved, free }: MemoryTable): string {
  return (
    `<*>{TotalMemSize:(uint64)${total} SystemReserved:(uint64)${systemReserved} Allocatable:(uint64)${allocatable} ` +
    `Reserved:(uint64)${reserved} Free:(uint64)${free}}`
  );
}

function blockText({ numaAffinity, type, size }: MemoryBlock): string {
  return `{NUMAAffinity:([]int)${list(numaAffinity, String)} Type:(v1.ResourceName)${type} Size:(uint64)${size}}`;
}

const byText = (a: string, b: string): number => (a < b ? -1 : 1);
const byNumber = (a: string, b: string) => Number(a) - Number(b);

function map<T>(of: Readonly<Record<string, T>>, text: (value: T) => string, order = byText): string {
  const keys = Object.keys(of).sort(order);
  return `map[${keys.map((key) => `${key}:${text(of[key]!)}`).join(' ')}]`;
}

function list<T>(of: readonly T[] | null, text: (value: T) => string): string {
  return of ? `[${of.map(text).join(' ')}]` : '<nil>';
}
