/**
 * The machine under a node, as the kubelet needs it: facts, files, volumes, cgroups and the network that probes use. `linux-host.ts`
 * is the real one; `simulated-host.ts` touches nothing, so that thousands of nodes fit into one process on virtual time.
 */
import type { Container, Pod, PodQOSClass } from '../../api/gen/core-v1.ts';
import type { CgroupLimits, CgroupVersion, NodeCgroupLimits } from '../cgroups/cgroup-limits.ts';
import type { CsiFolders } from '../csi/csi-folders.ts';
import type { LogRecord } from '../logs/container-log.ts';
import type { PluginSockets } from '../plugins/plugin-sockets.ts';
import type { MachineTopology } from '../resource-managers/machine-topology.ts';
import type { ContainerStatus, Mount } from '../runtime/runtime.ts';
import type { LocalPayload } from '../volumes/payload.ts';
import type { IdRange } from './subordinate-ids.ts';

export interface DiskUse {
  readonly bytes: number;
  readonly inodes: number;
}

/** Memory of the cgroup that all Pods are in, where it has a limit. */
export interface PodsMemory {
  readonly limitBytes: number;
  readonly workingSetBytes: number;
}

export interface MachineFacts {
  readonly cpuCount: number;
  readonly memoryBytes: number;
  readonly hugepages: Readonly<Record<string, number>>;
  readonly ephemeralStorageBytes: number;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly operatingSystem: string;
  readonly architecture: string;
  readonly swapBytes: number;
  readonly cgroupVersion: CgroupVersion;
  /** Whether the use of swap can be limited. */
  readonly hasSwapController: boolean;
  /** Process ids that there are. */
  readonly pidsMax: number;
}

export interface FilesystemSpace {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface MachineUsage {
  readonly memoryAvailableBytes: number;
  readonly nodefs: FilesystemSpace;
  readonly imagefs: FilesystemSpace;
  /** Images, and with them containers' layers, lie on another file system than the rest. */
  readonly dedicatedImageFs: boolean;
  readonly pidsMax: number;
  readonly pidsUsed: number;
}

/** Which mount of which container wants a part of which volume. */
export interface SubPathUse {
  readonly volume: string;
  readonly volumePath: string;
  readonly container: string;
  /** Of the mount in its container. */
  readonly index: number;
}

/** Volumes of a Pod on the node. */
export interface PodVolumes {
  /** Makes or refreshes one volume; where containers mount it from. */
  mount(pod: Pod, payload: LocalPayload): Promise<string>;
  /** Where a container mounts a part of a volume from. Made when missing; never outside the volume, whatever the Pod does to it. */
  subPath(pod: Pod, path: string, use: SubPathUse): Promise<string>;
  /** Parts of volumes hold what they are parts of: they go before a volume that others unmount. */
  unmountSubPaths(podUid: string): Promise<void>;
  unmountAll(podUid: string): Promise<void>;
}

/** Shares of time in percent, over 10, 60 and 300 seconds, and the whole in microseconds. */
export interface StallTimes {
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
  readonly total: number;
}

/** Some, or all of the processes that could run, waited. */
export interface Stalls {
  readonly some: StallTimes;
  readonly full: StallTimes;
}

export interface PressureStalls {
  readonly cpu: Stalls;
  readonly memory: Stalls;
  readonly io: Stalls;
}

export interface PodCgroups {
  /** What sandboxes name as their parent. */
  parentOf(pod: Pod): string;
  /** Makes the Pod's cgroup with its limits, or updates them. Rejects when that fails now, and may not the next time. */
  ensure(pod: Pod, limits: CgroupLimits): Promise<void>;
  /** Makes the groups above Pods, or updates them; false where they are not the kubelet's, and rejects as `ensure` does. */
  ensureNode(limits: () => NodeCgroupLimits): Promise<boolean>;
  /** Of a group that others made. */
  limitExisting(path: string, limits: CgroupLimits): Promise<void>;
  remove(podUid: string, qos: PodQOSClass): Promise<void>;
  /** How many processes of the Pod the kernel has killed because its memory ran out; undefined where nobody counts them. */
  oomKills(pod: Pod): Promise<number | undefined>;
  /** Whether the kernel says that it killed that container because its memory ran out: for where nobody counts. */
  wasOomKilled(containerId: string): boolean;
  /** How long processes of the Pod waited; undefined where nobody measures it. */
  pressure(pod: Pod): Promise<PressureStalls | undefined>;
  /** Of the group that all Pods are in; undefined where it has no limit. */
  podsMemory(): Promise<PodsMemory | undefined>;
}

/** Of one Pod. */
export interface PodDiskUse {
  /** By container. */
  readonly logs: ReadonlyMap<string, DiskUse>;
  /** By volume: those that lie on a disk of the node. */
  readonly volumes: ReadonlyMap<string, DiskUse>;
}

export interface PodFiles {
  logDirectory(pod: Pod): string;
  /** Makes the Pod's folders. */
  prepare(pod: Pod): Promise<void>;
  prepareContainer(pod: Pod, container: Container, attempt: number): Promise<void>;
  /** Writes the Pod's `/etc/hosts`; mount of it, or undefined where there are no files. */
  hosts(pod: Pod, content: string): Promise<Mount | undefined>;
  hostEtcHosts(): Promise<string>;
  resolvConf(path: string): Promise<string>;
  terminationLog(pod: Pod, container: Container): Promise<Mount | undefined>;
  /** Of an exited container, by its termination message path and policy. */
  terminationMessage(container: ContainerStatus): Promise<string | undefined>;
  /** For collectors that look for logs by container name. */
  linkLog(pod: Pod, container: Container, containerId: string, attempt: number): Promise<void>;
  unlinkLog(container: ContainerStatus): Promise<void>;
  removePod(podUid: string): Promise<void>;
  removeLogs(pod: Pod): Promise<void>;
  /** Log folders of Pods that are not there any more, and links that lead nowhere. */
  removeOrphanedLogs(hasPod: (uid: string) => boolean): Promise<void>;
  /** Pods that have a folder. */
  podUids(): Promise<readonly string[]>;
}

export interface LogReading {
  /** Begin that many records before the end. */
  readonly tail?: number | undefined;
  /** Wait for more until the container has ended. */
  readonly follow: boolean;
  isRunning(): Promise<boolean>;
  readonly signal?: AbortSignal | undefined;
}

export interface ContainerLogs {
  /** Records of the log at that path, as the container's status names it. */
  read(path: string, reading: LogReading): AsyncIterable<LogRecord>;
  /** Moves a log away that has grown beyond its size. Absent where logs do not grow. */
  rotate?(path: string, rotation: LogRotation): Promise<void>;
  /** Removes a log and all that was rotated out of it. */
  remove?(path: string): Promise<void>;
}

export interface LogRotation {
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly nowMs: number;
  /** Makes the runtime write into a new file. */
  reopen(): Promise<void>;
}

/** `warning`: passed, with something that its owner should know. */
export type ProbeOutcome = {
  readonly result: 'success' | 'warning' | 'failure' | 'unknown';
  readonly output: string;
};

export interface NetworkProber {
  http(target: HttpTarget, timeoutMs: number, signal: AbortSignal): Promise<ProbeOutcome>;
  tcp(host: string, port: number, timeoutMs: number, signal: AbortSignal): Promise<ProbeOutcome>;
  grpc(host: string, port: number, service: string, timeoutMs: number, signal: AbortSignal): Promise<ProbeOutcome>;
}

export interface HttpTarget {
  readonly url: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

/** Tells when the machine is about to be switched off, and can delay it. */
export interface ShutdownSource {
  /** How long locks are respected at most. */
  longestDelayMs(): Promise<number>;
  raiseLongestDelay(delayMs: number): Promise<void>;
  /** Holds a lock from then on; call the result to let go of it. */
  delayShutdown(): Promise<() => void>;
  /** Heard from when this resolves: true before a shutdown, false when it is called off. Ends when nothing can be heard any more. */
  announcements(signal: AbortSignal): Promise<AsyncIterable<boolean>>;
}

/** Small files in which the kubelet remembers across its own restarts. */
export interface StateFiles {
  /** Undefined when it is not there. */
  read(name: string): Promise<string | undefined>;
  /** Whole or not at all. */
  write(name: string, text: string): Promise<void>;
}

/** Where the kubelet and programs of the node meet on sockets. */
export interface SocketFolder {
  readonly path: string;
  readonly state: StateFiles;
  /** Makes it, and removes the sockets in it, which are those of processes that ended. */
  clear(): Promise<void>;
}

/** With folders below it: names may hold slashes. */
export interface StateFolder extends StateFiles {
  /** Finished files of that folder; empty when it is not there. */
  names(folder: string): Promise<readonly string[]>;
  /** Nothing happens when it is not there. */
  remove(name: string): Promise<void>;
}

export interface NodeHost {
  facts(): Promise<MachineFacts>;
  usage(): Promise<MachineUsage>;
  /** How long processes of the machine waited; undefined where nobody measures it. */
  pressure(): Promise<PressureStalls | undefined>;
  /** The machine's own addresses, the one of the default route first; one per family. */
  addresses(): readonly string[];
  /** Calls back when a file of the folder changes, until the signal is aborted. */
  watchDirectory(path: string, onChange: () => void, signal: AbortSignal): void;
  /** The files of a folder with their contents; empty when it does not exist. */
  readDirectory(path: string): Promise<readonly { readonly name: string; readonly content: string }[]>;
  readonly volumes: PodVolumes;
  readonly cgroups: PodCgroups;
  readonly files: PodFiles;
  readonly network: NetworkProber;
  readonly logs: ContainerLogs;
  readonly state: StateFolder;
  /** Absent where processors and memory cannot be chosen. */
  topology?(): Promise<MachineTopology>;
  /** What the machine keeps for users of Pods; undefined, or absent: nothing in particular. */
  subordinateIds?(): Promise<IdRange | undefined>;
  /** Absent where shutdowns cannot be delayed. */
  readonly shutdown?: ShutdownSource | undefined;
  /** Where CSI volumes lie; absent where there can be none. */
  readonly csiFolders?: CsiFolders | undefined;
  /** Where plugins of the node show themselves; absent where there can be none. */
  readonly pluginSockets?: PluginSockets | undefined;
  /** Absent where no plugin has devices. */
  readonly devicePlugins?: SocketFolder | undefined;
  /** Where others ask what containers hold; absent where nobody does. */
  readonly podResources?: SocketFolder | undefined;
  /** Absent where Pods take no disk. */
  podDiskUse?(pod: Pod): Promise<PodDiskUse>;
}
