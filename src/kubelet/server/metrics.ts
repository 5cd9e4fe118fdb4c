/** The kubelet's metric pages: its own (`/metrics`), what metrics-server reads (`/metrics/resource`), and cAdvisor's names. */

import type { Pod } from '../../api/gen/core-v1.ts';
import {
  counterFamily,
  gaugeFamily,
  type HistogramSample,
  histogramFamily,
  type Labels,
  type Sample,
} from '../../base/metrics/families.ts';
import type { NodeCareCounts } from '../node-care.ts';
import { isStaticPod } from '../pods/pod-phase.ts';
import type { KubeletCertificates, KubeletView } from './kubelet-view.ts';
import { type ContainerSample, type NodeSample, type PodSample, podUsage } from './stats.ts';

const nanos = 1e9;

export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly startedAtSeconds: number;
}

/** Requests answered, by method, first part of the path, and status code. */
export type RequestCounts = ReadonlyMap<string, number>;

export async function kubeletMetrics(view: KubeletView, usage: ProcessUsage, requests: RequestCounts): Promise<string> {
  const { runtime, nodeName } = view;
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandboxes({ state: 'ready' }).catch(() => []),
    runtime.listContainers().catch(() => []),
  ]);
  const states = Object.entries(Object.groupBy(containers, (container) => container.state));
  return [
    gauge('kubelet_node_name', "The node's name. The count is always 1.", [{ labels: { node: nodeName }, value: 1 }]),
    gauge('kubelet_running_pods', 'Number of pods that have a running pod sandbox', [{ value: sandboxes.length }]),
    gauge(
      'kubelet_running_containers',
      'Number of containers currently running',
      states.map(([state, of]) => ({ labels: { container_state: state }, value: of.length })),
    ),
    counter(
      'kubelet_http_requests_total',
      'Number of the http requests received since the server started',
      [...requests].map(([key, value]) => {
        const [method = '', path = '', code = ''] = key.split(' ');
        return { labels: { code, method, path, server_type: 'readwrite' }, value };
      }),
    ),
    ...podMetrics(view),
    view.metrics?.families() ?? '',
    ...nodeCareMetrics(view.counts?.()),
    csiFamily(view.csiCalls?.() ?? []),
    view.claimedDevices?.() ?? '',
    ...certificateMetrics(view.certificates),
    counter('process_cpu_seconds_total', 'Total user and system CPU time spent in seconds.', [
      { value: usage.cpuSeconds },
    ]),
    gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', [{ value: usage.residentBytes }]),
    gauge('process_start_time_seconds', 'Start time of the process since unix epoch in seconds.', [
      { value: usage.startedAtSeconds },
    ]),
  ].join('');
}

/** Of Pods that it is told to run, and of those that it really does. */
function podMetrics(view: KubeletView): string[] {
  const pods = view.pods();
  const isOver = ({ status }: Pod) => status?.phase === 'Succeeded' || status?.phase === 'Failed';
  const perSource = (of: readonly Pod[]) => [
    { labels: { static: '' }, value: of.filter((pod) => !isStaticPod(pod)).length },
    { labels: { static: 'true' }, value: of.filter(isStaticPod).length },
  ];
  const source = 'static is true if the pod is not from the apiserver.';
  const active = pods.filter((pod) => !isOver(pod));
  return [
    gauge(
      'kubelet_desired_pods',
      `The number of pods the kubelet is being instructed to run. ${source}`,
      perSource(pods),
    ),
    gauge(
      'kubelet_active_pods',
      `The number of pods the kubelet considers active and which are being considered when admitting new pods. ${source}`,
      perSource(active),
    ),
    gauge(
      'kubelet_mirror_pods',
      'The number of mirror pods the kubelet will try to create (one per admitted static pod)',
      [{ value: active.filter(isStaticPod).length }],
    ),
    gauge(
      'kubelet_managed_ephemeral_containers',
      'Current number of ephemeral containers in pods managed by this kubelet.',
      [{ value: pods.reduce((sum, { spec }) => sum + (spec.ephemeralContainers?.length ?? 0), 0) }],
    ),
  ];
}

function nodeCareMetrics(counts: NodeCareCounts | undefined): string[] {
  if (!counts) return [];
  const { evictions, keptMemory, removedImages, shutdown } = counts;
  const seconds = (ms: number) => Math.floor(ms / 1000);
  return [
    counter(
      'kubelet_evictions',
      'Cumulative number of pod evictions by eviction signal',
      [...evictions].map(([signal, value]) => ({ labels: { eviction_signal: signal }, value })),
    ),
    counter(
      'kubelet_image_garbage_collected_total',
      'Total number of images garbage collected by the kubelet, whether through disk usage or image age.',
      Object.entries(removedImages).map(([reason, value]) => ({ labels: { reason }, value })),
    ),
    gauge(
      'kubelet_graceful_shutdown_start_time_seconds',
      'Last graceful shutdown start time since unix epoch in seconds',
      shutdown ? [{ value: seconds(shutdown.startedMs) }] : [],
    ),
    gauge(
      'kubelet_graceful_shutdown_end_time_seconds',
      'Last graceful shutdown end time since unix epoch in seconds',
      shutdown ? [{ value: seconds(shutdown.endedMs) }] : [],
    ),
    ...(keptMemory
      ? [
          gauge(
            'kubelet_memory_qos_node_memory_min_bytes',
            'Total cgroup v2 memory.min in bytes for Guaranteed pods. This memory is hard-reserved and never reclaimed by the kernel.',
            [{ value: keptMemory.guaranteed }],
          ),
          gauge(
            'kubelet_memory_qos_node_memory_low_bytes',
            'Total cgroup v2 memory.low in bytes for Burstable pods. This memory is soft-reserved and may be reclaimed under extreme pressure.',
            [{ value: keptMemory.burstable }],
          ),
        ]
      : []),
  ];
}

function csiFamily(calls: readonly HistogramSample[]): string {
  if (calls.length === 0) return '';
  const help = 'Container Storage Interface operation duration with gRPC error code status total';
  return histogramFamily('csi_operations_seconds', help, calls);
}

function certificateMetrics({ client, serving }: KubeletCertificates = { client: undefined, serving: undefined }) {
  const errors = 'Counter of certificate renewal errors.';
  const ttl = (whose: string) =>
    `Gauge of the TTL (time-to-live) of the Kubelet's ${whose} certificate in seconds: negative when expired, +INF without one.`;
  return [
    ...(client
      ? [
          gauge('kubelet_certificate_manager_client_ttl_seconds', ttl('client'), [{ value: client.ttlSeconds }]),
          counter('kubelet_certificate_manager_client_expiration_renew_errors', errors, [{ value: client.failures }]),
        ]
      : []),
    ...(serving
      ? [
          gauge('kubelet_certificate_manager_server_ttl_seconds', ttl('serving'), [{ value: serving.ttlSeconds }]),
          counter('kubelet_server_expiration_renew_errors', errors, [{ value: serving.failures }]),
        ]
      : []),
  ];
}

/** `sample` is undefined when it could not be had. */
export function resourceMetrics(sample: NodeSample | undefined): string {
  const failed = gauge(
    'resource_scrape_error',
    '1 if there was an error while getting container metrics, 0 otherwise',
    [{ value: sample ? 0 : 1 }],
  );
  if (!sample) return failed;
  const { pods, atMs, facts, usage } = sample;
  const perContainer = (value: (container: ContainerSample) => Sample | undefined) =>
    pods.flatMap((pod) =>
      pod.containers.flatMap((container) => withLabels(value(container), labelsOf(pod, container))),
    );
  const perPod = (value: (pod: PodSample) => number) =>
    pods.map((pod) => ({ labels: podLabels(pod), value: value(pod), timestampMs: atMs }));
  return [
    counter(
      'container_cpu_usage_seconds_total',
      'Cumulative cpu time consumed by the container in core-seconds',
      perContainer(cpuSample),
    ),
    gauge(
      'container_memory_working_set_bytes',
      'Current working set of the container in bytes',
      perContainer(memorySample),
    ),
    gauge(
      'container_start_time_seconds',
      'Start time of the container since unix epoch in seconds',
      perContainer(({ startedAtMs }) => ({ value: startedAtMs / 1000 })),
    ),
    counter('node_cpu_usage_seconds_total', 'Cumulative cpu time consumed by the node in core-seconds', [
      { value: sample.cpuNanoSeconds / nanos, timestampMs: atMs },
    ]),
    gauge('node_memory_working_set_bytes', 'Current working set of the node in bytes', [
      { value: facts.memoryBytes - usage.memoryAvailableBytes, timestampMs: atMs },
    ]),
    counter(
      'pod_cpu_usage_seconds_total',
      'Cumulative cpu time consumed by the pod in core-seconds',
      perPod((pod) => podUsage(pod).cpuNanoSeconds / nanos),
    ),
    gauge(
      'pod_memory_working_set_bytes',
      'Current working set of the pod in bytes',
      perPod((pod) => podUsage(pod).workingSetBytes),
    ),
    failed,
  ].join('');
}

export function cadvisorMetrics({ pods, facts }: NodeSample): string {
  const each = (value: (container: ContainerSample) => Sample | undefined) =>
    pods.flatMap((pod) =>
      pod.containers.flatMap((container) => withLabels(value(container), cadvisorLabels(pod, container))),
    );
  const traffic = (name: 'receivedBytes' | 'sentBytes') =>
    pods.flatMap((pod) =>
      (pod.sandbox?.network?.interfaces ?? []).map((entry) => ({
        labels: { interface: entry.name, namespace: pod.namespace, pod: pod.name },
        value: entry[name],
      })),
    );
  return [
    counter('container_cpu_usage_seconds_total', 'Cumulative cpu time consumed in seconds.', each(cpuSample)),
    gauge('container_memory_working_set_bytes', 'Current working set in bytes.', each(memorySample)),
    gauge(
      'container_memory_usage_bytes',
      'Current memory usage in bytes, including all memory regardless of when it was accessed',
      each(({ stats: { memory } }) => memory && { value: memory.usageBytes ?? memory.workingSetBytes }),
    ),
    gauge(
      'container_memory_rss',
      'Size of RSS in bytes.',
      each(({ stats: { memory } }) => (memory?.rssBytes === undefined ? undefined : { value: memory.rssBytes })),
    ),
    gauge(
      'container_fs_usage_bytes',
      'Number of bytes that are consumed by the container on this filesystem.',
      each(({ stats: { writableLayer } }) => writableLayer && { value: writableLayer.usedBytes }),
    ),
    counter('container_network_receive_bytes_total', 'Cumulative count of bytes received', traffic('receivedBytes')),
    counter('container_network_transmit_bytes_total', 'Cumulative count of bytes transmitted', traffic('sentBytes')),
    gauge('machine_cpu_cores', 'Number of logical CPU cores.', [{ value: facts.cpuCount }]),
    gauge('machine_memory_bytes', 'Amount of memory installed on the machine.', [{ value: facts.memoryBytes }]),
  ].join('');
}

function cpuSample({ stats: { cpu } }: ContainerSample): Sample | undefined {
  return cpu && { value: cpu.coreNanoSeconds / nanos, timestampMs: cpu.timestampMs };
}

function memorySample({ stats: { memory } }: ContainerSample): Sample | undefined {
  return memory && { value: memory.workingSetBytes, timestampMs: memory.timestampMs };
}

function withLabels(sample: Sample | undefined, labels: Labels): Sample[] {
  return sample ? [{ ...sample, labels }] : [];
}

function podLabels({ namespace, name }: PodSample): Labels {
  return { namespace, pod: name };
}

function labelsOf(pod: PodSample, container: ContainerSample): Labels {
  return { container: container.name, ...podLabels(pod) };
}

function cadvisorLabels(pod: PodSample, { id, name, image }: ContainerSample): Labels {
  return { container: name, id: `/kubepods/pod${pod.uid}/${id}`, image, name: id, ...podLabels(pod) };
}

/** Families without a sample are left out here. */
function gauge(name: string, help: string, samples: readonly Sample[]): string {
  return samples.length === 0 ? '' : gaugeFamily(name, help, samples);
}

function counter(name: string, help: string, samples: readonly Sample[]): string {
  return samples.length === 0 ? '' : counterFamily(name, help, samples);
}
