/**
 * What a kubelet can be told: the fields of `KubeletConfiguration` and the flags that it honours, in one resolved form with
 * upstream's defaults. `options.ts` makes it from flags and a configuration file; embedded and simulated kubelets pass what differs.
 */
import type { Taint } from '../api/gen/core-v1.ts';
import type { FeatureGates } from '../serving/feature-gates.ts';
import type { SwapBehavior } from './containers/swap.ts';
import type { PullVerificationPolicy } from './images/pull-verification.ts';
import type { TopologyPolicy } from './resource-managers/topology-hints.ts';
import type { ShutdownPhase } from './shutdown/shutdown-phases.ts';

export interface KubeletConfiguration {
  readonly registerNode: boolean;
  readonly registerWithTaints: readonly Taint[];
  readonly nodeLabels: Readonly<Record<string, string>>;
  /** `--node-ip`: one address or a pair of both families; empty: found out. */
  readonly nodeIps: readonly string[];
  readonly providerId: string;
  /** `external`: a cloud controller sets addresses and takes the `uninitialized` taint away. */
  readonly cloudProvider: string;
  readonly nodeStatusUpdateFrequencyMs: number;
  readonly nodeStatusReportFrequencyMs: number;
  readonly nodeLeaseDurationSeconds: number;
  readonly nodeStatusMaxImages: number;
  readonly maxPods: number;
  /** Length of the range of users that a Pod with users of its own gets. */
  readonly userNamespaceIdsPerPod: number;
  readonly podPidsLimit: number;
  readonly podCidr: string;
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionSoft: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod: Readonly<Record<string, string>>;
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
  /** A pressure is shown this long after it was last seen. */
  readonly evictionPressureTransitionPeriodMs: number;
  /** The longest grace for Pods that a soft threshold ends. */
  readonly evictionMaxPodGracePeriodSeconds: number;
  /** Whether Pods that exceed their limits of local storage are evicted. */
  readonly localStorageCapacityIsolation: boolean;
  /** Whose cgroups get a limit: `pods`, `system-reserved`, `kube-reserved`. */
  readonly enforceNodeAllocatable: readonly string[];
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  readonly resolvConf: string;
  readonly rootDirectory: string;
  readonly podLogsDirectory: string;
  /** Where symbolic links to the logs are kept for collectors; empty: nowhere. */
  readonly containerLogsDirectory: string;
  readonly staticPodPath: string;
  readonly fileCheckFrequencyMs: number;
  /** A Pod is looked at again after this even when nothing happened; 0: never. */
  readonly syncFrequencyMs: number;
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  readonly cgroupRoot: string;
  readonly cgroupsPerQos: boolean;
  readonly cpuCfsQuota: boolean;
  /** How containers may use swap space. */
  readonly swapBehavior: SwapBehavior;
  /** How far between request and limit memory is taken freely, where the gate MemoryQoS is on. */
  readonly memoryThrottlingFactor: number;
  readonly memoryReservationPolicy: 'None' | 'TieredReservation';
  /** Out of memory, the kernel ends one process of a container instead of all; in cgroup v1 it always does. */
  readonly singleProcessOomKill: boolean;
  /** Existing groups that are limited to what is reserved, by `enforceNodeAllocatable`. */
  readonly systemReservedCgroup: string;
  readonly kubeReservedCgroup: string;
  readonly featureGates: FeatureGates;
  readonly cpuManagerPolicy: 'none' | 'static';
  readonly cpuManagerPolicyOptions: Readonly<Record<string, string>>;
  readonly cpuManagerReconcilePeriodMs: number;
  /** Processors for the system, instead of as many as are reserved: `0-1`. */
  readonly reservedSystemCpus: string;
  readonly memoryManagerPolicy: 'None' | 'Static';
  readonly reservedMemory: readonly ReservedMemory[];
  readonly topologyManagerPolicy: TopologyPolicy;
  readonly topologyManagerScope: 'container' | 'pod';
  readonly topologyManagerPolicyOptions: Readonly<Record<string, string>>;
  readonly cpuCfsQuotaPeriodMs: number;
  readonly seccompDefault: boolean;
  readonly serializeImagePulls: boolean;
  readonly maxParallelImagePulls: number;
  /** For which images that are here a Pod must show credentials; gate KubeletEnsureSecretPulledImages. */
  readonly imagePullCredentialsVerificationPolicy: PullVerificationPolicy;
  readonly preloadedImagesVerificationAllowlist: readonly string[];
  readonly imageMinimumGcAgeMs: number;
  /** 0: images are not removed for their age. */
  readonly imageMaximumGcAgeMs: number;
  readonly imageGcHighThresholdPercent: number;
  readonly imageGcLowThresholdPercent: number;
  readonly containerLogMaxSizeBytes: number;
  readonly containerLogMaxFiles: number;
  readonly maxContainerRestartPeriodMs: number;
  readonly minimumContainerTtlMs: number;
  readonly maximumDeadContainersPerContainer: number;
  readonly maximumDeadContainers: number;
  /** Both 0: a shutdown of the machine is not delayed. */
  readonly shutdownGracePeriodMs: number;
  /** The part of it that critical Pods have. */
  readonly shutdownGracePeriodCriticalPodsMs: number;
  /** Instead of those two. */
  readonly shutdownGracePeriodByPodPriority: readonly ShutdownPhase[];
  /** Port of the kubelet's server as the Node's status gives it. */
  readonly port: number;
  readonly allowedUnsafeSysctls: readonly string[];
}

/** What of a memory node is not for Pods. */
export interface ReservedMemory {
  readonly numaNode: number;
  /** In bytes, by resource. */
  readonly limits: Readonly<Record<string, number>>;
}

export const defaultConfiguration: KubeletConfiguration = {
  registerNode: true,
  registerWithTaints: [],
  nodeLabels: {},
  nodeIps: [],
  providerId: '',
  cloudProvider: '',
  nodeStatusUpdateFrequencyMs: 10_000,
  nodeStatusReportFrequencyMs: 300_000,
  nodeLeaseDurationSeconds: 40,
  nodeStatusMaxImages: 50,
  maxPods: 110,
  userNamespaceIdsPerPod: 65_536,
  podPidsLimit: -1,
  podCidr: '',
  kubeReserved: {},
  systemReserved: {},
  evictionHard: {
    'memory.available': '100Mi',
    'nodefs.available': '10%',
    'nodefs.inodesFree': '5%',
    'imagefs.available': '15%',
    'imagefs.inodesFree': '5%',
  },
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
  evictionPressureTransitionPeriodMs: 300_000,
  evictionMaxPodGracePeriodSeconds: 0,
  localStorageCapacityIsolation: true,
  enforceNodeAllocatable: ['pods'],
  clusterDns: [],
  clusterDomain: '',
  resolvConf: '/etc/resolv.conf',
  rootDirectory: '/var/lib/kubelet',
  podLogsDirectory: '/var/log/pods',
  containerLogsDirectory: '/var/log/containers',
  staticPodPath: '',
  fileCheckFrequencyMs: 20_000,
  syncFrequencyMs: 60_000,
  cgroupDriver: 'cgroupfs',
  cgroupRoot: '/',
  cgroupsPerQos: true,
  cpuCfsQuota: true,
  swapBehavior: 'LimitedSwap',
  memoryThrottlingFactor: 0.9,
  memoryReservationPolicy: 'None',
  singleProcessOomKill: false,
  systemReservedCgroup: '',
  kubeReservedCgroup: '',
  featureGates: {},
  cpuManagerPolicy: 'none',
  cpuManagerPolicyOptions: {},
  cpuManagerReconcilePeriodMs: 10_000,
  reservedSystemCpus: '',
  memoryManagerPolicy: 'None',
  reservedMemory: [],
  topologyManagerPolicy: 'none',
  topologyManagerScope: 'container',
  topologyManagerPolicyOptions: {},
  cpuCfsQuotaPeriodMs: 100,
  seccompDefault: false,
  serializeImagePulls: true,
  maxParallelImagePulls: 1,
  imagePullCredentialsVerificationPolicy: 'NeverVerifyPreloadedImages',
  preloadedImagesVerificationAllowlist: [],
  imageMinimumGcAgeMs: 120_000,
  imageMaximumGcAgeMs: 0,
  imageGcHighThresholdPercent: 85,
  imageGcLowThresholdPercent: 80,
  containerLogMaxSizeBytes: 10 * 1024 * 1024,
  containerLogMaxFiles: 5,
  maxContainerRestartPeriodMs: 300_000,
  minimumContainerTtlMs: 0,
  maximumDeadContainersPerContainer: 1,
  maximumDeadContainers: -1,
  shutdownGracePeriodMs: 0,
  shutdownGracePeriodCriticalPodsMs: 0,
  shutdownGracePeriodByPodPriority: [],
  port: 10250,
  allowedUnsafeSysctls: [],
};
