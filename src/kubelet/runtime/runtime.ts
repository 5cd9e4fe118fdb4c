/**
 * What the kubelet asks of a container runtime: the calls of the Container Runtime Interface that a node needs, as promises with
 * an `AbortSignal`. Times are milliseconds since 1970 (with a fraction), amounts plain numbers. Two implementations: `cri/` speaks
 * gRPC to a real runtime, `simulated/` keeps everything in memory on a `Clock`. `runtime.contract.ts` proves both alike.
 *
 * Every call throws `RuntimeError`; removing or stopping what is not there succeeds, as the interface demands.
 */

import type { SandboxMetadata } from './sandbox-metadata.ts';
import type { ContainerStats, FilesystemUsage, SandboxStats, StatsFilter } from './usage.ts';

export type * from './sandbox-metadata.ts';
export type * from './usage.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export type RuntimeErrorCode =
  | 'cancelled'
  | 'deadlineExceeded'
  | 'invalidArgument'
  | 'notFound'
  | 'alreadyExists'
  | 'unavailable'
  | 'unimplemented'
  | 'unknown';

/** A call that the runtime refused or could not finish. The message is the runtime's own, as upstream's events print it. */
export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string) {
    super(message);
    this.name = 'RuntimeError';
    this.code = code;
  }
}

export const isRuntimeNotFound = (error: unknown): boolean =>
  error instanceof RuntimeError && error.code === 'notFound';

export interface RuntimeVersion {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  /** Version of the interface that was agreed on: `v1` or `v1alpha2`. */
  readonly apiVersion: string;
}

export interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface RuntimeHandler {
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

export interface RuntimeStatus {
  /** `RuntimeReady` and `NetworkReady` at least. */
  readonly conditions: readonly RuntimeCondition[];
  readonly handlers: readonly RuntimeHandler[];
  readonly supplementalGroupsPolicy: boolean;
}

export interface DnsConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export interface PortMapping {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIp: string;
}

/** `node` shares the machine's namespace, `pod` the sandbox's, `container` has its own, `target` that of `targetId`. */
export type NamespaceMode = 'pod' | 'container' | 'node' | 'target';

/** Ids of a container, and what they are on the node. */
export interface IdMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

export interface NamespaceOptions {
  readonly network: NamespaceMode;
  readonly pid: NamespaceMode;
  readonly ipc: NamespaceMode;
  readonly targetId?: string | undefined;
  /** Users and groups of its own; absent: the node's. */
  readonly users?: IdMapping | undefined;
}

export interface SecurityProfile {
  readonly type: 'RuntimeDefault' | 'Unconfined' | 'Localhost';
  readonly localhostRef?: string | undefined;
}

export interface SelinuxOptions {
  readonly user: string;
  readonly role: string;
  readonly type: string;
  readonly level: string;
}

export interface LinuxResources {
  readonly cpuPeriod?: number | undefined;
  readonly cpuQuota?: number | undefined;
  readonly cpuShares?: number | undefined;
  readonly memoryLimitBytes?: number | undefined;
  readonly memorySwapLimitBytes?: number | undefined;
  readonly oomScoreAdj?: number | undefined;
  readonly cpusetCpus?: string | undefined;
  readonly cpusetMems?: string | undefined;
  readonly hugepageLimits?: readonly { readonly pageSize: string; readonly limitBytes: number }[] | undefined;
  /** Files of cgroup v2 and their content. */
  readonly unified?: Readonly<Record<string, string>> | undefined;
}

export interface SandboxSecurity {
  readonly namespaces: NamespaceOptions;
  readonly privileged: boolean;
  readonly readonlyRootfs?: boolean | undefined;
  readonly runAsUser?: number | undefined;
  readonly runAsGroup?: number | undefined;
  readonly supplementalGroups?: readonly number[] | undefined;
  readonly supplementalGroupsPolicy?: 'Merge' | 'Strict' | undefined;
  readonly seccomp?: SecurityProfile | undefined;
  readonly selinux?: SelinuxOptions | undefined;
}

export interface SandboxConfig {
  readonly metadata: SandboxMetadata;
  /** Empty for a Pod on the host's network. */
  readonly hostname: string;
  readonly logDirectory: string;
  readonly dns?: DnsConfig | undefined;
  readonly portMappings: readonly PortMapping[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly cgroupParent: string;
  readonly sysctls: Readonly<Record<string, string>>;
  readonly security: SandboxSecurity;
  readonly resources?: LinuxResources | undefined;
  readonly overhead?: LinuxResources | undefined;
}

export type SandboxState = 'ready' | 'notReady';

export interface Sandbox {
  readonly id: string;
  readonly metadata: SandboxMetadata;
  readonly state: SandboxState;
  readonly createdAtMs: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly runtimeHandler: string;
}

export interface SandboxStatus extends Sandbox {
  /** The primary address first; empty on the host's network. */
  readonly ips: readonly string[];
  readonly namespaces: NamespaceOptions;
}

export interface ImageSpec {
  readonly image: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly userSpecifiedImage?: string | undefined;
  readonly runtimeHandler?: string | undefined;
}

export interface Mount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readonly: boolean;
  readonly selinuxRelabel?: boolean | undefined;
  readonly recursiveReadonly?: boolean | undefined;
  readonly propagation?: 'private' | 'hostToContainer' | 'bidirectional' | undefined;
  /** Mounted instead of a path of the host, which is then empty. */
  readonly image?: ImageSpec | undefined;
  /** Part of that image. */
  readonly imageSubPath?: string | undefined;
}

export interface Device {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly permissions: string;
}

export interface ContainerSecurity {
  readonly namespaces: NamespaceOptions;
  readonly privileged: boolean;
  readonly readonlyRootfs: boolean;
  readonly noNewPrivileges: boolean;
  readonly addCapabilities: readonly string[];
  readonly dropCapabilities: readonly string[];
  readonly runAsUser?: number | undefined;
  readonly runAsUsername?: string | undefined;
  readonly runAsGroup?: number | undefined;
  readonly supplementalGroups: readonly number[];
  readonly supplementalGroupsPolicy?: 'Merge' | 'Strict' | undefined;
  readonly maskedPaths: readonly string[];
  readonly readonlyPaths: readonly string[];
  readonly seccomp?: SecurityProfile | undefined;
  readonly apparmor?: SecurityProfile | undefined;
  readonly selinux?: SelinuxOptions | undefined;
}

export interface EnvironmentVariable {
  readonly name: string;
  readonly value: string;
}

export interface ContainerConfig {
  readonly name: string;
  /** How often a container of this name was made in this Pod before. */
  readonly attempt: number;
  readonly image: ImageSpec;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDirectory: string;
  readonly environment: readonly EnvironmentVariable[];
  readonly mounts: readonly Mount[];
  readonly devices: readonly Device[];
  /** Of the Container Device Interface, by their full names. */
  readonly cdiDevices?: readonly string[] | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Relative to the sandbox's log directory. */
  readonly logPath: string;
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  readonly tty: boolean;
  readonly resources: LinuxResources;
  readonly security: ContainerSecurity;
  /** Name of the signal that asks it to end, e.g. `SIGUSR1`; absent: the image's, or SIGTERM. */
  readonly stopSignal?: string | undefined;
}

export type ContainerState = 'created' | 'running' | 'exited' | 'unknown';

export interface Container {
  readonly id: string;
  readonly sandboxId: string;
  readonly name: string;
  readonly attempt: number;
  readonly image: string;
  /** What the runtime knows the image by: in containerd the digest of its config. */
  readonly imageRef: string;
  readonly imageId: string;
  readonly state: ContainerState;
  readonly createdAtMs: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface ContainerStatus extends Omit<Container, 'sandboxId'> {
  /** 0 as long as it was not started. */
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  readonly exitCode: number;
  /** `Completed`, `Error`, `OOMKilled`, or the runtime's own word. */
  readonly reason: string;
  readonly message: string;
  readonly mounts: readonly Mount[];
  readonly logPath: string;
  readonly resources?: LinuxResources | undefined;
  readonly user?:
    | { readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[] }
    | undefined;
  readonly stopSignal?: string | undefined;
}

export interface SandboxFilter {
  readonly id?: string | undefined;
  readonly state?: SandboxState | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export interface ContainerFilter {
  readonly id?: string | undefined;
  readonly state?: ContainerState | undefined;
  readonly sandboxId?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export interface ExecResult {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly exitCode: number;
}

export interface StreamingRequest {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The two ends of a session that runs in this process: what a simulated runtime offers instead of a URL. */
export interface LocalStreams {
  /** Ends when the client closes its side. */
  readonly stdin: AsyncIterable<Uint8Array>;
  stdout(chunk: Uint8Array): void;
  stderr(chunk: Uint8Array): void;
}

/**
 * Where an exec, attach or port-forward session goes on: a URL of the runtime's streaming server, to which the upgraded
 * connection is proxied, or a session in this process (`run` resolves with the exit code; for port-forward it is called once per
 * connection with the port).
 */
export type StreamingEndpoint =
  | { readonly kind: 'url'; readonly url: string }
  | {
      readonly kind: 'local';
      run(streams: LocalStreams, options: { readonly signal: AbortSignal; readonly port?: number }): Promise<number>;
    };

export interface Image {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
  /** The user that the image runs as: a number, or a name. */
  readonly uid?: number | undefined;
  readonly username: string;
  readonly pinned: boolean;
}

export interface RegistryCredentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly auth?: string | undefined;
  readonly serverAddress?: string | undefined;
  readonly identityToken?: string | undefined;
  readonly registryToken?: string | undefined;
}

export interface ImageFsInfo {
  readonly imageFilesystems: readonly FilesystemUsage[];
  readonly containerFilesystems: readonly FilesystemUsage[];
}

export interface ContainerEvent {
  readonly containerId: string;
  readonly type: 'created' | 'started' | 'stopped' | 'deleted';
  readonly createdAtMs: number;
  /** The Pod that it belongs to. */
  readonly podUid: string;
}

export interface ContainerRuntime {
  version(options?: CallOptions): Promise<RuntimeVersion>;
  status(options?: CallOptions): Promise<RuntimeStatus>;

  /** Makes and starts a sandbox; its id. */
  runPodSandbox(
    config: SandboxConfig,
    options?: CallOptions & { readonly runtimeHandler?: string | undefined },
  ): Promise<string>;
  /** Ends what runs in it at once and gives back its network. */
  stopPodSandbox(id: string, options?: CallOptions): Promise<void>;
  removePodSandbox(id: string, options?: CallOptions): Promise<void>;
  podSandboxStatus(id: string, options?: CallOptions): Promise<SandboxStatus>;
  listPodSandboxes(filter?: SandboxFilter, options?: CallOptions): Promise<readonly Sandbox[]>;

  /** Makes a container without starting it; its id. */
  createContainer(
    sandboxId: string,
    config: ContainerConfig,
    sandbox: SandboxConfig,
    options?: CallOptions,
  ): Promise<string>;
  startContainer(id: string, options?: CallOptions): Promise<void>;
  /** Asks it to end, and ends it by force after `timeoutSeconds`; resolves when it has ended. */
  stopContainer(id: string, timeoutSeconds: number, options?: CallOptions): Promise<void>;
  removeContainer(id: string, options?: CallOptions): Promise<void>;
  listContainers(filter?: ContainerFilter, options?: CallOptions): Promise<readonly Container[]>;
  containerStatus(id: string, options?: CallOptions): Promise<ContainerStatus>;
  updateContainerResources(id: string, resources: LinuxResources, options?: CallOptions): Promise<void>;
  /** Writes a running container's state into an archive; `unimplemented` where the runtime cannot. */
  checkpointContainer(
    id: string,
    location: string,
    options?: CallOptions & { readonly timeoutSeconds?: number | undefined },
  ): Promise<void>;
  /** Tells the runtime that the log file was moved away. */
  reopenContainerLog(id: string, options?: CallOptions): Promise<void>;

  /** Runs a command to its end; `deadlineExceeded` when it takes longer than `timeoutSeconds` (0: no limit). */
  execSync(
    id: string,
    command: readonly string[],
    options?: CallOptions & { readonly timeoutSeconds?: number },
  ): Promise<ExecResult>;
  exec(
    id: string,
    command: readonly string[],
    request: StreamingRequest,
    options?: CallOptions,
  ): Promise<StreamingEndpoint>;
  attach(id: string, request: StreamingRequest, options?: CallOptions): Promise<StreamingEndpoint>;
  portForward(sandboxId: string, ports: readonly number[], options?: CallOptions): Promise<StreamingEndpoint>;

  containerStats(id: string, options?: CallOptions): Promise<ContainerStats>;
  listContainerStats(filter?: StatsFilter, options?: CallOptions): Promise<readonly ContainerStats[]>;
  podSandboxStats(id: string, options?: CallOptions): Promise<SandboxStats>;

  /** Undefined when the image is not there. */
  imageStatus(image: ImageSpec, options?: CallOptions): Promise<Image | undefined>;
  listImages(options?: CallOptions): Promise<readonly Image[]>;
  /** The reference by which containers are made from the image. */
  pullImage(
    image: ImageSpec,
    options?: CallOptions & {
      readonly credentials?: RegistryCredentials | undefined;
      readonly sandbox?: SandboxConfig | undefined;
    },
  ): Promise<string>;
  removeImage(image: ImageSpec, options?: CallOptions): Promise<void>;
  imageFsInfo(options?: CallOptions): Promise<ImageFsInfo>;

  /** What happens to containers, as it happens; rejects with `unimplemented` where the runtime cannot tell. */
  containerEvents(options?: CallOptions): AsyncIterable<ContainerEvent>;
  /** Ends connections. */
  close(): void;
}

/** Labels that tie sandboxes and containers to their Pod: all the kubelet knows after it restarted. */
export const runtimeLabels = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  containerName: 'io.kubernetes.container.name',
} as const;

/** Annotations that containers carry for the kubelet's own later use. */
export const runtimeAnnotations = {
  containerHash: 'io.kubernetes.container.hash',
  restartCount: 'io.kubernetes.container.restartCount',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  ports: 'io.kubernetes.container.ports',
  preStopHandler: 'io.kubernetes.container.preStopHandler',
  /** `init`, `sidecar`, `regular` or `ephemeral`. */
  kind: 'io.coracle.container.kind',
  podDeletionGracePeriod: 'io.kubernetes.pod.deletionGracePeriod',
  podTerminationGracePeriod: 'io.kubernetes.pod.terminationGracePeriod',
} as const;
