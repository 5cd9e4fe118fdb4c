/**
 * What the kubelet's server needs to know of the kubelet it belongs to. The server holds nothing of its own about Pods: every request
 * looks here anew.
 */
import { join } from 'node:path';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { HistogramSample } from '../../base/metrics/families.ts';
import type { CauseList } from '../../reconcile/causes.ts';
import { isGateOn } from '../../serving/feature-gates.ts';
import type { CertificateRotation } from '../certificates/certificate-rotation.ts';
import type { CsiVolumeStats } from '../csi/csi-stats.ts';
import type { MachineFacts, MachineUsage, PressureStalls } from '../host/host.ts';
import type { Kubelet } from '../kubelet.ts';
import type { LogOptions } from '../logs/container-log.ts';
import { podLog } from '../logs/pod-logs.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { NodeCareCounts } from '../node-care.ts';
import type { ContainerRuntime } from '../runtime/runtime.ts';
import { claimNameOf } from '../volumes/claims.ts';
import { configurationDocument } from './configuration-document.ts';

export interface KubeletView {
  readonly nodeName: string;
  readonly runtime: ContainerRuntime;
  /** All Pods of this node with their newest status. */
  pods(): readonly Pod[];
  pod(namespace: string, name: string): Pod | undefined;
  /** Rejects before the first byte, with the reason for the user, when there is nothing to read. */
  containerLog(pod: Pod, container: string, reading: LogReading): Promise<AsyncIterable<Uint8Array>>;
  /** Where archives of containers are written; absent: nowhere. */
  readonly checkpointDirectory?: string | undefined;
  facts(): Promise<MachineFacts>;
  usage(): Promise<MachineUsage>;
  /** How long processes waited, on the machine and in a Pod; undefined where nobody measures it. */
  pressure?(): Promise<PressureStalls | undefined>;
  podPressure?(namespace: string, name: string): Promise<PressureStalls | undefined>;
  /** How long calls of CSI drivers took. */
  csiCalls?(): readonly HistogramSample[];
  /** What is counted of claimed devices, as text of a page of metrics. */
  claimedDevices?(): string;
  /** How full a Pod's volumes are whose drivers tell; by name in the Pod. */
  volumeStats?(namespace: string, name: string): readonly PodVolumeStats[];
  /** CPU time that the whole machine has used since its start; absent where nobody counts it. */
  cpuNanoSeconds?: (() => Promise<number>) | undefined;
  /** What holds Pods up that are to start or to end here. */
  causes?(): CauseList;
  /** What the kubelet counts and times of its own work. */
  metrics?: KubeletMetrics | undefined;
  /** What the kubelet did for its node. */
  counts?(): NodeCareCounts;
  /** Of those certificates that the kubelet renews itself. */
  certificates?: KubeletCertificates | undefined;
  /** What others count in the kubelet's process, as text of its own page of metrics. */
  furtherMetrics?: (() => string) | undefined;
  /** Why the kubelet makes no progress, or undefined when it does. */
  problem(): string | undefined;
  /** Why plugins of devices cannot register, or undefined. */
  deviceProblem?(): string | undefined;
  /** The configuration in the form of its file (`KubeletConfiguration`). */
  configuration(): Readonly<Record<string, unknown>>;
}

export interface PodVolumeStats {
  /** In the Pod. */
  readonly name: string;
  /** The claim that it comes from. */
  readonly claim: string | undefined;
  readonly stats: CsiVolumeStats;
}

export interface LogReading extends LogOptions {
  readonly signal: AbortSignal;
}

type CertificateFigures = Pick<CertificateRotation, 'ttlSeconds' | 'failures'>;

export interface KubeletCertificates {
  readonly client: CertificateFigures | undefined;
  readonly serving: CertificateFigures | undefined;
}

export interface ViewOptions {
  readonly clock: Clock;
  readonly cpuNanoSeconds?: (() => Promise<number>) | undefined;
  readonly certificates?: KubeletCertificates | undefined;
  readonly furtherMetrics?: (() => string) | undefined;
}

/** A running kubelet as its server sees it. */
export function viewOf(
  kubelet: Kubelet,
  { clock, cpuNanoSeconds, certificates, furtherMetrics }: ViewOptions,
): KubeletView {
  const { featureGates, rootDirectory } = kubelet.configuration;
  return {
    furtherMetrics,
    nodeName: kubelet.nodeName,
    runtime: kubelet.runtime,
    pods: () => kubelet.pods(),
    pod: (namespace, name) => kubelet.pod(namespace, name),
    async containerLog({ metadata: { namespace = '', name = '' } }, container, { signal, ...options }) {
      const worker = kubelet.worker(namespace, name);
      if (!worker) throw new Error(`pod ${JSON.stringify(name)} cannot be found - no logs available`);
      const { runtime, host } = kubelet;
      return podLog(worker, container, options, { runtime, logs: host.logs, nowMs: clock.now(), signal });
    },
    checkpointDirectory: isGateOn(featureGates, 'ContainerCheckpoint') ? join(rootDirectory, 'checkpoints') : undefined,
    facts: () => kubelet.host.facts(),
    usage: () => kubelet.host.usage(),
    pressure: () => kubelet.host.pressure(),
    async podPressure(namespace, name) {
      const pod = kubelet.pod(namespace, name);
      return pod && kubelet.host.cgroups.pressure(pod);
    },
    csiCalls: () => kubelet.csi?.calls() ?? [],
    claimedDevices: () => kubelet.dynamicResources?.families() ?? '',
    volumeStats(namespace, name) {
      const pod = kubelet.pod(namespace, name);
      if (!pod || !kubelet.csi) return [];
      const found = kubelet.csi.volumeStats(pod.metadata.uid ?? '');
      return [...found].map(([volume, stats]) => {
        const source = pod.spec.volumes?.find((one) => one.name === volume);
        return { name: volume, claim: source && claimNameOf(pod, source), stats };
      });
    },
    cpuNanoSeconds,
    causes: () => kubelet.causes(),
    metrics: kubelet.metrics,
    counts: () => kubelet.counts,
    certificates,
    problem: () => kubelet.problem(),
    deviceProblem: () => kubelet.deviceProblem,
    configuration: () => configurationDocument(kubelet.configuration),
  };
}
