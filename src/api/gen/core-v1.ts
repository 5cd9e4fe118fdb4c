/** Types of core/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type AppArmorProfileType = 'Unconfined' | 'RuntimeDefault' | 'Localhost';

export type AzureDataDiskCachingMode = 'None' | 'ReadOnly' | 'ReadWrite';

export type AzureDataDiskKind = 'Shared' | 'Dedicated' | 'Managed';

export type ClaimResourceStatus = 'ControllerResizeInProgress' | 'ControllerResizeInfeasible' | 'NodeResizePending' | 'NodeResizeInProgress' | 'NodeResizeInfeasible';

export type DNSPolicy = 'ClusterFirstWithHostNet' | 'ClusterFirst' | 'Default' | 'None';

export type HostPathType = '' | 'DirectoryOrCreate' | 'Directory' | 'FileOrCreate' | 'File' | 'Socket' | 'CharDevice' | 'BlockDevice';

export type IPFamily = 'IPv4' | 'IPv6' | '';

export type IPFamilyPolicy = 'SingleStack' | 'PreferDualStack' | 'RequireDualStack';

export type MountPropagationMode = 'None' | 'HostToContainer' | 'Bidirectional';

export type NamespacePhase = 'Active' | 'Terminating';

export type NodeInclusionPolicy = 'Ignore' | 'Honor';

export type NodePhase = 'Pending' | 'Running' | 'Terminated';

export type NodeSelectorOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';

export type PersistentVolumeAccessMode = 'ReadWriteOnce' | 'ReadOnlyMany' | 'ReadWriteMany' | 'ReadWriteOncePod';

export type PersistentVolumeClaimModifyVolumeStatus = 'Pending' | 'InProgress' | 'Infeasible';

export type PersistentVolumeClaimPhase = 'Pending' | 'Bound' | 'Lost';

export type PersistentVolumeMode = 'Block' | 'Filesystem';

export type PersistentVolumePhase = 'Pending' | 'Available' | 'Bound' | 'Released' | 'Failed';

export type PersistentVolumeReclaimPolicy = 'Recycle' | 'Delete' | 'Retain';

export type PodFSGroupChangePolicy = 'OnRootMismatch' | 'Always';

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

export type PodQOSClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

export type PreemptionPolicy = 'PreemptLowerPriority' | 'Never';

export type ProcMountType = 'Default' | 'Unmasked';

export type Protocol = 'TCP' | 'UDP' | 'SCTP';

export type PullPolicy = 'Always' | 'Never' | 'IfNotPresent';

export type ResourceQuotaScope = 'Terminating' | 'NotTerminating' | 'BestEffort' | 'NotBestEffort' | 'PriorityClass' | 'CrossNamespacePodAffinity' | 'VolumeAttributesClass';

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

export type ScopeSelectorOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';

export type SeccompProfileType = 'Unconfined' | 'RuntimeDefault' | 'Localhost';

export type ServiceAffinity = 'ClientIP' | 'None';

export type ServiceExternalTrafficPolicy = 'Cluster' | 'Local';

export type ServiceInternalTrafficPolicy = 'Cluster' | 'Local';

export type ServiceType = 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName';

export type Signal = 'SIGABRT' | 'SIGALRM' | 'SIGBUS' | 'SIGCHLD' | 'SIGCLD' | 'SIGCONT' | 'SIGFPE' | 'SIGHUP' | 'SIGILL' | 'SIGINT' | 'SIGIO' | 'SIGIOT' | 'SIGKILL' | 'SIGPIPE' | 'SIGPOLL' | 'SIGPROF' | 'SIGPWR' | 'SIGQUIT' | 'SIGSEGV' | 'SIGSTKFLT' | 'SIGSTOP' | 'SIGSYS' | 'SIGTERM' | 'SIGTRAP' | 'SIGTSTP' | 'SIGTTIN' | 'SIGTTOU' | 'SIGURG' | 'SIGUSR1' | 'SIGUSR2' | 'SIGVTALRM' | 'SIGWINCH' | 'SIGXCPU' | 'SIGXFSZ' | 'SIGRTMIN' | 'SIGRTMIN+1' | 'SIGRTMIN+2' | 'SIGRTMIN+3' | 'SIGRTMIN+4' | 'SIGRTMIN+5' | 'SIGRTMIN+6' | 'SIGRTMIN+7' | 'SIGRTMIN+8' | 'SIGRTMIN+9' | 'SIGRTMIN+10' | 'SIGRTMIN+11' | 'SIGRTMIN+12' | 'SIGRTMIN+13' | 'SIGRTMIN+14' | 'SIGRTMIN+15' | 'SIGRTMAX-14' | 'SIGRTMAX-13' | 'SIGRTMAX-12' | 'SIGRTMAX-11' | 'SIGRTMAX-10' | 'SIGRTMAX-9' | 'SIGRTMAX-8' | 'SIGRTMAX-7' | 'SIGRTMAX-6' | 'SIGRTMAX-5' | 'SIGRTMAX-4' | 'SIGRTMAX-3' | 'SIGRTMAX-2' | 'SIGRTMAX-1' | 'SIGRTMAX';

export type SupplementalGroupsPolicy = 'Merge' | 'Strict';

export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

export type TerminationMessagePolicy = 'File' | 'FallbackToLogsOnError';

export type TolerationOperator = 'Exists' | 'Equal' | 'Lt' | 'Gt';

export type URIScheme = 'HTTP' | 'HTTPS';

export type UnsatisfiableConstraintAction = 'DoNotSchedule' | 'ScheduleAnyway';

export interface AWSElasticBlockStoreVolumeSource {
  readonly volumeID: string;
  readonly fsType?: string | undefined;
  readonly partition?: number | undefined;
  readonly readOnly?: boolean | undefined;
}

export interface Affinity {
  readonly nodeAffinity?: NodeAffinity | undefined;
  readonly podAffinity?: PodAffinity | undefined;
  readonly podAntiAffinity?: PodAntiAffinity | undefined;
}

export interface AppArmorProfile {
  readonly type: AppArmorProfileType;
  readonly localhostProfile?: string | undefined;
}

export interface AttachedVolume {
  readonly name: string;
  readonly devicePath: string;
}

export interface AvoidPods {
  readonly preferAvoidPods?: readonly PreferAvoidPodsEntry[] | undefined;
}

export interface AzureDiskVolumeSource {
  readonly diskName: string;
  readonly diskURI: string;
  readonly cachingMode?: AzureDataDiskCachingMode | undefined;
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly kind?: AzureDataDiskKind | undefined;
}

export interface AzureFilePersistentVolumeSource {
  readonly secretName: string;
  readonly shareName: string;
  readonly readOnly?: boolean | undefined;
  readonly secretNamespace?: string | undefined;
}

export interface AzureFileVolumeSource {
  readonly secretName: string;
  readonly shareName: string;
  readonly readOnly?: boolean | undefined;
}

export interface Binding {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly target: ObjectReference;
}

export interface CSIPersistentVolumeSource {
  readonly driver: string;
  readonly volumeHandle: string;
  readonly readOnly?: boolean | undefined;
  readonly fsType?: string | undefined;
  readonly volumeAttributes?: Readonly<Record<string, string>> | undefined;
  readonly controllerPublishSecretRef?: SecretReference | undefined;
  readonly nodeStageSecretRef?: SecretReference | undefined;
  readonly nodePublishSecretRef?: SecretReference | undefined;
  readonly controllerExpandSecretRef?: SecretReference | undefined;
  readonly nodeExpandSecretRef?: SecretReference | undefined;
}

export interface CSIVolumeSource {
  readonly driver: string;
  readonly readOnly?: boolean | undefined;
  readonly fsType?: string | undefined;
  readonly volumeAttributes?: Readonly<Record<string, string>> | undefined;
  readonly nodePublishSecretRef?: LocalObjectReference | undefined;
}

export interface Capabilities {
  readonly add?: readonly string[] | undefined;
  readonly drop?: readonly string[] | undefined;
}

export interface CephFSPersistentVolumeSource {
  readonly monitors: readonly string[];
  readonly path?: string | undefined;
  readonly user?: string | undefined;
  readonly secretFile?: string | undefined;
  readonly secretRef?: SecretReference | undefined;
  readonly readOnly?: boolean | undefined;
}

export interface CephFSVolumeSource {
  readonly monitors: readonly string[];
  readonly path?: string | undefined;
  readonly user?: string | undefined;
  readonly secretFile?: string | undefined;
  readonly secretRef?: LocalObjectReference | undefined;
  readonly readOnly?: boolean | undefined;
}

export interface CinderPersistentVolumeSource {
  readonly volumeID: string;
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: SecretReference | undefined;
}

export interface CinderVolumeSource {
  readonly volumeID: string;
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: LocalObjectReference | undefined;
}

export interface ClientIPConfig {
  readonly timeoutSeconds?: number | undefined;
}

export interface ClusterTrustBundleProjection {
  readonly name?: string | undefined;
  readonly signerName?: string | undefined;
  readonly labelSelector?: metaV1.LabelSelector | undefined;
  readonly optional?: boolean | undefined;
  readonly path: string;
}

export interface ComponentCondition {
  readonly type: string;
  readonly status: string;
  readonly message?: string | undefined;
  readonly error?: string | undefined;
}

export interface ComponentStatus {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly conditions?: readonly ComponentCondition[] | undefined;
}

export interface ComponentStatusList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ComponentStatus[];
}

export interface ConfigMap {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly immutable?: boolean | undefined;
  readonly data?: Readonly<Record<string, string>> | undefined;
  readonly binaryData?: Readonly<Record<string, string>> | undefined;
}

export interface ConfigMapEnvSource {
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
}

export interface ConfigMapKeySelector {
  readonly name?: string | undefined;
  readonly key: string;
  readonly optional?: boolean | undefined;
}

export interface ConfigMapList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ConfigMap[];
}

export interface ConfigMapNodeConfigSource {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly kubeletConfigKey: string;
}

export interface ConfigMapProjection {
  readonly name?: string | undefined;
  readonly items?: readonly KeyToPath[] | undefined;
  readonly optional?: boolean | undefined;
}

export interface ConfigMapVolumeSource {
  readonly name?: string | undefined;
  readonly items?: readonly KeyToPath[] | undefined;
  readonly defaultMode?: number | undefined;
  readonly optional?: boolean | undefined;
}

export interface Container {
  readonly name: string;
  readonly image?: string | undefined;
  readonly command?: readonly string[] | undefined;
  readonly args?: readonly string[] | undefined;
  readonly workingDir?: string | undefined;
  readonly ports?: readonly ContainerPort[] | undefined;
  readonly envFrom?: readonly EnvFromSource[] | undefined;
  readonly env?: readonly EnvVar[] | undefined;
  readonly resources?: ResourceRequirements | undefined;
  readonly resizePolicy?: readonly ContainerResizePolicy[] | undefined;
  readonly restartPolicy?: string | undefined;
  readonly restartPolicyRules?: readonly ContainerRestartRule[] | undefined;
  readonly volumeMounts?: readonly VolumeMount[] | undefined;
  readonly volumeDevices?: readonly VolumeDevice[] | undefined;
  readonly livenessProbe?: Probe | undefined;
  readonly readinessProbe?: Probe | undefined;
  readonly startupProbe?: Probe | undefined;
  readonly lifecycle?: Lifecycle | undefined;
  readonly terminationMessagePath?: string | undefined;
  readonly terminationMessagePolicy?: TerminationMessagePolicy | undefined;
  readonly imagePullPolicy?: PullPolicy | undefined;
  readonly securityContext?: SecurityContext | undefined;
  readonly stdin?: boolean | undefined;
  readonly stdinOnce?: boolean | undefined;
  readonly tty?: boolean | undefined;
}

export interface ContainerExtendedResourceRequest {
  readonly containerName: string;
  readonly resourceName: string;
  readonly requestName: string;
}

export interface ContainerImage {
  readonly names?: readonly string[] | undefined;
  readonly sizeBytes?: number | undefined;
}

export interface ContainerPort {
  readonly name?: string | undefined;
  readonly hostPort?: number | undefined;
  readonly containerPort: number;
  readonly protocol?: Protocol | undefined;
  readonly hostIP?: string | undefined;
}

export interface ContainerResizePolicy {
  readonly resourceName: string;
  readonly restartPolicy: string;
}

export interface ContainerRestartRule {
  readonly action: string;
  readonly exitCodes?: ContainerRestartRuleOnExitCodes | undefined;
}

export interface ContainerRestartRuleOnExitCodes {
  readonly operator: string;
  readonly values?: readonly number[] | undefined;
}

export interface ContainerState {
  readonly waiting?: ContainerStateWaiting | undefined;
  readonly running?: ContainerStateRunning | undefined;
  readonly terminated?: ContainerStateTerminated | undefined;
}

export interface ContainerStateRunning {
  readonly startedAt?: string | undefined;
}

export interface ContainerStateTerminated {
  readonly exitCode: number;
  readonly signal?: number | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly startedAt?: string | undefined;
  readonly finishedAt?: string | undefined;
  readonly containerID?: string | undefined;
}

export interface ContainerStateWaiting {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface ContainerStatus {
  readonly name: string;
  readonly state?: ContainerState | undefined;
  readonly lastState?: ContainerState | undefined;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly image: string;
  readonly imageID: string;
  readonly containerID?: string | undefined;
  readonly started?: boolean | undefined;
  readonly allocatedResources?: Readonly<Record<string, string>> | undefined;
  readonly resources?: ResourceRequirements | undefined;
  readonly volumeMounts?: readonly VolumeMountStatus[] | undefined;
  readonly user?: ContainerUser | undefined;
  readonly allocatedResourcesStatus?: readonly ResourceStatus[] | undefined;
  readonly stopSignal?: Signal | undefined;
}

export interface ContainerUser {
  readonly linux?: LinuxContainerUser | undefined;
}

export interface DaemonEndpoint {
  readonly Port: number;
}

export interface DownwardAPIProjection {
  readonly items?: readonly DownwardAPIVolumeFile[] | undefined;
}

export interface DownwardAPIVolumeFile {
  readonly path: string;
  readonly fieldRef?: ObjectFieldSelector | undefined;
  readonly resourceFieldRef?: ResourceFieldSelector | undefined;
  readonly mode?: number | undefined;
}

export interface DownwardAPIVolumeSource {
  readonly items?: readonly DownwardAPIVolumeFile[] | undefined;
  readonly defaultMode?: number | undefined;
}

export interface EmptyDirVolumeSource {
  readonly medium?: string | undefined;
  readonly sizeLimit?: string | undefined;
}

export interface EndpointAddress {
  readonly ip: string;
  readonly hostname?: string | undefined;
  readonly nodeName?: string | undefined;
  readonly targetRef?: ObjectReference | undefined;
}

export interface EndpointPort {
  readonly name?: string | undefined;
  readonly port: number;
  readonly protocol?: Protocol | undefined;
  readonly appProtocol?: string | undefined;
}

export interface EndpointSubset {
  readonly addresses?: readonly EndpointAddress[] | undefined;
  readonly notReadyAddresses?: readonly EndpointAddress[] | undefined;
  readonly ports?: readonly EndpointPort[] | undefined;
}

export interface Endpoints {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly subsets?: readonly EndpointSubset[] | undefined;
}

export interface EndpointsList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly Endpoints[];
}

export interface EnvFromSource {
  readonly prefix?: string | undefined;
  readonly configMapRef?: ConfigMapEnvSource | undefined;
  readonly secretRef?: SecretEnvSource | undefined;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string | undefined;
  readonly valueFrom?: EnvVarSource | undefined;
}

export interface EnvVarSource {
  readonly fieldRef?: ObjectFieldSelector | undefined;
  readonly resourceFieldRef?: ResourceFieldSelector | undefined;
  readonly configMapKeyRef?: ConfigMapKeySelector | undefined;
  readonly secretKeyRef?: SecretKeySelector | undefined;
  readonly fileKeyRef?: FileKeySelector | undefined;
}

export interface EphemeralContainer {
  readonly name: string;
  readonly image?: string | undefined;
  readonly command?: readonly string[] | undefined;
  readonly args?: readonly string[] | undefined;
  readonly workingDir?: string | undefined;
  readonly ports?: readonly ContainerPort[] | undefined;
  readonly envFrom?: readonly EnvFromSource[] | undefined;
  readonly env?: readonly EnvVar[] | undefined;
  readonly resources?: ResourceRequirements | undefined;
  readonly resizePolicy?: readonly ContainerResizePolicy[] | undefined;
  readonly restartPolicy?: string | undefined;
  readonly restartPolicyRules?: readonly ContainerRestartRule[] | undefined;
  readonly volumeMounts?: readonly VolumeMount[] | undefined;
  readonly volumeDevices?: readonly VolumeDevice[] | undefined;
  readonly livenessProbe?: Probe | undefined;
  readonly readinessProbe?: Probe | undefined;
  readonly startupProbe?: Probe | undefined;
  readonly lifecycle?: Lifecycle | undefined;
  readonly terminationMessagePath?: string | undefined;
  readonly terminationMessagePolicy?: TerminationMessagePolicy | undefined;
  readonly imagePullPolicy?: PullPolicy | undefined;
  readonly securityContext?: SecurityContext | undefined;
  readonly stdin?: boolean | undefined;
  readonly stdinOnce?: boolean | undefined;
  readonly tty?: boolean | undefined;
  readonly targetContainerName?: string | undefined;
}

export interface EphemeralContainerCommon {
  readonly name: string;
  readonly image?: string | undefined;
  readonly command?: readonly string[] | undefined;
  readonly args?: readonly string[] | undefined;
  readonly workingDir?: string | undefined;
  readonly ports?: readonly ContainerPort[] | undefined;
  readonly envFrom?: readonly EnvFromSource[] | undefined;
  readonly env?: readonly EnvVar[] | undefined;
  readonly resources?: ResourceRequirements | undefined;
  readonly resizePolicy?: readonly ContainerResizePolicy[] | undefined;
  readonly restartPolicy?: string | undefined;
  readonly restartPolicyRules?: readonly ContainerRestartRule[] | undefined;
  readonly volumeMounts?: readonly VolumeMount[] | undefined;
  readonly volumeDevices?: readonly VolumeDevice[] | undefined;
  readonly livenessProbe?: Probe | undefined;
  readonly readinessProbe?: Probe | undefined;
  readonly startupProbe?: Probe | undefined;
  readonly lifecycle?: Lifecycle | undefined;
  readonly terminationMessagePath?: string | undefined;
  readonly terminationMessagePolicy?: TerminationMessagePolicy | undefined;
  readonly imagePullPolicy?: PullPolicy | undefined;
  readonly securityContext?: SecurityContext | undefined;
  readonly stdin?: boolean | undefined;
  readonly stdinOnce?: boolean | undefined;
  readonly tty?: boolean | undefined;
}

export interface EphemeralVolumeSource {
  readonly volumeClaimTemplate?: PersistentVolumeClaimTemplate | undefined;
}

export interface Event {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly involvedObject: ObjectReference;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly source?: EventSource | undefined;
  readonly firstTimestamp?: string | undefined;
  readonly lastTimestamp?: string | undefined;
  readonly count?: number | undefined;
  readonly type?: string | undefined;
  readonly eventTime?: string | undefined;
  readonly series?: EventSeries | undefined;
  readonly action?: string | undefined;
  readonly related?: ObjectReference | undefined;
  readonly reportingComponent?: string | undefined;
  readonly reportingInstance?: string | undefined;
}

export interface EventList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly Event[];
}

export interface EventSeries {
  readonly count?: number | undefined;
  readonly lastObservedTime?: string | undefined;
}

export interface EventSource {
  readonly component?: string | undefined;
  readonly host?: string | undefined;
}

export interface ExecAction {
  readonly command?: readonly string[] | undefined;
}

export interface FCVolumeSource {
  readonly targetWWNs?: readonly string[] | undefined;
  readonly lun?: number | undefined;
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly wwids?: readonly string[] | undefined;
}

export interface FileKeySelector {
  readonly volumeName: string;
  readonly path: string;
  readonly key: string;
  readonly optional?: boolean | undefined;
}

export interface FlexPersistentVolumeSource {
  readonly driver: string;
  readonly fsType?: string | undefined;
  readonly secretRef?: SecretReference | undefined;
  readonly readOnly?: boolean | undefined;
  readonly options?: Readonly<Record<string, string>> | undefined;
}

export interface FlexVolumeSource {
  readonly driver: string;
  readonly fsType?: string | undefined;
  readonly secretRef?: LocalObjectReference | undefined;
  readonly readOnly?: boolean | undefined;
  readonly options?: Readonly<Record<string, string>> | undefined;
}

export interface FlockerVolumeSource {
  readonly datasetName?: string | undefined;
  readonly datasetUUID?: string | undefined;
}

export interface GCEPersistentDiskVolumeSource {
  readonly pdName: string;
  readonly fsType?: string | undefined;
  readonly partition?: number | undefined;
  readonly readOnly?: boolean | undefined;
}

export interface GRPCAction {
  readonly port: number;
  readonly service?: string | undefined;
}

export interface GitRepoVolumeSource {
  readonly repository: string;
  readonly revision?: string | undefined;
  readonly directory?: string | undefined;
}

export interface GlusterfsPersistentVolumeSource {
  readonly endpoints: string;
  readonly path: string;
  readonly readOnly?: boolean | undefined;
  readonly endpointsNamespace?: string | undefined;
}

export interface GlusterfsVolumeSource {
  readonly endpoints: string;
  readonly path: string;
  readonly readOnly?: boolean | undefined;
}

export interface HTTPGetAction {
  readonly path?: string | undefined;
  readonly port: number | string;
  readonly host?: string | undefined;
  readonly scheme?: URIScheme | undefined;
  readonly httpHeaders?: readonly HTTPHeader[] | undefined;
}

export interface HTTPHeader {
  readonly name: string;
  readonly value: string;
}

export interface HostAlias {
  readonly ip: string;
  readonly hostnames?: readonly string[] | undefined;
}

export interface HostIP {
  readonly ip: string;
}

export interface HostPathVolumeSource {
  readonly path: string;
  readonly type?: HostPathType | undefined;
}

export interface ISCSIPersistentVolumeSource {
  readonly targetPortal: string;
  readonly iqn: string;
  readonly lun: number;
  readonly iscsiInterface?: string | undefined;
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly portals?: readonly string[] | undefined;
  readonly chapAuthDiscovery?: boolean | undefined;
  readonly chapAuthSession?: boolean | undefined;
  readonly secretRef?: SecretReference | undefined;
  readonly initiatorName?: string | undefined;
}

export interface ISCSIVolumeSource {
  readonly targetPortal: string;
  readonly iqn: string;
  readonly lun: number;
  readonly iscsiInterface?: string | undefined;
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly portals?: readonly string[] | undefined;
  readonly chapAuthDiscovery?: boolean | undefined;
  readonly chapAuthSession?: boolean | undefined;
  readonly secretRef?: LocalObjectReference | undefined;
  readonly initiatorName?: string | undefined;
}

export interface ImageVolumeSource {
  readonly reference?: string | undefined;
  readonly pullPolicy?: PullPolicy | undefined;
}

export interface ImageVolumeStatus {
  readonly imageRef: string;
}

export interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number | undefined;
}

export interface Lifecycle {
  readonly postStart?: LifecycleHandler | undefined;
  readonly preStop?: LifecycleHandler | undefined;
  readonly stopSignal?: Signal | undefined;
}

export interface LifecycleHandler {
  readonly exec?: ExecAction | undefined;
  readonly httpGet?: HTTPGetAction | undefined;
  readonly tcpSocket?: TCPSocketAction | undefined;
  readonly sleep?: SleepAction | undefined;
}

export interface LimitRange {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: LimitRangeSpec;
}

export interface LimitRangeItem {
  readonly type: string;
  readonly max?: Readonly<Record<string, string>> | undefined;
  readonly min?: Readonly<Record<string, string>> | undefined;
  readonly default?: Readonly<Record<string, string>> | undefined;
  readonly defaultRequest?: Readonly<Record<string, string>> | undefined;
  readonly maxLimitRequestRatio?: Readonly<Record<string, string>> | undefined;
}

export interface LimitRangeList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly LimitRange[];
}

export interface LimitRangeSpec {
  readonly limits: readonly LimitRangeItem[];
}

export interface LinuxContainerUser {
  readonly uid: number;
  readonly gid: number;
  readonly supplementalGroups?: readonly number[] | undefined;
}

export interface List {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly unknown[];
}

export interface LoadBalancerIngress {
  readonly ip?: string | undefined;
  readonly hostname?: string | undefined;
  readonly ipMode?: string | undefined;
  readonly ports?: readonly PortStatus[] | undefined;
}

export interface LoadBalancerStatus {
  readonly ingress?: readonly LoadBalancerIngress[] | undefined;
}

export interface LocalObjectReference {
  readonly name?: string | undefined;
}

export interface LocalVolumeSource {
  readonly path: string;
  readonly fsType?: string | undefined;
}

export interface ModifyVolumeStatus {
  readonly targetVolumeAttributesClassName?: string | undefined;
  readonly status: PersistentVolumeClaimModifyVolumeStatus;
}

export interface NFSVolumeSource {
  readonly server: string;
  readonly path: string;
  readonly readOnly?: boolean | undefined;
}

export interface Namespace {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: NamespaceSpec;
  readonly status?: NamespaceStatus | undefined;
}

export interface NamespaceCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface NamespaceList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly Namespace[];
}

export interface NamespaceSpec {
  readonly finalizers?: readonly string[] | undefined;
}

export interface NamespaceStatus {
  readonly phase?: NamespacePhase | undefined;
  readonly conditions?: readonly NamespaceCondition[] | undefined;
}

export interface Node {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: NodeSpec;
  readonly status?: NodeStatus | undefined;
}

export interface NodeAddress {
  readonly type: string;
  readonly address: string;
}

export interface NodeAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector | undefined;
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly PreferredSchedulingTerm[] | undefined;
}

export interface NodeAllocatableResourceClaimStatus {
  readonly resourceClaimName: string;
  readonly containers?: readonly string[] | undefined;
  readonly resources: Readonly<Record<string, string>>;
}

export interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly lastHeartbeatTime?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface NodeConfigSource {
  readonly configMap?: ConfigMapNodeConfigSource | undefined;
}

export interface NodeConfigStatus {
  readonly assigned?: NodeConfigSource | undefined;
  readonly active?: NodeConfigSource | undefined;
  readonly lastKnownGood?: NodeConfigSource | undefined;
  readonly error?: string | undefined;
}

export interface NodeDaemonEndpoints {
  readonly kubeletEndpoint?: DaemonEndpoint | undefined;
}

export interface NodeFeatures {
  readonly supplementalGroupsPolicy?: boolean | undefined;
}

export interface NodeList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly Node[];
}

export interface NodeProxyOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly path?: string | undefined;
}

export interface NodeRuntimeHandler {
  readonly name?: string | undefined;
  readonly features?: NodeRuntimeHandlerFeatures | undefined;
}

export interface NodeRuntimeHandlerFeatures {
  readonly recursiveReadOnlyMounts?: boolean | undefined;
  readonly userNamespaces?: boolean | undefined;
}

export interface NodeSelector {
  readonly nodeSelectorTerms: readonly NodeSelectorTerm[];
}

export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: NodeSelectorOperator;
  readonly values?: readonly string[] | undefined;
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[] | undefined;
  readonly matchFields?: readonly NodeSelectorRequirement[] | undefined;
}

export interface NodeSpec {
  readonly podCIDR?: string | undefined;
  readonly podCIDRs?: readonly string[] | undefined;
  readonly providerID?: string | undefined;
  readonly unschedulable?: boolean | undefined;
  readonly taints?: readonly Taint[] | undefined;
  readonly configSource?: NodeConfigSource | undefined;
  readonly externalID?: string | undefined;
}

export interface NodeStatus {
  readonly capacity?: Readonly<Record<string, string>> | undefined;
  readonly allocatable?: Readonly<Record<string, string>> | undefined;
  readonly phase?: NodePhase | undefined;
  readonly conditions?: readonly NodeCondition[] | undefined;
  readonly addresses?: readonly NodeAddress[] | undefined;
  readonly daemonEndpoints?: NodeDaemonEndpoints | undefined;
  readonly nodeInfo?: NodeSystemInfo | undefined;
  readonly images?: readonly ContainerImage[] | undefined;
  readonly volumesInUse?: readonly string[] | undefined;
  readonly volumesAttached?: readonly AttachedVolume[] | undefined;
  readonly config?: NodeConfigStatus | undefined;
  readonly runtimeHandlers?: readonly NodeRuntimeHandler[] | undefined;
  readonly features?: NodeFeatures | undefined;
  readonly declaredFeatures?: readonly string[] | undefined;
}

export interface NodeSwapStatus {
  readonly capacity?: number | undefined;
}

export interface NodeSystemInfo {
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly containerRuntimeVersion: string;
  readonly kubeletVersion: string;
  readonly kubeProxyVersion: string;
  readonly operatingSystem: string;
  readonly architecture: string;
  readonly swap?: NodeSwapStatus | undefined;
}

export interface ObjectFieldSelector {
  readonly apiVersion?: string | undefined;
  readonly fieldPath: string;
}

export interface ObjectReference {
  readonly kind?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly fieldPath?: string | undefined;
}

export interface PersistentVolume {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: PersistentVolumeSpec;
  readonly status?: PersistentVolumeStatus | undefined;
}

export interface PersistentVolumeClaim {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: PersistentVolumeClaimSpec;
  readonly status?: PersistentVolumeClaimStatus | undefined;
}

export interface PersistentVolumeClaimCondition {
  readonly type: string;
  readonly status: string;
  readonly lastProbeTime?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface PersistentVolumeClaimList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly PersistentVolumeClaim[];
}

export interface PersistentVolumeClaimSpec {
  readonly accessModes?: readonly PersistentVolumeAccessMode[] | undefined;
  readonly selector?: metaV1.LabelSelector | undefined;
  readonly resources?: VolumeResourceRequirements | undefined;
  readonly volumeName?: string | undefined;
  readonly storageClassName?: string | undefined;
  readonly volumeMode?: PersistentVolumeMode | undefined;
  readonly dataSource?: TypedLocalObjectReference | undefined;
  readonly dataSourceRef?: TypedObjectReference | undefined;
  readonly volumeAttributesClassName?: string | undefined;
}

export interface PersistentVolumeClaimStatus {
  readonly phase?: PersistentVolumeClaimPhase | undefined;
  readonly accessModes?: readonly PersistentVolumeAccessMode[] | undefined;
  readonly capacity?: Readonly<Record<string, string>> | undefined;
  readonly conditions?: readonly PersistentVolumeClaimCondition[] | undefined;
  readonly allocatedResources?: Readonly<Record<string, string>> | undefined;
  readonly allocatedResourceStatuses?: Readonly<Record<string, ClaimResourceStatus>> | undefined;
  readonly currentVolumeAttributesClassName?: string | undefined;
  readonly modifyVolumeStatus?: ModifyVolumeStatus | undefined;
}

export interface PersistentVolumeClaimTemplate {
  readonly metadata?: metaV1.ObjectMeta | undefined;
  readonly spec: PersistentVolumeClaimSpec;
}

export interface PersistentVolumeClaimVolumeSource {
  readonly claimName: string;
  readonly readOnly?: boolean | undefined;
}

export interface PersistentVolumeList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly PersistentVolume[];
}

export interface PersistentVolumeSource {
  readonly gcePersistentDisk?: GCEPersistentDiskVolumeSource | undefined;
  readonly awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource | undefined;
  readonly hostPath?: HostPathVolumeSource | undefined;
  readonly glusterfs?: GlusterfsPersistentVolumeSource | undefined;
  readonly nfs?: NFSVolumeSource | undefined;
  readonly rbd?: RBDPersistentVolumeSource | undefined;
  readonly iscsi?: ISCSIPersistentVolumeSource | undefined;
  readonly cinder?: CinderPersistentVolumeSource | undefined;
  readonly cephfs?: CephFSPersistentVolumeSource | undefined;
  readonly fc?: FCVolumeSource | undefined;
  readonly flocker?: FlockerVolumeSource | undefined;
  readonly flexVolume?: FlexPersistentVolumeSource | undefined;
  readonly azureFile?: AzureFilePersistentVolumeSource | undefined;
  readonly vsphereVolume?: VsphereVirtualDiskVolumeSource | undefined;
  readonly quobyte?: QuobyteVolumeSource | undefined;
  readonly azureDisk?: AzureDiskVolumeSource | undefined;
  readonly photonPersistentDisk?: PhotonPersistentDiskVolumeSource | undefined;
  readonly portworxVolume?: PortworxVolumeSource | undefined;
  readonly scaleIO?: ScaleIOPersistentVolumeSource | undefined;
  readonly local?: LocalVolumeSource | undefined;
  readonly storageos?: StorageOSPersistentVolumeSource | undefined;
  readonly csi?: CSIPersistentVolumeSource | undefined;
}

export interface PersistentVolumeSpec {
  readonly capacity?: Readonly<Record<string, string>> | undefined;
  readonly gcePersistentDisk?: GCEPersistentDiskVolumeSource | undefined;
  readonly awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource | undefined;
  readonly hostPath?: HostPathVolumeSource | undefined;
  readonly glusterfs?: GlusterfsPersistentVolumeSource | undefined;
  readonly nfs?: NFSVolumeSource | undefined;
  readonly rbd?: RBDPersistentVolumeSource | undefined;
  readonly iscsi?: ISCSIPersistentVolumeSource | undefined;
  readonly cinder?: CinderPersistentVolumeSource | undefined;
  readonly cephfs?: CephFSPersistentVolumeSource | undefined;
  readonly fc?: FCVolumeSource | undefined;
  readonly flocker?: FlockerVolumeSource | undefined;
  readonly flexVolume?: FlexPersistentVolumeSource | undefined;
  readonly azureFile?: AzureFilePersistentVolumeSource | undefined;
  readonly vsphereVolume?: VsphereVirtualDiskVolumeSource | undefined;
  readonly quobyte?: QuobyteVolumeSource | undefined;
  readonly azureDisk?: AzureDiskVolumeSource | undefined;
  readonly photonPersistentDisk?: PhotonPersistentDiskVolumeSource | undefined;
  readonly portworxVolume?: PortworxVolumeSource | undefined;
  readonly scaleIO?: ScaleIOPersistentVolumeSource | undefined;
  readonly local?: LocalVolumeSource | undefined;
  readonly storageos?: StorageOSPersistentVolumeSource | undefined;
  readonly csi?: CSIPersistentVolumeSource | undefined;
  readonly accessModes?: readonly PersistentVolumeAccessMode[] | undefined;
  readonly claimRef?: ObjectReference | undefined;
  readonly persistentVolumeReclaimPolicy?: PersistentVolumeReclaimPolicy | undefined;
  readonly storageClassName?: string | undefined;
  readonly mountOptions?: readonly string[] | undefined;
  readonly volumeMode?: PersistentVolumeMode | undefined;
  readonly nodeAffinity?: VolumeNodeAffinity | undefined;
  readonly volumeAttributesClassName?: string | undefined;
}

export interface PersistentVolumeStatus {
  readonly phase?: PersistentVolumePhase | undefined;
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
  readonly lastPhaseTransitionTime?: string | undefined;
}

export interface PhotonPersistentDiskVolumeSource {
  readonly pdID: string;
  readonly fsType?: string | undefined;
}

export interface Pod {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: PodSpec;
  readonly status?: PodStatus | undefined;
}

export interface PodAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodAffinityTerm[] | undefined;
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly WeightedPodAffinityTerm[] | undefined;
}

export interface PodAffinityTerm {
  readonly labelSelector?: metaV1.LabelSelector | undefined;
  readonly namespaces?: readonly string[] | undefined;
  readonly topologyKey: string;
  readonly namespaceSelector?: metaV1.LabelSelector | undefined;
  readonly matchLabelKeys?: readonly string[] | undefined;
  readonly mismatchLabelKeys?: readonly string[] | undefined;
}

export interface PodAntiAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodAffinityTerm[] | undefined;
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly WeightedPodAffinityTerm[] | undefined;
}

export interface PodAttachOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly stdin?: boolean | undefined;
  readonly stdout?: boolean | undefined;
  readonly stderr?: boolean | undefined;
  readonly tty?: boolean | undefined;
  readonly container?: string | undefined;
}

export interface PodCertificateProjection {
  readonly signerName: string;
  readonly keyType: string;
  readonly maxExpirationSeconds?: number | undefined;
  readonly credentialBundlePath?: string | undefined;
  readonly keyPath?: string | undefined;
  readonly certificateChainPath?: string | undefined;
  readonly userAnnotations?: Readonly<Record<string, string>> | undefined;
}

export interface PodCondition {
  readonly type: string;
  readonly observedGeneration?: number | undefined;
  readonly status: string;
  readonly lastProbeTime?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface PodDNSConfig {
  readonly nameservers?: readonly string[] | undefined;
  readonly searches?: readonly string[] | undefined;
  readonly options?: readonly PodDNSConfigOption[] | undefined;
}

export interface PodDNSConfigOption {
  readonly name?: string | undefined;
  readonly value?: string | undefined;
}

export interface PodExecOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly stdin?: boolean | undefined;
  readonly stdout?: boolean | undefined;
  readonly stderr?: boolean | undefined;
  readonly tty?: boolean | undefined;
  readonly container?: string | undefined;
  readonly command: readonly string[];
}

export interface PodExtendedResourceClaimStatus {
  readonly requestMappings: readonly ContainerExtendedResourceRequest[];
  readonly resourceClaimName: string;
}

export interface PodIP {
  readonly ip: string;
}

export interface PodList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly Pod[];
}

export interface PodLogOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly container?: string | undefined;
  readonly follow?: boolean | undefined;
  readonly previous?: boolean | undefined;
  readonly sinceSeconds?: number | undefined;
  readonly sinceTime?: string | undefined;
  readonly timestamps?: boolean | undefined;
  readonly tailLines?: number | undefined;
  readonly limitBytes?: number | undefined;
  readonly insecureSkipTLSVerifyBackend?: boolean | undefined;
  readonly stream?: string | undefined;
}

export interface PodOS {
  readonly name: string;
}

export interface PodPortForwardOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly ports?: readonly number[] | undefined;
}

export interface PodProxyOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly path?: string | undefined;
}

export interface PodReadinessGate {
  readonly conditionType: string;
}

export interface PodResourceClaim {
  readonly name: string;
  readonly resourceClaimName?: string | undefined;
  readonly resourceClaimTemplateName?: string | undefined;
}

export interface PodResourceClaimStatus {
  readonly name: string;
  readonly resourceClaimName?: string | undefined;
}

export interface PodSchedulingGate {
  readonly name: string;
}

export interface PodSchedulingGroup {
  readonly podGroupName?: string | undefined;
}

export interface PodSecurityContext {
  readonly seLinuxOptions?: SELinuxOptions | undefined;
  readonly windowsOptions?: WindowsSecurityContextOptions | undefined;
  readonly runAsUser?: number | undefined;
  readonly runAsGroup?: number | undefined;
  readonly runAsNonRoot?: boolean | undefined;
  readonly supplementalGroups?: readonly number[] | undefined;
  readonly supplementalGroupsPolicy?: SupplementalGroupsPolicy | undefined;
  readonly fsGroup?: number | undefined;
  readonly sysctls?: readonly Sysctl[] | undefined;
  readonly fsGroupChangePolicy?: PodFSGroupChangePolicy | undefined;
  readonly seccompProfile?: SeccompProfile | undefined;
  readonly appArmorProfile?: AppArmorProfile | undefined;
  readonly seLinuxChangePolicy?: string | undefined;
}

export interface PodSignature {
  readonly podController?: metaV1.OwnerReference | undefined;
}

export interface PodSpec {
  readonly volumes?: readonly Volume[] | undefined;
  readonly initContainers?: readonly Container[] | undefined;
  readonly containers: readonly Container[];
  readonly ephemeralContainers?: readonly EphemeralContainer[] | undefined;
  readonly restartPolicy?: RestartPolicy | undefined;
  readonly terminationGracePeriodSeconds?: number | undefined;
  readonly activeDeadlineSeconds?: number | undefined;
  readonly dnsPolicy?: DNSPolicy | undefined;
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined;
  readonly serviceAccountName?: string | undefined;
  readonly serviceAccount?: string | undefined;
  readonly automountServiceAccountToken?: boolean | undefined;
  readonly nodeName?: string | undefined;
  readonly hostNetwork?: boolean | undefined;
  readonly hostPID?: boolean | undefined;
  readonly hostIPC?: boolean | undefined;
  readonly shareProcessNamespace?: boolean | undefined;
  readonly securityContext?: PodSecurityContext | undefined;
  readonly imagePullSecrets?: readonly LocalObjectReference[] | undefined;
  readonly hostname?: string | undefined;
  readonly subdomain?: string | undefined;
  readonly affinity?: Affinity | undefined;
  readonly schedulerName?: string | undefined;
  readonly tolerations?: readonly Toleration[] | undefined;
  readonly hostAliases?: readonly HostAlias[] | undefined;
  readonly priorityClassName?: string | undefined;
  readonly priority?: number | undefined;
  readonly dnsConfig?: PodDNSConfig | undefined;
  readonly readinessGates?: readonly PodReadinessGate[] | undefined;
  readonly runtimeClassName?: string | undefined;
  readonly enableServiceLinks?: boolean | undefined;
  readonly preemptionPolicy?: PreemptionPolicy | undefined;
  readonly overhead?: Readonly<Record<string, string>> | undefined;
  readonly topologySpreadConstraints?: readonly TopologySpreadConstraint[] | undefined;
  readonly setHostnameAsFQDN?: boolean | undefined;
  readonly os?: PodOS | undefined;
  readonly hostUsers?: boolean | undefined;
  readonly schedulingGates?: readonly PodSchedulingGate[] | undefined;
  readonly resourceClaims?: readonly PodResourceClaim[] | undefined;
  readonly resources?: ResourceRequirements | undefined;
  readonly hostnameOverride?: string | undefined;
  readonly schedulingGroup?: PodSchedulingGroup | undefined;
}

export interface PodStatus {
  readonly observedGeneration?: number | undefined;
  readonly phase?: PodPhase | undefined;
  readonly conditions?: readonly PodCondition[] | undefined;
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
  readonly nominatedNodeName?: string | undefined;
  readonly hostIP?: string | undefined;
  readonly hostIPs?: readonly HostIP[] | undefined;
  readonly podIP?: string | undefined;
  readonly podIPs?: readonly PodIP[] | undefined;
  readonly startTime?: string | undefined;
  readonly initContainerStatuses?: readonly ContainerStatus[] | undefined;
  readonly containerStatuses?: readonly ContainerStatus[] | undefined;
  readonly qosClass?: PodQOSClass | undefined;
  readonly ephemeralContainerStatuses?: readonly ContainerStatus[] | undefined;
  readonly resize?: string | undefined;
  readonly resourceClaimStatuses?: readonly PodResourceClaimStatus[] | undefined;
  readonly extendedResourceClaimStatus?: PodExtendedResourceClaimStatus | undefined;
  readonly allocatedResources?: Readonly<Record<string, string>> | undefined;
  readonly resources?: ResourceRequirements | undefined;
  readonly nodeAllocatableResourceClaimStatuses?: readonly NodeAllocatableResourceClaimStatus[] | undefined;
}

export interface PodStatusResult {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly status?: PodStatus | undefined;
}

export interface PodTemplate {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly template?: PodTemplateSpec | undefined;
}

export interface PodTemplateList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly PodTemplate[];
}

export interface PodTemplateSpec {
  readonly metadata?: metaV1.ObjectMeta | undefined;
  readonly spec: PodSpec;
}

export interface PortStatus {
  readonly port: number;
  readonly protocol: Protocol;
  readonly error?: string | undefined;
}

export interface PortworxVolumeSource {
  readonly volumeID: string;
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
}

export interface Preconditions {
  readonly uid?: string | undefined;
}

export interface PreferAvoidPodsEntry {
  readonly podSignature: PodSignature;
  readonly evictionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface PreferredSchedulingTerm {
  readonly weight: number;
  readonly preference: NodeSelectorTerm;
}

export interface Probe {
  readonly exec?: ExecAction | undefined;
  readonly httpGet?: HTTPGetAction | undefined;
  readonly tcpSocket?: TCPSocketAction | undefined;
  readonly grpc?: GRPCAction | undefined;
  readonly initialDelaySeconds?: number | undefined;
  readonly timeoutSeconds?: number | undefined;
  readonly periodSeconds?: number | undefined;
  readonly successThreshold?: number | undefined;
  readonly failureThreshold?: number | undefined;
  readonly terminationGracePeriodSeconds?: number | undefined;
}

export interface ProbeHandler {
  readonly exec?: ExecAction | undefined;
  readonly httpGet?: HTTPGetAction | undefined;
  readonly tcpSocket?: TCPSocketAction | undefined;
  readonly grpc?: GRPCAction | undefined;
}

export interface ProjectedVolumeSource {
  readonly sources?: readonly VolumeProjection[] | undefined;
  readonly defaultMode?: number | undefined;
}

export interface QuobyteVolumeSource {
  readonly registry: string;
  readonly volume: string;
  readonly readOnly?: boolean | undefined;
  readonly user?: string | undefined;
  readonly group?: string | undefined;
  readonly tenant?: string | undefined;
}

export interface RBDPersistentVolumeSource {
  readonly monitors: readonly string[];
  readonly image: string;
  readonly fsType?: string | undefined;
  readonly pool?: string | undefined;
  readonly user?: string | undefined;
  readonly keyring?: string | undefined;
  readonly secretRef?: SecretReference | undefined;
  readonly readOnly?: boolean | undefined;
}

export interface RBDVolumeSource {
  readonly monitors: readonly string[];
  readonly image: string;
  readonly fsType?: string | undefined;
  readonly pool?: string | undefined;
  readonly user?: string | undefined;
  readonly keyring?: string | undefined;
  readonly secretRef?: LocalObjectReference | undefined;
  readonly readOnly?: boolean | undefined;
}

export interface RangeAllocation {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly range: string;
  readonly data: string;
}

export interface ReplicationController {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ReplicationControllerSpec;
  readonly status?: ReplicationControllerStatus | undefined;
}

export interface ReplicationControllerCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface ReplicationControllerList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ReplicationController[];
}

export interface ReplicationControllerSpec {
  readonly replicas?: number | undefined;
  readonly minReadySeconds?: number | undefined;
  readonly selector?: Readonly<Record<string, string>> | undefined;
  readonly template?: PodTemplateSpec | undefined;
}

export interface ReplicationControllerStatus {
  readonly replicas: number;
  readonly fullyLabeledReplicas?: number | undefined;
  readonly readyReplicas?: number | undefined;
  readonly availableReplicas?: number | undefined;
  readonly observedGeneration?: number | undefined;
  readonly conditions?: readonly ReplicationControllerCondition[] | undefined;
}

export interface ResourceClaim {
  readonly name: string;
  readonly request?: string | undefined;
}

export interface ResourceFieldSelector {
  readonly containerName?: string | undefined;
  readonly resource: string;
  readonly divisor?: string | undefined;
}

export interface ResourceHealth {
  readonly resourceID: string;
  readonly health?: string | undefined;
  readonly message?: string | undefined;
}

export interface ResourceQuota {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ResourceQuotaSpec;
  readonly status?: ResourceQuotaStatus | undefined;
}

export interface ResourceQuotaList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ResourceQuota[];
}

export interface ResourceQuotaSpec {
  readonly hard?: Readonly<Record<string, string>> | undefined;
  readonly scopes?: readonly ResourceQuotaScope[] | undefined;
  readonly scopeSelector?: ScopeSelector | undefined;
}

export interface ResourceQuotaStatus {
  readonly hard?: Readonly<Record<string, string>> | undefined;
  readonly used?: Readonly<Record<string, string>> | undefined;
}

export interface ResourceRequirements {
  readonly limits?: Readonly<Record<string, string>> | undefined;
  readonly requests?: Readonly<Record<string, string>> | undefined;
  readonly claims?: readonly ResourceClaim[] | undefined;
}

export interface ResourceStatus {
  readonly name: string;
  readonly resources?: readonly ResourceHealth[] | undefined;
}

export interface SELinuxOptions {
  readonly user?: string | undefined;
  readonly role?: string | undefined;
  readonly type?: string | undefined;
  readonly level?: string | undefined;
}

export interface ScaleIOPersistentVolumeSource {
  readonly gateway: string;
  readonly system: string;
  readonly secretRef: SecretReference;
  readonly sslEnabled?: boolean | undefined;
  readonly protectionDomain?: string | undefined;
  readonly storagePool?: string | undefined;
  readonly storageMode?: string | undefined;
  readonly volumeName?: string | undefined;
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
}

export interface ScaleIOVolumeSource {
  readonly gateway: string;
  readonly system: string;
  readonly secretRef: LocalObjectReference;
  readonly sslEnabled?: boolean | undefined;
  readonly protectionDomain?: string | undefined;
  readonly storagePool?: string | undefined;
  readonly storageMode?: string | undefined;
  readonly volumeName?: string | undefined;
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
}

export interface ScopeSelector {
  readonly matchExpressions?: readonly ScopedResourceSelectorRequirement[] | undefined;
}

export interface ScopedResourceSelectorRequirement {
  readonly scopeName: ResourceQuotaScope;
  readonly operator: ScopeSelectorOperator;
  readonly values?: readonly string[] | undefined;
}

export interface SeccompProfile {
  readonly type: SeccompProfileType;
  readonly localhostProfile?: string | undefined;
}

export interface Secret {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly immutable?: boolean | undefined;
  readonly data?: Readonly<Record<string, string>> | undefined;
  readonly stringData?: Readonly<Record<string, string>> | undefined;
  readonly type?: string | undefined;
}

export interface SecretEnvSource {
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
}

export interface SecretKeySelector {
  readonly name?: string | undefined;
  readonly key: string;
  readonly optional?: boolean | undefined;
}

export interface SecretList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly Secret[];
}

export interface SecretProjection {
  readonly name?: string | undefined;
  readonly items?: readonly KeyToPath[] | undefined;
  readonly optional?: boolean | undefined;
}

export interface SecretReference {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
}

export interface SecretVolumeSource {
  readonly secretName?: string | undefined;
  readonly items?: readonly KeyToPath[] | undefined;
  readonly defaultMode?: number | undefined;
  readonly optional?: boolean | undefined;
}

export interface SecurityContext {
  readonly capabilities?: Capabilities | undefined;
  readonly privileged?: boolean | undefined;
  readonly seLinuxOptions?: SELinuxOptions | undefined;
  readonly windowsOptions?: WindowsSecurityContextOptions | undefined;
  readonly runAsUser?: number | undefined;
  readonly runAsGroup?: number | undefined;
  readonly runAsNonRoot?: boolean | undefined;
  readonly readOnlyRootFilesystem?: boolean | undefined;
  readonly allowPrivilegeEscalation?: boolean | undefined;
  readonly procMount?: ProcMountType | undefined;
  readonly seccompProfile?: SeccompProfile | undefined;
  readonly appArmorProfile?: AppArmorProfile | undefined;
}

export interface SerializedReference {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly reference?: ObjectReference | undefined;
}

export interface Service {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ServiceSpec;
  readonly status?: ServiceStatus | undefined;
}

export interface ServiceAccount {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly secrets?: readonly ObjectReference[] | undefined;
  readonly imagePullSecrets?: readonly LocalObjectReference[] | undefined;
  readonly automountServiceAccountToken?: boolean | undefined;
}

export interface ServiceAccountList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ServiceAccount[];
}

export interface ServiceAccountTokenProjection {
  readonly audience?: string | undefined;
  readonly expirationSeconds?: number | undefined;
  readonly path: string;
}

export interface ServiceList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly Service[];
}

export interface ServicePort {
  readonly name?: string | undefined;
  readonly protocol?: Protocol | undefined;
  readonly appProtocol?: string | undefined;
  readonly port: number;
  readonly targetPort?: number | string | undefined;
  readonly nodePort?: number | undefined;
}

export interface ServiceProxyOptions {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly path?: string | undefined;
}

export interface ServiceSpec {
  readonly ports?: readonly ServicePort[] | undefined;
  readonly selector?: Readonly<Record<string, string>> | undefined;
  readonly clusterIP?: string | undefined;
  readonly clusterIPs?: readonly string[] | undefined;
  readonly type?: ServiceType | undefined;
  readonly externalIPs?: readonly string[] | undefined;
  readonly sessionAffinity?: ServiceAffinity | undefined;
  readonly loadBalancerIP?: string | undefined;
  readonly loadBalancerSourceRanges?: readonly string[] | undefined;
  readonly externalName?: string | undefined;
  readonly externalTrafficPolicy?: ServiceExternalTrafficPolicy | undefined;
  readonly healthCheckNodePort?: number | undefined;
  readonly publishNotReadyAddresses?: boolean | undefined;
  readonly sessionAffinityConfig?: SessionAffinityConfig | undefined;
  readonly ipFamilies?: readonly IPFamily[] | undefined;
  readonly ipFamilyPolicy?: IPFamilyPolicy | undefined;
  readonly allocateLoadBalancerNodePorts?: boolean | undefined;
  readonly loadBalancerClass?: string | undefined;
  readonly internalTrafficPolicy?: ServiceInternalTrafficPolicy | undefined;
  readonly trafficDistribution?: string | undefined;
}

export interface ServiceStatus {
  readonly loadBalancer?: LoadBalancerStatus | undefined;
  readonly conditions?: readonly metaV1.Condition[] | undefined;
}

export interface SessionAffinityConfig {
  readonly clientIP?: ClientIPConfig | undefined;
}

export interface SleepAction {
  readonly seconds: number;
}

export interface StorageOSPersistentVolumeSource {
  readonly volumeName?: string | undefined;
  readonly volumeNamespace?: string | undefined;
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: ObjectReference | undefined;
}

export interface StorageOSVolumeSource {
  readonly volumeName?: string | undefined;
  readonly volumeNamespace?: string | undefined;
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: LocalObjectReference | undefined;
}

export interface Sysctl {
  readonly name: string;
  readonly value: string;
}

export interface TCPSocketAction {
  readonly port: number | string;
  readonly host?: string | undefined;
}

export interface Taint {
  readonly key: string;
  readonly value?: string | undefined;
  readonly effect: TaintEffect;
  readonly timeAdded?: string | undefined;
}

export interface Toleration {
  readonly key?: string | undefined;
  readonly operator?: TolerationOperator | undefined;
  readonly value?: string | undefined;
  readonly effect?: TaintEffect | undefined;
  readonly tolerationSeconds?: number | undefined;
}

export interface TopologySelectorLabelRequirement {
  readonly key: string;
  readonly values: readonly string[];
}

export interface TopologySelectorTerm {
  readonly matchLabelExpressions?: readonly TopologySelectorLabelRequirement[] | undefined;
}

export interface TopologySpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: UnsatisfiableConstraintAction;
  readonly labelSelector?: metaV1.LabelSelector | undefined;
  readonly minDomains?: number | undefined;
  readonly nodeAffinityPolicy?: NodeInclusionPolicy | undefined;
  readonly nodeTaintsPolicy?: NodeInclusionPolicy | undefined;
  readonly matchLabelKeys?: readonly string[] | undefined;
}

export interface TypedLocalObjectReference {
  readonly apiGroup?: string | undefined;
  readonly kind: string;
  readonly name: string;
}

export interface TypedObjectReference {
  readonly apiGroup?: string | undefined;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string | undefined;
}

export interface Volume {
  readonly name: string;
  readonly hostPath?: HostPathVolumeSource | undefined;
  readonly emptyDir?: EmptyDirVolumeSource | undefined;
  readonly gcePersistentDisk?: GCEPersistentDiskVolumeSource | undefined;
  readonly awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource | undefined;
  readonly gitRepo?: GitRepoVolumeSource | undefined;
  readonly secret?: SecretVolumeSource | undefined;
  readonly nfs?: NFSVolumeSource | undefined;
  readonly iscsi?: ISCSIVolumeSource | undefined;
  readonly glusterfs?: GlusterfsVolumeSource | undefined;
  readonly persistentVolumeClaim?: PersistentVolumeClaimVolumeSource | undefined;
  readonly rbd?: RBDVolumeSource | undefined;
  readonly flexVolume?: FlexVolumeSource | undefined;
  readonly cinder?: CinderVolumeSource | undefined;
  readonly cephfs?: CephFSVolumeSource | undefined;
  readonly flocker?: FlockerVolumeSource | undefined;
  readonly downwardAPI?: DownwardAPIVolumeSource | undefined;
  readonly fc?: FCVolumeSource | undefined;
  readonly azureFile?: AzureFileVolumeSource | undefined;
  readonly configMap?: ConfigMapVolumeSource | undefined;
  readonly vsphereVolume?: VsphereVirtualDiskVolumeSource | undefined;
  readonly quobyte?: QuobyteVolumeSource | undefined;
  readonly azureDisk?: AzureDiskVolumeSource | undefined;
  readonly photonPersistentDisk?: PhotonPersistentDiskVolumeSource | undefined;
  readonly projected?: ProjectedVolumeSource | undefined;
  readonly portworxVolume?: PortworxVolumeSource | undefined;
  readonly scaleIO?: ScaleIOVolumeSource | undefined;
  readonly storageos?: StorageOSVolumeSource | undefined;
  readonly csi?: CSIVolumeSource | undefined;
  readonly ephemeral?: EphemeralVolumeSource | undefined;
  readonly image?: ImageVolumeSource | undefined;
}

export interface VolumeDevice {
  readonly name: string;
  readonly devicePath: string;
}

export interface VolumeMount {
  readonly name: string;
  readonly readOnly?: boolean | undefined;
  readonly recursiveReadOnly?: string | undefined;
  readonly mountPath: string;
  readonly subPath?: string | undefined;
  readonly mountPropagation?: MountPropagationMode | undefined;
  readonly subPathExpr?: string | undefined;
}

export interface VolumeMountStatus {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean | undefined;
  readonly recursiveReadOnly?: string | undefined;
  readonly volumeStatus?: VolumeStatus | undefined;
}

export interface VolumeNodeAffinity {
  readonly required?: NodeSelector | undefined;
}

export interface VolumeProjection {
  readonly secret?: SecretProjection | undefined;
  readonly downwardAPI?: DownwardAPIProjection | undefined;
  readonly configMap?: ConfigMapProjection | undefined;
  readonly serviceAccountToken?: ServiceAccountTokenProjection | undefined;
  readonly clusterTrustBundle?: ClusterTrustBundleProjection | undefined;
  readonly podCertificate?: PodCertificateProjection | undefined;
}

export interface VolumeResourceRequirements {
  readonly limits?: Readonly<Record<string, string>> | undefined;
  readonly requests?: Readonly<Record<string, string>> | undefined;
}

export interface VolumeSource {
  readonly hostPath?: HostPathVolumeSource | undefined;
  readonly emptyDir?: EmptyDirVolumeSource | undefined;
  readonly gcePersistentDisk?: GCEPersistentDiskVolumeSource | undefined;
  readonly awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource | undefined;
  readonly gitRepo?: GitRepoVolumeSource | undefined;
  readonly secret?: SecretVolumeSource | undefined;
  readonly nfs?: NFSVolumeSource | undefined;
  readonly iscsi?: ISCSIVolumeSource | undefined;
  readonly glusterfs?: GlusterfsVolumeSource | undefined;
  readonly persistentVolumeClaim?: PersistentVolumeClaimVolumeSource | undefined;
  readonly rbd?: RBDVolumeSource | undefined;
  readonly flexVolume?: FlexVolumeSource | undefined;
  readonly cinder?: CinderVolumeSource | undefined;
  readonly cephfs?: CephFSVolumeSource | undefined;
  readonly flocker?: FlockerVolumeSource | undefined;
  readonly downwardAPI?: DownwardAPIVolumeSource | undefined;
  readonly fc?: FCVolumeSource | undefined;
  readonly azureFile?: AzureFileVolumeSource | undefined;
  readonly configMap?: ConfigMapVolumeSource | undefined;
  readonly vsphereVolume?: VsphereVirtualDiskVolumeSource | undefined;
  readonly quobyte?: QuobyteVolumeSource | undefined;
  readonly azureDisk?: AzureDiskVolumeSource | undefined;
  readonly photonPersistentDisk?: PhotonPersistentDiskVolumeSource | undefined;
  readonly projected?: ProjectedVolumeSource | undefined;
  readonly portworxVolume?: PortworxVolumeSource | undefined;
  readonly scaleIO?: ScaleIOVolumeSource | undefined;
  readonly storageos?: StorageOSVolumeSource | undefined;
  readonly csi?: CSIVolumeSource | undefined;
  readonly ephemeral?: EphemeralVolumeSource | undefined;
  readonly image?: ImageVolumeSource | undefined;
}

export interface VolumeStatus {
  readonly image?: ImageVolumeStatus | undefined;
}

export interface VsphereVirtualDiskVolumeSource {
  readonly volumePath: string;
  readonly fsType?: string | undefined;
  readonly storagePolicyName?: string | undefined;
  readonly storagePolicyID?: string | undefined;
}

export interface WeightedPodAffinityTerm {
  readonly weight: number;
  readonly podAffinityTerm: PodAffinityTerm;
}

export interface WindowsSecurityContextOptions {
  readonly gmsaCredentialSpecName?: string | undefined;
  readonly gmsaCredentialSpec?: string | undefined;
  readonly runAsUserName?: string | undefined;
  readonly hostProcess?: boolean | undefined;
}

export const bindings: ResourceType<Binding> = {
  group: '',
  version: 'v1',
  resource: 'bindings',
  kind: 'Binding',
  namespaced: true,
  singular: 'binding',
  shortNames: [],
  categories: [],
  verbs: ['create'],
  subresources: [],
};

export const componentStatuses: ResourceType<ComponentStatus> = {
  group: '',
  version: 'v1',
  resource: 'componentstatuses',
  kind: 'ComponentStatus',
  namespaced: false,
  singular: 'componentstatus',
  shortNames: ['cs'],
  categories: [],
  verbs: ['get', 'list'],
  subresources: [],
};

export const configMaps: ResourceType<ConfigMap> = {
  group: '',
  version: 'v1',
  resource: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
  singular: 'configmap',
  shortNames: ['cm'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const endpoints: ResourceType<Endpoints> = {
  group: '',
  version: 'v1',
  resource: 'endpoints',
  kind: 'Endpoints',
  namespaced: true,
  singular: 'endpoints',
  shortNames: ['ep'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const events: ResourceType<Event> = {
  group: '',
  version: 'v1',
  resource: 'events',
  kind: 'Event',
  namespaced: true,
  singular: 'event',
  shortNames: ['ev'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const limitRanges: ResourceType<LimitRange> = {
  group: '',
  version: 'v1',
  resource: 'limitranges',
  kind: 'LimitRange',
  namespaced: true,
  singular: 'limitrange',
  shortNames: ['limits'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const namespaces: ResourceType<Namespace> = {
  group: '',
  version: 'v1',
  resource: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
  singular: 'namespace',
  shortNames: ['ns'],
  categories: [],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['finalize', 'status'],
};

export const nodes: ResourceType<Node> = {
  group: '',
  version: 'v1',
  resource: 'nodes',
  kind: 'Node',
  namespaced: false,
  singular: 'node',
  shortNames: ['no'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['proxy', 'status'],
};

export const persistentVolumeClaims: ResourceType<PersistentVolumeClaim> = {
  group: '',
  version: 'v1',
  resource: 'persistentvolumeclaims',
  kind: 'PersistentVolumeClaim',
  namespaced: true,
  singular: 'persistentvolumeclaim',
  shortNames: ['pvc'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

export const persistentVolumes: ResourceType<PersistentVolume> = {
  group: '',
  version: 'v1',
  resource: 'persistentvolumes',
  kind: 'PersistentVolume',
  namespaced: false,
  singular: 'persistentvolume',
  shortNames: ['pv'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

export const pods: ResourceType<Pod> = {
  group: '',
  version: 'v1',
  resource: 'pods',
  kind: 'Pod',
  namespaced: true,
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['attach', 'binding', 'ephemeralcontainers', 'eviction', 'exec', 'log', 'portforward', 'proxy', 'resize', 'status'],
};

export const podTemplates: ResourceType<PodTemplate> = {
  group: '',
  version: 'v1',
  resource: 'podtemplates',
  kind: 'PodTemplate',
  namespaced: true,
  singular: 'podtemplate',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const replicationControllers: ResourceType<ReplicationController> = {
  group: '',
  version: 'v1',
  resource: 'replicationcontrollers',
  kind: 'ReplicationController',
  namespaced: true,
  singular: 'replicationcontroller',
  shortNames: ['rc'],
  categories: ['all'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['scale', 'status'],
};

export const resourceQuotas: ResourceType<ResourceQuota> = {
  group: '',
  version: 'v1',
  resource: 'resourcequotas',
  kind: 'ResourceQuota',
  namespaced: true,
  singular: 'resourcequota',
  shortNames: ['quota'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

export const secrets: ResourceType<Secret> = {
  group: '',
  version: 'v1',
  resource: 'secrets',
  kind: 'Secret',
  namespaced: true,
  singular: 'secret',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const serviceAccounts: ResourceType<ServiceAccount> = {
  group: '',
  version: 'v1',
  resource: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
  singular: 'serviceaccount',
  shortNames: ['sa'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['token'],
};

export const services: ResourceType<Service> = {
  group: '',
  version: 'v1',
  resource: 'services',
  kind: 'Service',
  namespaced: true,
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['proxy', 'status'],
};
