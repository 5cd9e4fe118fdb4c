/** What a runtime measures: processor, memory, disk and network of containers and sandboxes. */
import type { SandboxMetadata } from './sandbox-metadata.ts';

export interface CpuUsage {
  readonly timestampMs: number;
  readonly coreNanoSeconds: number;
  /** Average over the runtime's last interval; absent when it does not compute one. */
  readonly nanoCores?: number | undefined;
}

export interface MemoryUsage {
  readonly timestampMs: number;
  readonly workingSetBytes: number;
  readonly availableBytes?: number | undefined;
  readonly usageBytes?: number | undefined;
  readonly rssBytes?: number | undefined;
  readonly pageFaults?: number | undefined;
  readonly majorPageFaults?: number | undefined;
}

export interface FilesystemUsage {
  readonly timestampMs: number;
  readonly mountpoint: string;
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

export interface ContainerStats {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly cpu?: CpuUsage | undefined;
  readonly memory?: MemoryUsage | undefined;
  readonly writableLayer?: FilesystemUsage | undefined;
}

export interface NetworkInterfaceUsage {
  readonly name: string;
  readonly receivedBytes: number;
  readonly receiveErrors: number;
  readonly sentBytes: number;
  readonly sendErrors: number;
}

export interface SandboxStats {
  readonly id: string;
  readonly metadata: SandboxMetadata;
  readonly labels: Readonly<Record<string, string>>;
  readonly cpu?: CpuUsage | undefined;
  readonly memory?: MemoryUsage | undefined;
  readonly network?:
    | { readonly timestampMs: number; readonly interfaces: readonly NetworkInterfaceUsage[] }
    | undefined;
  readonly processCount?: number | undefined;
  readonly containers: readonly ContainerStats[];
}

export interface StatsFilter {
  readonly id?: string | undefined;
  readonly sandboxId?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}
