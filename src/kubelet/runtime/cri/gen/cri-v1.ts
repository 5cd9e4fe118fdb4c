/** The Container Runtime Interface v1. Derived from facts/cri/cri-v1.json by scripts/generate-grpc.ts: change the facts, not this file. */
import { type GrpcService, WireTable } from '../../../grpc/codec.ts';

export type Protocol = 'TCP' | 'UDP' | 'SCTP';

export type MountPropagation = 'PROPAGATION_PRIVATE' | 'PROPAGATION_HOST_TO_CONTAINER' | 'PROPAGATION_BIDIRECTIONAL';

export type NamespaceMode = 'POD' | 'CONTAINER' | 'NODE' | 'TARGET';

export type SupplementalGroupsPolicy = 'Merge' | 'Strict';

export type SecurityProfileProfileType = 'RuntimeDefault' | 'Unconfined' | 'Localhost';

export type PodSandboxState = 'SANDBOX_READY' | 'SANDBOX_NOTREADY';

export type Signal = 'RUNTIME_DEFAULT' | 'SIGABRT' | 'SIGALRM' | 'SIGBUS' | 'SIGCHLD' | 'SIGCLD' | 'SIGCONT' | 'SIGFPE' | 'SIGHUP' | 'SIGILL' | 'SIGINT' | 'SIGIO' | 'SIGIOT' | 'SIGKILL' | 'SIGPIPE' | 'SIGPOLL' | 'SIGPROF' | 'SIGPWR' | 'SIGQUIT' | 'SIGSEGV' | 'SIGSTKFLT' | 'SIGSTOP' | 'SIGSYS' | 'SIGTERM' | 'SIGTRAP' | 'SIGTSTP' | 'SIGTTIN' | 'SIGTTOU' | 'SIGURG' | 'SIGUSR1' | 'SIGUSR2' | 'SIGVTALRM' | 'SIGWINCH' | 'SIGXCPU' | 'SIGXFSZ' | 'SIGRTMIN' | 'SIGRTMINPLUS1' | 'SIGRTMINPLUS2' | 'SIGRTMINPLUS3' | 'SIGRTMINPLUS4' | 'SIGRTMINPLUS5' | 'SIGRTMINPLUS6' | 'SIGRTMINPLUS7' | 'SIGRTMINPLUS8' | 'SIGRTMINPLUS9' | 'SIGRTMINPLUS10' | 'SIGRTMINPLUS11' | 'SIGRTMINPLUS12' | 'SIGRTMINPLUS13' | 'SIGRTMINPLUS14' | 'SIGRTMINPLUS15' | 'SIGRTMAXMINUS14' | 'SIGRTMAXMINUS13' | 'SIGRTMAXMINUS12' | 'SIGRTMAXMINUS11' | 'SIGRTMAXMINUS10' | 'SIGRTMAXMINUS9' | 'SIGRTMAXMINUS8' | 'SIGRTMAXMINUS7' | 'SIGRTMAXMINUS6' | 'SIGRTMAXMINUS5' | 'SIGRTMAXMINUS4' | 'SIGRTMAXMINUS3' | 'SIGRTMAXMINUS2' | 'SIGRTMAXMINUS1' | 'SIGRTMAX';

export type ContainerState = 'CONTAINER_CREATED' | 'CONTAINER_RUNNING' | 'CONTAINER_EXITED' | 'CONTAINER_UNKNOWN';

export type ContainerEventType = 'CONTAINER_CREATED_EVENT' | 'CONTAINER_STARTED_EVENT' | 'CONTAINER_STOPPED_EVENT' | 'CONTAINER_DELETED_EVENT';

export type MetricType = 'COUNTER' | 'GAUGE';

export type CgroupDriver = 'SYSTEMD' | 'CGROUPFS';

export interface VersionRequest {
  readonly version: string;
}

export interface VersionResponse {
  readonly version: string;
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly runtimeApiVersion: string;
}

export interface DNSConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export interface PortMapping {
  readonly protocol: Protocol;
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIp: string;
}

export interface Mount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readonly: boolean;
  readonly selinuxRelabel: boolean;
  readonly propagation: MountPropagation;
  readonly uidMappings: readonly IDMapping[];
  readonly gidMappings: readonly IDMapping[];
  readonly recursiveReadOnly: boolean;
  readonly image?: ImageSpec | undefined;
  readonly imageSubPath: string;
}

export interface IDMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

export interface UserNamespace {
  readonly mode: NamespaceMode;
  readonly uids: readonly IDMapping[];
  readonly gids: readonly IDMapping[];
}

export interface NamespaceOption {
  readonly network: NamespaceMode;
  readonly pid: NamespaceMode;
  readonly ipc: NamespaceMode;
  readonly targetId: string;
  readonly usernsOptions?: UserNamespace | undefined;
}

export interface Int64Value {
  readonly value: bigint;
}

export interface LinuxSandboxSecurityContext {
  readonly namespaceOptions?: NamespaceOption | undefined;
  readonly selinuxOptions?: SELinuxOption | undefined;
  readonly runAsUser?: Int64Value | undefined;
  readonly runAsGroup?: Int64Value | undefined;
  readonly readonlyRootfs: boolean;
  readonly supplementalGroups: readonly bigint[];
  readonly supplementalGroupsPolicy: SupplementalGroupsPolicy;
  readonly privileged: boolean;
  readonly seccomp?: SecurityProfile | undefined;
  readonly apparmor?: SecurityProfile | undefined;
  readonly seccompProfilePath: string;
}

export interface SecurityProfile {
  readonly profileType: SecurityProfileProfileType;
  readonly localhostRef: string;
}

export interface LinuxPodSandboxConfig {
  readonly cgroupParent: string;
  readonly securityContext?: LinuxSandboxSecurityContext | undefined;
  readonly sysctls: Readonly<Record<string, string>>;
  readonly overhead?: LinuxContainerResources | undefined;
  readonly resources?: LinuxContainerResources | undefined;
}

export interface PodSandboxMetadata {
  readonly name: string;
  readonly uid: string;
  readonly namespace: string;
  readonly attempt: number;
}

export interface PodSandboxConfig {
  readonly metadata?: PodSandboxMetadata | undefined;
  readonly hostname: string;
  readonly logDirectory: string;
  readonly dnsConfig?: DNSConfig | undefined;
  readonly portMappings: readonly PortMapping[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly linux?: LinuxPodSandboxConfig | undefined;
}

export interface RunPodSandboxRequest {
  readonly config?: PodSandboxConfig | undefined;
  readonly runtimeHandler: string;
}

export interface RunPodSandboxResponse {
  readonly podSandboxId: string;
}

export interface StopPodSandboxRequest {
  readonly podSandboxId: string;
}

export type StopPodSandboxResponse = Readonly<Record<never, never>>;

export interface RemovePodSandboxRequest {
  readonly podSandboxId: string;
}

export type RemovePodSandboxResponse = Readonly<Record<never, never>>;

export interface PodSandboxStatusRequest {
  readonly podSandboxId: string;
  readonly verbose: boolean;
}

export interface PodIP {
  readonly ip: string;
}

export interface PodSandboxNetworkStatus {
  readonly ip: string;
  readonly additionalIps: readonly PodIP[];
}

export interface Namespace {
  readonly options?: NamespaceOption | undefined;
}

export interface LinuxPodSandboxStatus {
  readonly namespaces?: Namespace | undefined;
}

export interface PodSandboxStatus {
  readonly id: string;
  readonly metadata?: PodSandboxMetadata | undefined;
  readonly state: PodSandboxState;
  readonly createdAt: bigint;
  readonly network?: PodSandboxNetworkStatus | undefined;
  readonly linux?: LinuxPodSandboxStatus | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly runtimeHandler: string;
}

export interface PodSandboxStatusResponse {
  readonly status?: PodSandboxStatus | undefined;
  readonly info: Readonly<Record<string, string>>;
  readonly containersStatuses: readonly ContainerStatus[];
  readonly timestamp: bigint;
}

export interface PodSandboxStateValue {
  readonly state: PodSandboxState;
}

export interface PodSandboxFilter {
  readonly id: string;
  readonly state?: PodSandboxStateValue | undefined;
  readonly labelSelector: Readonly<Record<string, string>>;
}

export interface ListPodSandboxRequest {
  readonly filter?: PodSandboxFilter | undefined;
}

export interface PodSandbox {
  readonly id: string;
  readonly metadata?: PodSandboxMetadata | undefined;
  readonly state: PodSandboxState;
  readonly createdAt: bigint;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly runtimeHandler: string;
}

export interface ListPodSandboxResponse {
  readonly items: readonly PodSandbox[];
}

export interface StreamPodSandboxesRequest {
  readonly filter?: PodSandboxFilter | undefined;
}

export interface StreamPodSandboxesResponse {
  readonly podSandboxes: readonly PodSandbox[];
}

export interface PodSandboxStatsRequest {
  readonly podSandboxId: string;
}

export interface PodSandboxStatsResponse {
  readonly stats?: PodSandboxStats | undefined;
}

export interface PodSandboxStatsFilter {
  readonly id: string;
  readonly labelSelector: Readonly<Record<string, string>>;
}

export interface ListPodSandboxStatsRequest {
  readonly filter?: PodSandboxStatsFilter | undefined;
}

export interface ListPodSandboxStatsResponse {
  readonly stats: readonly PodSandboxStats[];
}

export interface StreamPodSandboxStatsRequest {
  readonly filter?: PodSandboxStatsFilter | undefined;
}

export interface StreamPodSandboxStatsResponse {
  readonly podSandboxStats: readonly PodSandboxStats[];
}

export interface PodSandboxAttributes {
  readonly id: string;
  readonly metadata?: PodSandboxMetadata | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface PodSandboxStats {
  readonly attributes?: PodSandboxAttributes | undefined;
  readonly linux?: LinuxPodSandboxStats | undefined;
}

export interface LinuxPodSandboxStats {
  readonly cpu?: CpuUsage | undefined;
  readonly memory?: MemoryUsage | undefined;
  readonly network?: NetworkUsage | undefined;
  readonly process?: ProcessUsage | undefined;
  readonly containers: readonly ContainerStats[];
  readonly io?: IoUsage | undefined;
}

export interface NetworkUsage {
  readonly timestamp: bigint;
  readonly defaultInterface?: NetworkInterfaceUsage | undefined;
  readonly interfaces: readonly NetworkInterfaceUsage[];
}

export interface NetworkInterfaceUsage {
  readonly name: string;
  readonly rxBytes?: UInt64Value | undefined;
  readonly rxErrors?: UInt64Value | undefined;
  readonly txBytes?: UInt64Value | undefined;
  readonly txErrors?: UInt64Value | undefined;
}

export interface ProcessUsage {
  readonly timestamp: bigint;
  readonly processCount?: UInt64Value | undefined;
}

export interface ImageSpec {
  readonly image: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly userSpecifiedImage: string;
  readonly runtimeHandler: string;
  readonly imageRef: string;
}

export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
}

export interface LinuxContainerResources {
  readonly cpuPeriod: bigint;
  readonly cpuQuota: bigint;
  readonly cpuShares: bigint;
  readonly memoryLimitInBytes: bigint;
  readonly oomScoreAdj: bigint;
  readonly cpusetCpus: string;
  readonly cpusetMems: string;
  readonly hugepageLimits: readonly HugepageLimit[];
  readonly unified: Readonly<Record<string, string>>;
  readonly memorySwapLimitInBytes: bigint;
}

export interface HugepageLimit {
  readonly pageSize: string;
  readonly limit: bigint;
}

export interface SELinuxOption {
  readonly user: string;
  readonly role: string;
  readonly type: string;
  readonly level: string;
}

export interface Capability {
  readonly addCapabilities: readonly string[];
  readonly dropCapabilities: readonly string[];
  readonly addAmbientCapabilities: readonly string[];
}

export interface LinuxContainerSecurityContext {
  readonly capabilities?: Capability | undefined;
  readonly privileged: boolean;
  readonly namespaceOptions?: NamespaceOption | undefined;
  readonly selinuxOptions?: SELinuxOption | undefined;
  readonly runAsUser?: Int64Value | undefined;
  readonly runAsGroup?: Int64Value | undefined;
  readonly runAsUsername: string;
  readonly readonlyRootfs: boolean;
  readonly supplementalGroups: readonly bigint[];
  readonly supplementalGroupsPolicy: SupplementalGroupsPolicy;
  readonly noNewPrivs: boolean;
  readonly maskedPaths: readonly string[];
  readonly readonlyPaths: readonly string[];
  readonly seccomp?: SecurityProfile | undefined;
  readonly apparmor?: SecurityProfile | undefined;
  readonly apparmorProfile: string;
  readonly seccompProfilePath: string;
}

export interface LinuxContainerConfig {
  readonly resources?: LinuxContainerResources | undefined;
  readonly securityContext?: LinuxContainerSecurityContext | undefined;
}

export interface LinuxContainerUser {
  readonly uid: bigint;
  readonly gid: bigint;
  readonly supplementalGroups: readonly bigint[];
}

export interface ContainerMetadata {
  readonly name: string;
  readonly attempt: number;
}

export interface Device {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly permissions: string;
}

export interface CDIDevice {
  readonly name: string;
}

export interface ContainerConfig {
  readonly metadata?: ContainerMetadata | undefined;
  readonly image?: ImageSpec | undefined;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir: string;
  readonly envs: readonly KeyValue[];
  readonly mounts: readonly Mount[];
  readonly devices: readonly Device[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly logPath: string;
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  readonly tty: boolean;
  readonly linux?: LinuxContainerConfig | undefined;
  readonly CDIDevices: readonly CDIDevice[];
  readonly stopSignal: Signal;
}

export interface CreateContainerRequest {
  readonly podSandboxId: string;
  readonly config?: ContainerConfig | undefined;
  readonly sandboxConfig?: PodSandboxConfig | undefined;
}

export interface CreateContainerResponse {
  readonly containerId: string;
}

export interface StartContainerRequest {
  readonly containerId: string;
}

export type StartContainerResponse = Readonly<Record<never, never>>;

export interface StopContainerRequest {
  readonly containerId: string;
  readonly timeout: bigint;
}

export type StopContainerResponse = Readonly<Record<never, never>>;

export interface RemoveContainerRequest {
  readonly containerId: string;
}

export type RemoveContainerResponse = Readonly<Record<never, never>>;

export interface ContainerStateValue {
  readonly state: ContainerState;
}

export interface ContainerFilter {
  readonly id: string;
  readonly state?: ContainerStateValue | undefined;
  readonly podSandboxId: string;
  readonly labelSelector: Readonly<Record<string, string>>;
}

export interface ListContainersRequest {
  readonly filter?: ContainerFilter | undefined;
}

export interface Container {
  readonly id: string;
  readonly podSandboxId: string;
  readonly metadata?: ContainerMetadata | undefined;
  readonly image?: ImageSpec | undefined;
  readonly imageRef: string;
  readonly state: ContainerState;
  readonly createdAt: bigint;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly imageId: string;
}

export interface ListContainersResponse {
  readonly containers: readonly Container[];
}

export interface StreamContainersRequest {
  readonly filter?: ContainerFilter | undefined;
}

export interface StreamContainersResponse {
  readonly containers: readonly Container[];
}

export interface ContainerStatusRequest {
  readonly containerId: string;
  readonly verbose: boolean;
}

export interface ContainerStatus {
  readonly id: string;
  readonly metadata?: ContainerMetadata | undefined;
  readonly state: ContainerState;
  readonly createdAt: bigint;
  readonly startedAt: bigint;
  readonly finishedAt: bigint;
  readonly exitCode: number;
  readonly image?: ImageSpec | undefined;
  readonly imageRef: string;
  readonly reason: string;
  readonly message: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly mounts: readonly Mount[];
  readonly logPath: string;
  readonly resources?: ContainerResources | undefined;
  readonly imageId: string;
  readonly user?: ContainerUser | undefined;
  readonly stopSignal: Signal;
}

export interface ContainerStatusResponse {
  readonly status?: ContainerStatus | undefined;
  readonly info: Readonly<Record<string, string>>;
}

export interface ContainerResources {
  readonly linux?: LinuxContainerResources | undefined;
}

export interface ContainerUser {
  readonly linux?: LinuxContainerUser | undefined;
}

export interface UpdateContainerResourcesRequest {
  readonly containerId: string;
  readonly linux?: LinuxContainerResources | undefined;
  readonly annotations: Readonly<Record<string, string>>;
}

export type UpdateContainerResourcesResponse = Readonly<Record<never, never>>;

export interface ExecSyncRequest {
  readonly containerId: string;
  readonly cmd: readonly string[];
  readonly timeout: bigint;
}

export interface ExecSyncResponse {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly exitCode: number;
}

export interface ExecRequest {
  readonly containerId: string;
  readonly cmd: readonly string[];
  readonly tty: boolean;
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

export interface ExecResponse {
  readonly url: string;
}

export interface AttachRequest {
  readonly containerId: string;
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

export interface AttachResponse {
  readonly url: string;
}

export interface PortForwardRequest {
  readonly podSandboxId: string;
  readonly port: readonly number[];
}

export interface PortForwardResponse {
  readonly url: string;
}

export interface ImageFilter {
  readonly image?: ImageSpec | undefined;
}

export interface ListImagesRequest {
  readonly filter?: ImageFilter | undefined;
}

export interface Image {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly size: bigint;
  readonly uid?: Int64Value | undefined;
  readonly username: string;
  readonly spec?: ImageSpec | undefined;
  readonly pinned: boolean;
}

export interface ListImagesResponse {
  readonly images: readonly Image[];
}

export interface StreamImagesRequest {
  readonly filter?: ImageFilter | undefined;
}

export interface StreamImagesResponse {
  readonly images: readonly Image[];
}

export interface ImageStatusRequest {
  readonly image?: ImageSpec | undefined;
  readonly verbose: boolean;
}

export interface ImageStatusResponse {
  readonly image?: Image | undefined;
  readonly info: Readonly<Record<string, string>>;
}

export interface AuthConfig {
  readonly username: string;
  readonly password: string;
  readonly auth: string;
  readonly serverAddress: string;
  readonly identityToken: string;
  readonly registryToken: string;
}

export interface PullImageRequest {
  readonly image?: ImageSpec | undefined;
  readonly auth?: AuthConfig | undefined;
  readonly sandboxConfig?: PodSandboxConfig | undefined;
}

export interface PullImageResponse {
  readonly imageRef: string;
}

export interface RemoveImageRequest {
  readonly image?: ImageSpec | undefined;
}

export type RemoveImageResponse = Readonly<Record<never, never>>;

export interface NetworkConfig {
  readonly podCidr: string;
}

export interface RuntimeConfig {
  readonly networkConfig?: NetworkConfig | undefined;
}

export interface UpdateRuntimeConfigRequest {
  readonly runtimeConfig?: RuntimeConfig | undefined;
}

export type UpdateRuntimeConfigResponse = Readonly<Record<never, never>>;

export interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface RuntimeStatus {
  readonly conditions: readonly RuntimeCondition[];
}

export interface StatusRequest {
  readonly verbose: boolean;
}

export interface RuntimeHandlerFeatures {
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

export interface RuntimeHandler {
  readonly name: string;
  readonly features?: RuntimeHandlerFeatures | undefined;
}

export interface RuntimeFeatures {
  readonly supplementalGroupsPolicy: boolean;
  readonly userNamespacesHostNetwork: boolean;
}

export interface StatusResponse {
  readonly status?: RuntimeStatus | undefined;
  readonly info: Readonly<Record<string, string>>;
  readonly runtimeHandlers: readonly RuntimeHandler[];
  readonly features?: RuntimeFeatures | undefined;
}

export type ImageFsInfoRequest = Readonly<Record<never, never>>;

export interface UInt64Value {
  readonly value: bigint;
}

export interface FilesystemIdentifier {
  readonly mountpoint: string;
}

export interface FilesystemUsage {
  readonly timestamp: bigint;
  readonly fsId?: FilesystemIdentifier | undefined;
  readonly usedBytes?: UInt64Value | undefined;
  readonly inodesUsed?: UInt64Value | undefined;
}

export interface ImageFsInfoResponse {
  readonly imageFilesystems: readonly FilesystemUsage[];
  readonly containerFilesystems: readonly FilesystemUsage[];
}

export interface ContainerStatsRequest {
  readonly containerId: string;
}

export interface ContainerStatsResponse {
  readonly stats?: ContainerStats | undefined;
}

export interface ListContainerStatsRequest {
  readonly filter?: ContainerStatsFilter | undefined;
}

export interface ContainerStatsFilter {
  readonly id: string;
  readonly podSandboxId: string;
  readonly labelSelector: Readonly<Record<string, string>>;
}

export interface ListContainerStatsResponse {
  readonly stats: readonly ContainerStats[];
}

export interface StreamContainerStatsRequest {
  readonly filter?: ContainerStatsFilter | undefined;
}

export interface StreamContainerStatsResponse {
  readonly containerStats: readonly ContainerStats[];
}

export interface ContainerAttributes {
  readonly id: string;
  readonly metadata?: ContainerMetadata | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface ContainerStats {
  readonly attributes?: ContainerAttributes | undefined;
  readonly cpu?: CpuUsage | undefined;
  readonly memory?: MemoryUsage | undefined;
  readonly writableLayer?: FilesystemUsage | undefined;
  readonly swap?: SwapUsage | undefined;
  readonly io?: IoUsage | undefined;
}

export interface PsiStats {
  readonly Full?: PsiData | undefined;
  readonly Some?: PsiData | undefined;
}

export interface PsiData {
  readonly Total: bigint;
  readonly Avg10: number;
  readonly Avg60: number;
  readonly Avg300: number;
}

export interface CpuUsage {
  readonly timestamp: bigint;
  readonly usageCoreNanoSeconds?: UInt64Value | undefined;
  readonly usageNanoCores?: UInt64Value | undefined;
  readonly psi?: PsiStats | undefined;
}

export interface MemoryUsage {
  readonly timestamp: bigint;
  readonly workingSetBytes?: UInt64Value | undefined;
  readonly availableBytes?: UInt64Value | undefined;
  readonly usageBytes?: UInt64Value | undefined;
  readonly rssBytes?: UInt64Value | undefined;
  readonly pageFaults?: UInt64Value | undefined;
  readonly majorPageFaults?: UInt64Value | undefined;
  readonly psi?: PsiStats | undefined;
}

export interface IoUsage {
  readonly timestamp: bigint;
  readonly psi?: PsiStats | undefined;
}

export interface SwapUsage {
  readonly timestamp: bigint;
  readonly swapAvailableBytes?: UInt64Value | undefined;
  readonly swapUsageBytes?: UInt64Value | undefined;
}

export interface ReopenContainerLogRequest {
  readonly containerId: string;
}

export type ReopenContainerLogResponse = Readonly<Record<never, never>>;

export interface CheckpointContainerRequest {
  readonly containerId: string;
  readonly location: string;
  readonly timeout: bigint;
}

export type CheckpointContainerResponse = Readonly<Record<never, never>>;

export type GetEventsRequest = Readonly<Record<never, never>>;

export interface ContainerEventResponse {
  readonly containerId: string;
  readonly containerEventType: ContainerEventType;
  readonly createdAt: bigint;
  readonly podSandboxStatus?: PodSandboxStatus | undefined;
  readonly containersStatuses: readonly ContainerStatus[];
}

export type ListMetricDescriptorsRequest = Readonly<Record<never, never>>;

export interface ListMetricDescriptorsResponse {
  readonly descriptors: readonly MetricDescriptor[];
}

export interface MetricDescriptor {
  readonly name: string;
  readonly help: string;
  readonly labelKeys: readonly string[];
}

export type ListPodSandboxMetricsRequest = Readonly<Record<never, never>>;

export interface ListPodSandboxMetricsResponse {
  readonly podMetrics: readonly PodSandboxMetrics[];
}

export type StreamPodSandboxMetricsRequest = Readonly<Record<never, never>>;

export interface StreamPodSandboxMetricsResponse {
  readonly podSandboxMetrics: readonly PodSandboxMetrics[];
}

export interface PodSandboxMetrics {
  readonly podSandboxId: string;
  readonly metrics: readonly Metric[];
  readonly containerMetrics: readonly ContainerMetrics[];
}

export interface ContainerMetrics {
  readonly containerId: string;
  readonly metrics: readonly Metric[];
}

export interface Metric {
  readonly name: string;
  readonly timestamp: bigint;
  readonly metricType: MetricType;
  readonly labelValues: readonly string[];
  readonly value?: UInt64Value | undefined;
}

export type RuntimeConfigRequest = Readonly<Record<never, never>>;

export interface RuntimeConfigResponse {
  readonly linux?: LinuxRuntimeConfiguration | undefined;
}

export interface LinuxRuntimeConfiguration {
  readonly cgroupDriver: CgroupDriver;
}

export interface UpdatePodSandboxResourcesRequest {
  readonly podSandboxId: string;
  readonly overhead?: LinuxContainerResources | undefined;
  readonly resources?: LinuxContainerResources | undefined;
}

export type UpdatePodSandboxResourcesResponse = Readonly<Record<never, never>>;

/** Message type by name, for the codec. */
export interface Messages {
  VersionRequest: VersionRequest;
  VersionResponse: VersionResponse;
  DNSConfig: DNSConfig;
  PortMapping: PortMapping;
  Mount: Mount;
  IDMapping: IDMapping;
  UserNamespace: UserNamespace;
  NamespaceOption: NamespaceOption;
  Int64Value: Int64Value;
  LinuxSandboxSecurityContext: LinuxSandboxSecurityContext;
  SecurityProfile: SecurityProfile;
  LinuxPodSandboxConfig: LinuxPodSandboxConfig;
  PodSandboxMetadata: PodSandboxMetadata;
  PodSandboxConfig: PodSandboxConfig;
  RunPodSandboxRequest: RunPodSandboxRequest;
  RunPodSandboxResponse: RunPodSandboxResponse;
  StopPodSandboxRequest: StopPodSandboxRequest;
  StopPodSandboxResponse: StopPodSandboxResponse;
  RemovePodSandboxRequest: RemovePodSandboxRequest;
  RemovePodSandboxResponse: RemovePodSandboxResponse;
  PodSandboxStatusRequest: PodSandboxStatusRequest;
  PodIP: PodIP;
  PodSandboxNetworkStatus: PodSandboxNetworkStatus;
  Namespace: Namespace;
  LinuxPodSandboxStatus: LinuxPodSandboxStatus;
  PodSandboxStatus: PodSandboxStatus;
  PodSandboxStatusResponse: PodSandboxStatusResponse;
  PodSandboxStateValue: PodSandboxStateValue;
  PodSandboxFilter: PodSandboxFilter;
  ListPodSandboxRequest: ListPodSandboxRequest;
  PodSandbox: PodSandbox;
  ListPodSandboxResponse: ListPodSandboxResponse;
  StreamPodSandboxesRequest: StreamPodSandboxesRequest;
  StreamPodSandboxesResponse: StreamPodSandboxesResponse;
  PodSandboxStatsRequest: PodSandboxStatsRequest;
  PodSandboxStatsResponse: PodSandboxStatsResponse;
  PodSandboxStatsFilter: PodSandboxStatsFilter;
  ListPodSandboxStatsRequest: ListPodSandboxStatsRequest;
  ListPodSandboxStatsResponse: ListPodSandboxStatsResponse;
  StreamPodSandboxStatsRequest: StreamPodSandboxStatsRequest;
  StreamPodSandboxStatsResponse: StreamPodSandboxStatsResponse;
  PodSandboxAttributes: PodSandboxAttributes;
  PodSandboxStats: PodSandboxStats;
  LinuxPodSandboxStats: LinuxPodSandboxStats;
  NetworkUsage: NetworkUsage;
  NetworkInterfaceUsage: NetworkInterfaceUsage;
  ProcessUsage: ProcessUsage;
  ImageSpec: ImageSpec;
  KeyValue: KeyValue;
  LinuxContainerResources: LinuxContainerResources;
  HugepageLimit: HugepageLimit;
  SELinuxOption: SELinuxOption;
  Capability: Capability;
  LinuxContainerSecurityContext: LinuxContainerSecurityContext;
  LinuxContainerConfig: LinuxContainerConfig;
  LinuxContainerUser: LinuxContainerUser;
  ContainerMetadata: ContainerMetadata;
  Device: Device;
  CDIDevice: CDIDevice;
  ContainerConfig: ContainerConfig;
  CreateContainerRequest: CreateContainerRequest;
  CreateContainerResponse: CreateContainerResponse;
  StartContainerRequest: StartContainerRequest;
  StartContainerResponse: StartContainerResponse;
  StopContainerRequest: StopContainerRequest;
  StopContainerResponse: StopContainerResponse;
  RemoveContainerRequest: RemoveContainerRequest;
  RemoveContainerResponse: RemoveContainerResponse;
  ContainerStateValue: ContainerStateValue;
  ContainerFilter: ContainerFilter;
  ListContainersRequest: ListContainersRequest;
  Container: Container;
  ListContainersResponse: ListContainersResponse;
  StreamContainersRequest: StreamContainersRequest;
  StreamContainersResponse: StreamContainersResponse;
  ContainerStatusRequest: ContainerStatusRequest;
  ContainerStatus: ContainerStatus;
  ContainerStatusResponse: ContainerStatusResponse;
  ContainerResources: ContainerResources;
  ContainerUser: ContainerUser;
  UpdateContainerResourcesRequest: UpdateContainerResourcesRequest;
  UpdateContainerResourcesResponse: UpdateContainerResourcesResponse;
  ExecSyncRequest: ExecSyncRequest;
  ExecSyncResponse: ExecSyncResponse;
  ExecRequest: ExecRequest;
  ExecResponse: ExecResponse;
  AttachRequest: AttachRequest;
  AttachResponse: AttachResponse;
  PortForwardRequest: PortForwardRequest;
  PortForwardResponse: PortForwardResponse;
  ImageFilter: ImageFilter;
  ListImagesRequest: ListImagesRequest;
  Image: Image;
  ListImagesResponse: ListImagesResponse;
  StreamImagesRequest: StreamImagesRequest;
  StreamImagesResponse: StreamImagesResponse;
  ImageStatusRequest: ImageStatusRequest;
  ImageStatusResponse: ImageStatusResponse;
  AuthConfig: AuthConfig;
  PullImageRequest: PullImageRequest;
  PullImageResponse: PullImageResponse;
  RemoveImageRequest: RemoveImageRequest;
  RemoveImageResponse: RemoveImageResponse;
  NetworkConfig: NetworkConfig;
  RuntimeConfig: RuntimeConfig;
  UpdateRuntimeConfigRequest: UpdateRuntimeConfigRequest;
  UpdateRuntimeConfigResponse: UpdateRuntimeConfigResponse;
  RuntimeCondition: RuntimeCondition;
  RuntimeStatus: RuntimeStatus;
  StatusRequest: StatusRequest;
  RuntimeHandlerFeatures: RuntimeHandlerFeatures;
  RuntimeHandler: RuntimeHandler;
  RuntimeFeatures: RuntimeFeatures;
  StatusResponse: StatusResponse;
  ImageFsInfoRequest: ImageFsInfoRequest;
  UInt64Value: UInt64Value;
  FilesystemIdentifier: FilesystemIdentifier;
  FilesystemUsage: FilesystemUsage;
  ImageFsInfoResponse: ImageFsInfoResponse;
  ContainerStatsRequest: ContainerStatsRequest;
  ContainerStatsResponse: ContainerStatsResponse;
  ListContainerStatsRequest: ListContainerStatsRequest;
  ContainerStatsFilter: ContainerStatsFilter;
  ListContainerStatsResponse: ListContainerStatsResponse;
  StreamContainerStatsRequest: StreamContainerStatsRequest;
  StreamContainerStatsResponse: StreamContainerStatsResponse;
  ContainerAttributes: ContainerAttributes;
  ContainerStats: ContainerStats;
  PsiStats: PsiStats;
  PsiData: PsiData;
  CpuUsage: CpuUsage;
  MemoryUsage: MemoryUsage;
  IoUsage: IoUsage;
  SwapUsage: SwapUsage;
  ReopenContainerLogRequest: ReopenContainerLogRequest;
  ReopenContainerLogResponse: ReopenContainerLogResponse;
  CheckpointContainerRequest: CheckpointContainerRequest;
  CheckpointContainerResponse: CheckpointContainerResponse;
  GetEventsRequest: GetEventsRequest;
  ContainerEventResponse: ContainerEventResponse;
  ListMetricDescriptorsRequest: ListMetricDescriptorsRequest;
  ListMetricDescriptorsResponse: ListMetricDescriptorsResponse;
  MetricDescriptor: MetricDescriptor;
  ListPodSandboxMetricsRequest: ListPodSandboxMetricsRequest;
  ListPodSandboxMetricsResponse: ListPodSandboxMetricsResponse;
  StreamPodSandboxMetricsRequest: StreamPodSandboxMetricsRequest;
  StreamPodSandboxMetricsResponse: StreamPodSandboxMetricsResponse;
  PodSandboxMetrics: PodSandboxMetrics;
  ContainerMetrics: ContainerMetrics;
  Metric: Metric;
  RuntimeConfigRequest: RuntimeConfigRequest;
  RuntimeConfigResponse: RuntimeConfigResponse;
  LinuxRuntimeConfiguration: LinuxRuntimeConfiguration;
  UpdatePodSandboxResourcesRequest: UpdatePodSandboxResourcesRequest;
  UpdatePodSandboxResourcesResponse: UpdatePodSandboxResourcesResponse;
}

export const wire = new WireTable<Messages>({
  messages: {
    VersionRequest: [
      [1,"version","string","",0],
    ],
    VersionResponse: [
      [1,"version","string","",0],
      [2,"runtimeName","string","",0],
      [3,"runtimeVersion","string","",0],
      [4,"runtimeApiVersion","string","",0],
    ],
    DNSConfig: [
      [1,"servers","string","",1],
      [2,"searches","string","",1],
      [3,"options","string","",1],
    ],
    PortMapping: [
      [1,"protocol","enum","Protocol",0],
      [2,"containerPort","int32","",0],
      [3,"hostPort","int32","",0],
      [4,"hostIp","string","",0],
    ],
    Mount: [
      [1,"containerPath","string","",0],
      [2,"hostPath","string","",0],
      [3,"readonly","bool","",0],
      [4,"selinuxRelabel","bool","",0],
      [5,"propagation","enum","MountPropagation",0],
      [6,"uidMappings","message","IDMapping",1],
      [7,"gidMappings","message","IDMapping",1],
      [8,"recursiveReadOnly","bool","",0],
      [9,"image","message","ImageSpec",0],
      [10,"imageSubPath","string","",0],
    ],
    IDMapping: [
      [1,"hostId","uint32","",0],
      [2,"containerId","uint32","",0],
      [3,"length","uint32","",0],
    ],
    UserNamespace: [
      [1,"mode","enum","NamespaceMode",0],
      [2,"uids","message","IDMapping",1],
      [3,"gids","message","IDMapping",1],
    ],
    NamespaceOption: [
      [1,"network","enum","NamespaceMode",0],
      [2,"pid","enum","NamespaceMode",0],
      [3,"ipc","enum","NamespaceMode",0],
      [4,"targetId","string","",0],
      [5,"usernsOptions","message","UserNamespace",0],
    ],
    Int64Value: [
      [1,"value","int64","",0],
    ],
    LinuxSandboxSecurityContext: [
      [1,"namespaceOptions","message","NamespaceOption",0],
      [2,"selinuxOptions","message","SELinuxOption",0],
      [3,"runAsUser","message","Int64Value",0],
      [8,"runAsGroup","message","Int64Value",0],
      [4,"readonlyRootfs","bool","",0],
      [5,"supplementalGroups","int64","",1],
      [11,"supplementalGroupsPolicy","enum","SupplementalGroupsPolicy",0],
      [6,"privileged","bool","",0],
      [9,"seccomp","message","SecurityProfile",0],
      [10,"apparmor","message","SecurityProfile",0],
      [7,"seccompProfilePath","string","",0],
    ],
    SecurityProfile: [
      [1,"profileType","enum","SecurityProfileProfileType",0],
      [2,"localhostRef","string","",0],
    ],
    LinuxPodSandboxConfig: [
      [1,"cgroupParent","string","",0],
      [2,"securityContext","message","LinuxSandboxSecurityContext",0],
      [3,"sysctls","map","",0],
      [4,"overhead","message","LinuxContainerResources",0],
      [5,"resources","message","LinuxContainerResources",0],
    ],
    PodSandboxMetadata: [
      [1,"name","string","",0],
      [2,"uid","string","",0],
      [3,"namespace","string","",0],
      [4,"attempt","uint32","",0],
    ],
    PodSandboxConfig: [
      [1,"metadata","message","PodSandboxMetadata",0],
      [2,"hostname","string","",0],
      [3,"logDirectory","string","",0],
      [4,"dnsConfig","message","DNSConfig",0],
      [5,"portMappings","message","PortMapping",1],
      [6,"labels","map","",0],
      [7,"annotations","map","",0],
      [8,"linux","message","LinuxPodSandboxConfig",0],
    ],
    RunPodSandboxRequest: [
      [1,"config","message","PodSandboxConfig",0],
      [2,"runtimeHandler","string","",0],
    ],
    RunPodSandboxResponse: [
      [1,"podSandboxId","string","",0],
    ],
    StopPodSandboxRequest: [
      [1,"podSandboxId","string","",0],
    ],
    StopPodSandboxResponse: [],
    RemovePodSandboxRequest: [
      [1,"podSandboxId","string","",0],
    ],
    RemovePodSandboxResponse: [],
    PodSandboxStatusRequest: [
      [1,"podSandboxId","string","",0],
      [2,"verbose","bool","",0],
    ],
    PodIP: [
      [1,"ip","string","",0],
    ],
    PodSandboxNetworkStatus: [
      [1,"ip","string","",0],
      [2,"additionalIps","message","PodIP",1],
    ],
    Namespace: [
      [2,"options","message","NamespaceOption",0],
    ],
    LinuxPodSandboxStatus: [
      [1,"namespaces","message","Namespace",0],
    ],
    PodSandboxStatus: [
      [1,"id","string","",0],
      [2,"metadata","message","PodSandboxMetadata",0],
      [3,"state","enum","PodSandboxState",0],
      [4,"createdAt","int64","",0],
      [5,"network","message","PodSandboxNetworkStatus",0],
      [6,"linux","message","LinuxPodSandboxStatus",0],
      [7,"labels","map","",0],
      [8,"annotations","map","",0],
      [9,"runtimeHandler","string","",0],
    ],
    PodSandboxStatusResponse: [
      [1,"status","message","PodSandboxStatus",0],
      [2,"info","map","",0],
      [3,"containersStatuses","message","ContainerStatus",1],
      [4,"timestamp","int64","",0],
    ],
    PodSandboxStateValue: [
      [1,"state","enum","PodSandboxState",0],
    ],
    PodSandboxFilter: [
      [1,"id","string","",0],
      [2,"state","message","PodSandboxStateValue",0],
      [3,"labelSelector","map","",0],
    ],
    ListPodSandboxRequest: [
      [1,"filter","message","PodSandboxFilter",0],
    ],
    PodSandbox: [
      [1,"id","string","",0],
      [2,"metadata","message","PodSandboxMetadata",0],
      [3,"state","enum","PodSandboxState",0],
      [4,"createdAt","int64","",0],
      [5,"labels","map","",0],
      [6,"annotations","map","",0],
      [7,"runtimeHandler","string","",0],
    ],
    ListPodSandboxResponse: [
      [1,"items","message","PodSandbox",1],
    ],
    StreamPodSandboxesRequest: [
      [1,"filter","message","PodSandboxFilter",0],
    ],
    StreamPodSandboxesResponse: [
      [1,"podSandboxes","message","PodSandbox",1],
    ],
    PodSandboxStatsRequest: [
      [1,"podSandboxId","string","",0],
    ],
    PodSandboxStatsResponse: [
      [1,"stats","message","PodSandboxStats",0],
    ],
    PodSandboxStatsFilter: [
      [1,"id","string","",0],
      [2,"labelSelector","map","",0],
    ],
    ListPodSandboxStatsRequest: [
      [1,"filter","message","PodSandboxStatsFilter",0],
    ],
    ListPodSandboxStatsResponse: [
      [1,"stats","message","PodSandboxStats",1],
    ],
    StreamPodSandboxStatsRequest: [
      [1,"filter","message","PodSandboxStatsFilter",0],
    ],
    StreamPodSandboxStatsResponse: [
      [1,"podSandboxStats","message","PodSandboxStats",1],
    ],
    PodSandboxAttributes: [
      [1,"id","string","",0],
      [2,"metadata","message","PodSandboxMetadata",0],
      [3,"labels","map","",0],
      [4,"annotations","map","",0],
    ],
    PodSandboxStats: [
      [1,"attributes","message","PodSandboxAttributes",0],
      [2,"linux","message","LinuxPodSandboxStats",0],
    ],
    LinuxPodSandboxStats: [
      [1,"cpu","message","CpuUsage",0],
      [2,"memory","message","MemoryUsage",0],
      [3,"network","message","NetworkUsage",0],
      [4,"process","message","ProcessUsage",0],
      [5,"containers","message","ContainerStats",1],
      [6,"io","message","IoUsage",0],
    ],
    NetworkUsage: [
      [1,"timestamp","int64","",0],
      [2,"defaultInterface","message","NetworkInterfaceUsage",0],
      [3,"interfaces","message","NetworkInterfaceUsage",1],
    ],
    NetworkInterfaceUsage: [
      [1,"name","string","",0],
      [2,"rxBytes","message","UInt64Value",0],
      [3,"rxErrors","message","UInt64Value",0],
      [4,"txBytes","message","UInt64Value",0],
      [5,"txErrors","message","UInt64Value",0],
    ],
    ProcessUsage: [
      [1,"timestamp","int64","",0],
      [2,"processCount","message","UInt64Value",0],
    ],
    ImageSpec: [
      [1,"image","string","",0],
      [2,"annotations","map","",0],
      [18,"userSpecifiedImage","string","",0],
      [19,"runtimeHandler","string","",0],
      [20,"imageRef","string","",0],
    ],
    KeyValue: [
      [1,"key","string","",0],
      [2,"value","bytes","",0],
    ],
    LinuxContainerResources: [
      [1,"cpuPeriod","int64","",0],
      [2,"cpuQuota","int64","",0],
      [3,"cpuShares","int64","",0],
      [4,"memoryLimitInBytes","int64","",0],
      [5,"oomScoreAdj","int64","",0],
      [6,"cpusetCpus","string","",0],
      [7,"cpusetMems","string","",0],
      [8,"hugepageLimits","message","HugepageLimit",1],
      [9,"unified","map","",0],
      [10,"memorySwapLimitInBytes","int64","",0],
    ],
    HugepageLimit: [
      [1,"pageSize","string","",0],
      [2,"limit","uint64","",0],
    ],
    SELinuxOption: [
      [1,"user","string","",0],
      [2,"role","string","",0],
      [3,"type","string","",0],
      [4,"level","string","",0],
    ],
    Capability: [
      [1,"addCapabilities","string","",1],
      [2,"dropCapabilities","string","",1],
      [3,"addAmbientCapabilities","string","",1],
    ],
    LinuxContainerSecurityContext: [
      [1,"capabilities","message","Capability",0],
      [2,"privileged","bool","",0],
      [3,"namespaceOptions","message","NamespaceOption",0],
      [4,"selinuxOptions","message","SELinuxOption",0],
      [5,"runAsUser","message","Int64Value",0],
      [12,"runAsGroup","message","Int64Value",0],
      [6,"runAsUsername","string","",0],
      [7,"readonlyRootfs","bool","",0],
      [8,"supplementalGroups","int64","",1],
      [17,"supplementalGroupsPolicy","enum","SupplementalGroupsPolicy",0],
      [11,"noNewPrivs","bool","",0],
      [13,"maskedPaths","string","",1],
      [14,"readonlyPaths","string","",1],
      [15,"seccomp","message","SecurityProfile",0],
      [16,"apparmor","message","SecurityProfile",0],
      [9,"apparmorProfile","string","",0],
      [10,"seccompProfilePath","string","",0],
    ],
    LinuxContainerConfig: [
      [1,"resources","message","LinuxContainerResources",0],
      [2,"securityContext","message","LinuxContainerSecurityContext",0],
    ],
    LinuxContainerUser: [
      [1,"uid","int64","",0],
      [2,"gid","int64","",0],
      [3,"supplementalGroups","int64","",1],
    ],
    ContainerMetadata: [
      [1,"name","string","",0],
      [2,"attempt","uint32","",0],
    ],
    Device: [
      [1,"containerPath","string","",0],
      [2,"hostPath","string","",0],
      [3,"permissions","string","",0],
    ],
    CDIDevice: [
      [1,"name","string","",0],
    ],
    ContainerConfig: [
      [1,"metadata","message","ContainerMetadata",0],
      [2,"image","message","ImageSpec",0],
      [3,"command","string","",1],
      [4,"args","string","",1],
      [5,"workingDir","string","",0],
      [6,"envs","message","KeyValue",1],
      [7,"mounts","message","Mount",1],
      [8,"devices","message","Device",1],
      [9,"labels","map","",0],
      [10,"annotations","map","",0],
      [11,"logPath","string","",0],
      [12,"stdin","bool","",0],
      [13,"stdinOnce","bool","",0],
      [14,"tty","bool","",0],
      [15,"linux","message","LinuxContainerConfig",0],
      [17,"CDIDevices","message","CDIDevice",1],
      [18,"stopSignal","enum","Signal",0],
    ],
    CreateContainerRequest: [
      [1,"podSandboxId","string","",0],
      [2,"config","message","ContainerConfig",0],
      [3,"sandboxConfig","message","PodSandboxConfig",0],
    ],
    CreateContainerResponse: [
      [1,"containerId","string","",0],
    ],
    StartContainerRequest: [
      [1,"containerId","string","",0],
    ],
    StartContainerResponse: [],
    StopContainerRequest: [
      [1,"containerId","string","",0],
      [2,"timeout","int64","",0],
    ],
    StopContainerResponse: [],
    RemoveContainerRequest: [
      [1,"containerId","string","",0],
    ],
    RemoveContainerResponse: [],
    ContainerStateValue: [
      [1,"state","enum","ContainerState",0],
    ],
    ContainerFilter: [
      [1,"id","string","",0],
      [2,"state","message","ContainerStateValue",0],
      [3,"podSandboxId","string","",0],
      [4,"labelSelector","map","",0],
    ],
    ListContainersRequest: [
      [1,"filter","message","ContainerFilter",0],
    ],
    Container: [
      [1,"id","string","",0],
      [2,"podSandboxId","string","",0],
      [3,"metadata","message","ContainerMetadata",0],
      [4,"image","message","ImageSpec",0],
      [5,"imageRef","string","",0],
      [6,"state","enum","ContainerState",0],
      [7,"createdAt","int64","",0],
      [8,"labels","map","",0],
      [9,"annotations","map","",0],
      [10,"imageId","string","",0],
    ],
    ListContainersResponse: [
      [1,"containers","message","Container",1],
    ],
    StreamContainersRequest: [
      [1,"filter","message","ContainerFilter",0],
    ],
    StreamContainersResponse: [
      [1,"containers","message","Container",1],
    ],
    ContainerStatusRequest: [
      [1,"containerId","string","",0],
      [2,"verbose","bool","",0],
    ],
    ContainerStatus: [
      [1,"id","string","",0],
      [2,"metadata","message","ContainerMetadata",0],
      [3,"state","enum","ContainerState",0],
      [4,"createdAt","int64","",0],
      [5,"startedAt","int64","",0],
      [6,"finishedAt","int64","",0],
      [7,"exitCode","int32","",0],
      [8,"image","message","ImageSpec",0],
      [9,"imageRef","string","",0],
      [10,"reason","string","",0],
      [11,"message","string","",0],
      [12,"labels","map","",0],
      [13,"annotations","map","",0],
      [14,"mounts","message","Mount",1],
      [15,"logPath","string","",0],
      [16,"resources","message","ContainerResources",0],
      [17,"imageId","string","",0],
      [18,"user","message","ContainerUser",0],
      [19,"stopSignal","enum","Signal",0],
    ],
    ContainerStatusResponse: [
      [1,"status","message","ContainerStatus",0],
      [2,"info","map","",0],
    ],
    ContainerResources: [
      [1,"linux","message","LinuxContainerResources",0],
    ],
    ContainerUser: [
      [1,"linux","message","LinuxContainerUser",0],
    ],
    UpdateContainerResourcesRequest: [
      [1,"containerId","string","",0],
      [2,"linux","message","LinuxContainerResources",0],
      [4,"annotations","map","",0],
    ],
    UpdateContainerResourcesResponse: [],
    ExecSyncRequest: [
      [1,"containerId","string","",0],
      [2,"cmd","string","",1],
      [3,"timeout","int64","",0],
    ],
    ExecSyncResponse: [
      [1,"stdout","bytes","",0],
      [2,"stderr","bytes","",0],
      [3,"exitCode","int32","",0],
    ],
    ExecRequest: [
      [1,"containerId","string","",0],
      [2,"cmd","string","",1],
      [3,"tty","bool","",0],
      [4,"stdin","bool","",0],
      [5,"stdout","bool","",0],
      [6,"stderr","bool","",0],
    ],
    ExecResponse: [
      [1,"url","string","",0],
    ],
    AttachRequest: [
      [1,"containerId","string","",0],
      [2,"stdin","bool","",0],
      [3,"tty","bool","",0],
      [4,"stdout","bool","",0],
      [5,"stderr","bool","",0],
    ],
    AttachResponse: [
      [1,"url","string","",0],
    ],
    PortForwardRequest: [
      [1,"podSandboxId","string","",0],
      [2,"port","int32","",1],
    ],
    PortForwardResponse: [
      [1,"url","string","",0],
    ],
    ImageFilter: [
      [1,"image","message","ImageSpec",0],
    ],
    ListImagesRequest: [
      [1,"filter","message","ImageFilter",0],
    ],
    Image: [
      [1,"id","string","",0],
      [2,"repoTags","string","",1],
      [3,"repoDigests","string","",1],
      [4,"size","uint64","",0],
      [5,"uid","message","Int64Value",0],
      [6,"username","string","",0],
      [7,"spec","message","ImageSpec",0],
      [8,"pinned","bool","",0],
    ],
    ListImagesResponse: [
      [1,"images","message","Image",1],
    ],
    StreamImagesRequest: [
      [1,"filter","message","ImageFilter",0],
    ],
    StreamImagesResponse: [
      [1,"images","message","Image",1],
    ],
    ImageStatusRequest: [
      [1,"image","message","ImageSpec",0],
      [2,"verbose","bool","",0],
    ],
    ImageStatusResponse: [
      [1,"image","message","Image",0],
      [2,"info","map","",0],
    ],
    AuthConfig: [
      [1,"username","string","",0],
      [2,"password","string","",0],
      [3,"auth","string","",0],
      [4,"serverAddress","string","",0],
      [5,"identityToken","string","",0],
      [6,"registryToken","string","",0],
    ],
    PullImageRequest: [
      [1,"image","message","ImageSpec",0],
      [2,"auth","message","AuthConfig",0],
      [3,"sandboxConfig","message","PodSandboxConfig",0],
    ],
    PullImageResponse: [
      [1,"imageRef","string","",0],
    ],
    RemoveImageRequest: [
      [1,"image","message","ImageSpec",0],
    ],
    RemoveImageResponse: [],
    NetworkConfig: [
      [1,"podCidr","string","",0],
    ],
    RuntimeConfig: [
      [1,"networkConfig","message","NetworkConfig",0],
    ],
    UpdateRuntimeConfigRequest: [
      [1,"runtimeConfig","message","RuntimeConfig",0],
    ],
    UpdateRuntimeConfigResponse: [],
    RuntimeCondition: [
      [1,"type","string","",0],
      [2,"status","bool","",0],
      [3,"reason","string","",0],
      [4,"message","string","",0],
    ],
    RuntimeStatus: [
      [1,"conditions","message","RuntimeCondition",1],
    ],
    StatusRequest: [
      [1,"verbose","bool","",0],
    ],
    RuntimeHandlerFeatures: [
      [1,"recursiveReadOnlyMounts","bool","",0],
      [2,"userNamespaces","bool","",0],
    ],
    RuntimeHandler: [
      [1,"name","string","",0],
      [2,"features","message","RuntimeHandlerFeatures",0],
    ],
    RuntimeFeatures: [
      [1,"supplementalGroupsPolicy","bool","",0],
      [2,"userNamespacesHostNetwork","bool","",0],
    ],
    StatusResponse: [
      [1,"status","message","RuntimeStatus",0],
      [2,"info","map","",0],
      [3,"runtimeHandlers","message","RuntimeHandler",1],
      [4,"features","message","RuntimeFeatures",0],
    ],
    ImageFsInfoRequest: [],
    UInt64Value: [
      [1,"value","uint64","",0],
    ],
    FilesystemIdentifier: [
      [1,"mountpoint","string","",0],
    ],
    FilesystemUsage: [
      [1,"timestamp","int64","",0],
      [2,"fsId","message","FilesystemIdentifier",0],
      [3,"usedBytes","message","UInt64Value",0],
      [4,"inodesUsed","message","UInt64Value",0],
    ],
    ImageFsInfoResponse: [
      [1,"imageFilesystems","message","FilesystemUsage",1],
      [2,"containerFilesystems","message","FilesystemUsage",1],
    ],
    ContainerStatsRequest: [
      [1,"containerId","string","",0],
    ],
    ContainerStatsResponse: [
      [1,"stats","message","ContainerStats",0],
    ],
    ListContainerStatsRequest: [
      [1,"filter","message","ContainerStatsFilter",0],
    ],
    ContainerStatsFilter: [
      [1,"id","string","",0],
      [2,"podSandboxId","string","",0],
      [3,"labelSelector","map","",0],
    ],
    ListContainerStatsResponse: [
      [1,"stats","message","ContainerStats",1],
    ],
    StreamContainerStatsRequest: [
      [1,"filter","message","ContainerStatsFilter",0],
    ],
    StreamContainerStatsResponse: [
      [1,"containerStats","message","ContainerStats",1],
    ],
    ContainerAttributes: [
      [1,"id","string","",0],
      [2,"metadata","message","ContainerMetadata",0],
      [3,"labels","map","",0],
      [4,"annotations","map","",0],
    ],
    ContainerStats: [
      [1,"attributes","message","ContainerAttributes",0],
      [2,"cpu","message","CpuUsage",0],
      [3,"memory","message","MemoryUsage",0],
      [4,"writableLayer","message","FilesystemUsage",0],
      [5,"swap","message","SwapUsage",0],
      [6,"io","message","IoUsage",0],
    ],
    PsiStats: [
      [1,"Full","message","PsiData",0],
      [2,"Some","message","PsiData",0],
    ],
    PsiData: [
      [1,"Total","uint64","",0],
      [2,"Avg10","double","",0],
      [3,"Avg60","double","",0],
      [4,"Avg300","double","",0],
    ],
    CpuUsage: [
      [1,"timestamp","int64","",0],
      [2,"usageCoreNanoSeconds","message","UInt64Value",0],
      [3,"usageNanoCores","message","UInt64Value",0],
      [4,"psi","message","PsiStats",0],
    ],
    MemoryUsage: [
      [1,"timestamp","int64","",0],
      [2,"workingSetBytes","message","UInt64Value",0],
      [3,"availableBytes","message","UInt64Value",0],
      [4,"usageBytes","message","UInt64Value",0],
      [5,"rssBytes","message","UInt64Value",0],
      [6,"pageFaults","message","UInt64Value",0],
      [7,"majorPageFaults","message","UInt64Value",0],
      [8,"psi","message","PsiStats",0],
    ],
    IoUsage: [
      [1,"timestamp","int64","",0],
      [2,"psi","message","PsiStats",0],
    ],
    SwapUsage: [
      [1,"timestamp","int64","",0],
      [2,"swapAvailableBytes","message","UInt64Value",0],
      [3,"swapUsageBytes","message","UInt64Value",0],
    ],
    ReopenContainerLogRequest: [
      [1,"containerId","string","",0],
    ],
    ReopenContainerLogResponse: [],
    CheckpointContainerRequest: [
      [1,"containerId","string","",0],
      [2,"location","string","",0],
      [3,"timeout","int64","",0],
    ],
    CheckpointContainerResponse: [],
    GetEventsRequest: [],
    ContainerEventResponse: [
      [1,"containerId","string","",0],
      [2,"containerEventType","enum","ContainerEventType",0],
      [3,"createdAt","int64","",0],
      [4,"podSandboxStatus","message","PodSandboxStatus",0],
      [5,"containersStatuses","message","ContainerStatus",1],
    ],
    ListMetricDescriptorsRequest: [],
    ListMetricDescriptorsResponse: [
      [1,"descriptors","message","MetricDescriptor",1],
    ],
    MetricDescriptor: [
      [1,"name","string","",0],
      [2,"help","string","",0],
      [3,"labelKeys","string","",1],
    ],
    ListPodSandboxMetricsRequest: [],
    ListPodSandboxMetricsResponse: [
      [1,"podMetrics","message","PodSandboxMetrics",1],
    ],
    StreamPodSandboxMetricsRequest: [],
    StreamPodSandboxMetricsResponse: [
      [1,"podSandboxMetrics","message","PodSandboxMetrics",1],
    ],
    PodSandboxMetrics: [
      [1,"podSandboxId","string","",0],
      [2,"metrics","message","Metric",1],
      [3,"containerMetrics","message","ContainerMetrics",1],
    ],
    ContainerMetrics: [
      [1,"containerId","string","",0],
      [2,"metrics","message","Metric",1],
    ],
    Metric: [
      [1,"name","string","",0],
      [2,"timestamp","int64","",0],
      [3,"metricType","enum","MetricType",0],
      [4,"labelValues","string","",1],
      [5,"value","message","UInt64Value",0],
    ],
    RuntimeConfigRequest: [],
    RuntimeConfigResponse: [
      [1,"linux","message","LinuxRuntimeConfiguration",0],
    ],
    LinuxRuntimeConfiguration: [
      [1,"cgroupDriver","enum","CgroupDriver",0],
    ],
    UpdatePodSandboxResourcesRequest: [
      [1,"podSandboxId","string","",0],
      [2,"overhead","message","LinuxContainerResources",0],
      [3,"resources","message","LinuxContainerResources",0],
    ],
    UpdatePodSandboxResourcesResponse: [],
  },
  enums: {
    Protocol: ["TCP","UDP","SCTP"],
    MountPropagation: ["PROPAGATION_PRIVATE","PROPAGATION_HOST_TO_CONTAINER","PROPAGATION_BIDIRECTIONAL"],
    NamespaceMode: ["POD","CONTAINER","NODE","TARGET"],
    SupplementalGroupsPolicy: ["Merge","Strict"],
    SecurityProfileProfileType: ["RuntimeDefault","Unconfined","Localhost"],
    PodSandboxState: ["SANDBOX_READY","SANDBOX_NOTREADY"],
    Signal: ["RUNTIME_DEFAULT","SIGABRT","SIGALRM","SIGBUS","SIGCHLD","SIGCLD","SIGCONT","SIGFPE","SIGHUP","SIGILL","SIGINT","SIGIO","SIGIOT","SIGKILL","SIGPIPE","SIGPOLL","SIGPROF","SIGPWR","SIGQUIT","SIGSEGV","SIGSTKFLT","SIGSTOP","SIGSYS","SIGTERM","SIGTRAP","SIGTSTP","SIGTTIN","SIGTTOU","SIGURG","SIGUSR1","SIGUSR2","SIGVTALRM","SIGWINCH","SIGXCPU","SIGXFSZ","SIGRTMIN","SIGRTMINPLUS1","SIGRTMINPLUS2","SIGRTMINPLUS3","SIGRTMINPLUS4","SIGRTMINPLUS5","SIGRTMINPLUS6","SIGRTMINPLUS7","SIGRTMINPLUS8","SIGRTMINPLUS9","SIGRTMINPLUS10","SIGRTMINPLUS11","SIGRTMINPLUS12","SIGRTMINPLUS13","SIGRTMINPLUS14","SIGRTMINPLUS15","SIGRTMAXMINUS14","SIGRTMAXMINUS13","SIGRTMAXMINUS12","SIGRTMAXMINUS11","SIGRTMAXMINUS10","SIGRTMAXMINUS9","SIGRTMAXMINUS8","SIGRTMAXMINUS7","SIGRTMAXMINUS6","SIGRTMAXMINUS5","SIGRTMAXMINUS4","SIGRTMAXMINUS3","SIGRTMAXMINUS2","SIGRTMAXMINUS1","SIGRTMAX"],
    ContainerState: ["CONTAINER_CREATED","CONTAINER_RUNNING","CONTAINER_EXITED","CONTAINER_UNKNOWN"],
    ContainerEventType: ["CONTAINER_CREATED_EVENT","CONTAINER_STARTED_EVENT","CONTAINER_STOPPED_EVENT","CONTAINER_DELETED_EVENT"],
    MetricType: ["COUNTER","GAUGE"],
    CgroupDriver: ["SYSTEMD","CGROUPFS"],
  },
});

export interface RuntimeServiceMethods {
  Version: { request: VersionRequest; response: VersionResponse };
  RunPodSandbox: { request: RunPodSandboxRequest; response: RunPodSandboxResponse };
  StopPodSandbox: { request: StopPodSandboxRequest; response: StopPodSandboxResponse };
  RemovePodSandbox: { request: RemovePodSandboxRequest; response: RemovePodSandboxResponse };
  PodSandboxStatus: { request: PodSandboxStatusRequest; response: PodSandboxStatusResponse };
  ListPodSandbox: { request: ListPodSandboxRequest; response: ListPodSandboxResponse };
  StreamPodSandboxes: { request: StreamPodSandboxesRequest; response: StreamPodSandboxesResponse };
  CreateContainer: { request: CreateContainerRequest; response: CreateContainerResponse };
  StartContainer: { request: StartContainerRequest; response: StartContainerResponse };
  StopContainer: { request: StopContainerRequest; response: StopContainerResponse };
  RemoveContainer: { request: RemoveContainerRequest; response: RemoveContainerResponse };
  ListContainers: { request: ListContainersRequest; response: ListContainersResponse };
  StreamContainers: { request: StreamContainersRequest; response: StreamContainersResponse };
  ContainerStatus: { request: ContainerStatusRequest; response: ContainerStatusResponse };
  UpdateContainerResources: { request: UpdateContainerResourcesRequest; response: UpdateContainerResourcesResponse };
  ReopenContainerLog: { request: ReopenContainerLogRequest; response: ReopenContainerLogResponse };
  ExecSync: { request: ExecSyncRequest; response: ExecSyncResponse };
  Exec: { request: ExecRequest; response: ExecResponse };
  Attach: { request: AttachRequest; response: AttachResponse };
  PortForward: { request: PortForwardRequest; response: PortForwardResponse };
  ContainerStats: { request: ContainerStatsRequest; response: ContainerStatsResponse };
  ListContainerStats: { request: ListContainerStatsRequest; response: ListContainerStatsResponse };
  StreamContainerStats: { request: StreamContainerStatsRequest; response: StreamContainerStatsResponse };
  PodSandboxStats: { request: PodSandboxStatsRequest; response: PodSandboxStatsResponse };
  ListPodSandboxStats: { request: ListPodSandboxStatsRequest; response: ListPodSandboxStatsResponse };
  StreamPodSandboxStats: { request: StreamPodSandboxStatsRequest; response: StreamPodSandboxStatsResponse };
  UpdateRuntimeConfig: { request: UpdateRuntimeConfigRequest; response: UpdateRuntimeConfigResponse };
  Status: { request: StatusRequest; response: StatusResponse };
  CheckpointContainer: { request: CheckpointContainerRequest; response: CheckpointContainerResponse };
  GetContainerEvents: { request: GetEventsRequest; response: ContainerEventResponse };
  ListMetricDescriptors: { request: ListMetricDescriptorsRequest; response: ListMetricDescriptorsResponse };
  ListPodSandboxMetrics: { request: ListPodSandboxMetricsRequest; response: ListPodSandboxMetricsResponse };
  StreamPodSandboxMetrics: { request: StreamPodSandboxMetricsRequest; response: StreamPodSandboxMetricsResponse };
  RuntimeConfig: { request: RuntimeConfigRequest; response: RuntimeConfigResponse };
  UpdatePodSandboxResources: { request: UpdatePodSandboxResourcesRequest; response: UpdatePodSandboxResourcesResponse };
}

export const runtimeService: GrpcService<RuntimeServiceMethods> = {
  name: 'runtime.v1.RuntimeService',
  wire,
  methods: {
    Version: { request: 'VersionRequest', response: 'VersionResponse' },
    RunPodSandbox: { request: 'RunPodSandboxRequest', response: 'RunPodSandboxResponse' },
    StopPodSandbox: { request: 'StopPodSandboxRequest', response: 'StopPodSandboxResponse' },
    RemovePodSandbox: { request: 'RemovePodSandboxRequest', response: 'RemovePodSandboxResponse' },
    PodSandboxStatus: { request: 'PodSandboxStatusRequest', response: 'PodSandboxStatusResponse' },
    ListPodSandbox: { request: 'ListPodSandboxRequest', response: 'ListPodSandboxResponse' },
    StreamPodSandboxes: { request: 'StreamPodSandboxesRequest', response: 'StreamPodSandboxesResponse', streams: true },
    CreateContainer: { request: 'CreateContainerRequest', response: 'CreateContainerResponse' },
    StartContainer: { request: 'StartContainerRequest', response: 'StartContainerResponse' },
    StopContainer: { request: 'StopContainerRequest', response: 'StopContainerResponse' },
    RemoveContainer: { request: 'RemoveContainerRequest', response: 'RemoveContainerResponse' },
    ListContainers: { request: 'ListContainersRequest', response: 'ListContainersResponse' },
    StreamContainers: { request: 'StreamContainersRequest', response: 'StreamContainersResponse', streams: true },
    ContainerStatus: { request: 'ContainerStatusRequest', response: 'ContainerStatusResponse' },
    UpdateContainerResources: { request: 'UpdateContainerResourcesRequest', response: 'UpdateContainerResourcesResponse' },
    ReopenContainerLog: { request: 'ReopenContainerLogRequest', response: 'ReopenContainerLogResponse' },
    ExecSync: { request: 'ExecSyncRequest', response: 'ExecSyncResponse' },
    Exec: { request: 'ExecRequest', response: 'ExecResponse' },
    Attach: { request: 'AttachRequest', response: 'AttachResponse' },
    PortForward: { request: 'PortForwardRequest', response: 'PortForwardResponse' },
    ContainerStats: { request: 'ContainerStatsRequest', response: 'ContainerStatsResponse' },
    ListContainerStats: { request: 'ListContainerStatsRequest', response: 'ListContainerStatsResponse' },
    StreamContainerStats: { request: 'StreamContainerStatsRequest', response: 'StreamContainerStatsResponse', streams: true },
    PodSandboxStats: { request: 'PodSandboxStatsRequest', response: 'PodSandboxStatsResponse' },
    ListPodSandboxStats: { request: 'ListPodSandboxStatsRequest', response: 'ListPodSandboxStatsResponse' },
    StreamPodSandboxStats: { request: 'StreamPodSandboxStatsRequest', response: 'StreamPodSandboxStatsResponse', streams: true },
    UpdateRuntimeConfig: { request: 'UpdateRuntimeConfigRequest', response: 'UpdateRuntimeConfigResponse' },
    Status: { request: 'StatusRequest', response: 'StatusResponse' },
    CheckpointContainer: { request: 'CheckpointContainerRequest', response: 'CheckpointContainerResponse' },
    GetContainerEvents: { request: 'GetEventsRequest', response: 'ContainerEventResponse', streams: true },
    ListMetricDescriptors: { request: 'ListMetricDescriptorsRequest', response: 'ListMetricDescriptorsResponse' },
    ListPodSandboxMetrics: { request: 'ListPodSandboxMetricsRequest', response: 'ListPodSandboxMetricsResponse' },
    StreamPodSandboxMetrics: { request: 'StreamPodSandboxMetricsRequest', response: 'StreamPodSandboxMetricsResponse', streams: true },
    RuntimeConfig: { request: 'RuntimeConfigRequest', response: 'RuntimeConfigResponse' },
    UpdatePodSandboxResources: { request: 'UpdatePodSandboxResourcesRequest', response: 'UpdatePodSandboxResourcesResponse' },
  },
};

export interface ImageServiceMethods {
  ListImages: { request: ListImagesRequest; response: ListImagesResponse };
  StreamImages: { request: StreamImagesRequest; response: StreamImagesResponse };
  ImageStatus: { request: ImageStatusRequest; response: ImageStatusResponse };
  PullImage: { request: PullImageRequest; response: PullImageResponse };
  RemoveImage: { request: RemoveImageRequest; response: RemoveImageResponse };
  ImageFsInfo: { request: ImageFsInfoRequest; response: ImageFsInfoResponse };
}

export const imageService: GrpcService<ImageServiceMethods> = {
  name: 'runtime.v1.ImageService',
  wire,
  methods: {
    ListImages: { request: 'ListImagesRequest', response: 'ListImagesResponse' },
    StreamImages: { request: 'StreamImagesRequest', response: 'StreamImagesResponse', streams: true },
    ImageStatus: { request: 'ImageStatusRequest', response: 'ImageStatusResponse' },
    PullImage: { request: 'PullImageRequest', response: 'PullImageResponse' },
    RemoveImage: { request: 'RemoveImageRequest', response: 'RemoveImageResponse' },
    ImageFsInfo: { request: 'ImageFsInfoRequest', response: 'ImageFsInfoResponse' },
  },
};
