/**
 * What a kubelet can be told: the fields of `KubeletConfiguration` and the flags that it honours, in one resolved form with
 * upstream's defaults. `options.ts` makes it from flags and a configuration file; embedded and simulated kubelets pass what differs.
 */
import type { Taint } from '../api/gen/core-v1.ts';

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
  readonly podPidsLimit: number;
  readonly podCidr: string;
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly evictionHard: Readonly<Record<string, string>>;
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
  readonly cpuCfsQuotaPeriodMs: number;
  readonly seccompDefault: boolean;
  readonly serializeImagePulls: boolean;
  readonly maxParallelImagePulls: number;
  readonly imageMinimumGcAgeMs: number;
  readonly imageGcHighThresholdPercent: number;
  readonly imageGcLowThresholdPercent: number;
  readonly containerLogMaxSizeBytes: number;
  readonly containerLogMaxFiles: number;
  readonly maxContainerRestartPeriodMs: number;
  readonly minimumContainerTtlMs: number;
  readonly maximumDeadContainersPerContainer: number;
  readonly maximumDeadContainers: number;
  /** Port of the kubelet's server as the Node's status gives it. */
  readonly port: number;
  readonly allowedUnsafeSysctls: readonly string[];
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
  cpuCfsQuotaPeriodMs: 100,
  seccompDefault: false,
  serializeImagePulls: true,
  maxParallelImagePulls: 1,
  imageMinimumGcAgeMs: 120_000,
  imageGcHighThresholdPercent: 85,
  imageGcLowThresholdPercent: 80,
  containerLogMaxSizeBytes: 10 * 1024 * 1024,
  containerLogMaxFiles: 5,
  maxContainerRestartPeriodMs: 300_000,
  minimumContainerTtlMs: 0,
  maximumDeadContainersPerContainer: 1,
  maximumDeadContainers: -1,
  port: 10250,
  allowedUnsafeSysctls: [],
};
