/**
 * What the kubelet counts and times of its own work, under upstream's names: one table says what there is, and whoever does the work adds to
 * it. A family is told once it has a sample.
 */
import type { Clock } from '../../base/clock.ts';
import { counterFamily, gaugeFamily, histogramFamily, type Labels } from '../../base/metrics/families.ts';
import { Counts, defaultLimits, exponentialLimits, Timings } from '../../base/metrics/series.ts';

const startLimits = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
];
const pullLimits = [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];

const counters = {
  runtime_operations_total: 'Cumulative number of runtime operations by operation type.',
  runtime_operations_errors_total: 'Cumulative number of runtime operation errors by operation type.',
  started_pods_total: 'Cumulative number of pods started',
  started_pods_errors_total: 'Cumulative number of errors when starting pods',
  started_user_namespaced_pods_total:
    'Cumulative number of pods with user namespaces started. This metric will only be collected on Linux.',
  started_user_namespaced_pods_errors_total:
    'Cumulative number of errors when starting pods with user namespaces. This metric will only be collected on Linux.',
  started_containers_total: 'Cumulative number of containers started',
  started_containers_errors_total: 'Cumulative number of errors when starting containers',
  run_podsandbox_errors_total: 'Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.',
  admission_rejections_total: 'Cumulative number pod admission rejections by the Kubelet.',
  image_manager_ensure_image_requests_total: 'Number of ensure-image requests processed by the kubelet.',
  imagemanager_image_mustpull_checks_total:
    'Counter for how many times kubelet checked whether credentials need to be re-verified to access an image',
  credential_provider_plugin_errors_total: 'Number of errors from credential provider plugin',
  device_plugin_registration_total: 'Cumulative number of device plugin registrations. Broken down by resource name.',
  pod_resources_endpoint_requests_total:
    'Cumulative number of requests to the PodResource endpoint. Broken down by server api version.',
  pod_resources_endpoint_requests_list:
    'Number of requests to the PodResource List endpoint. Broken down by server api version.',
  pod_resources_endpoint_requests_get_allocatable:
    'Number of requests to the PodResource GetAllocatableResources endpoint. Broken down by server api version.',
  pod_resources_endpoint_requests_get:
    'Number of requests to the PodResource Get endpoint. Broken down by server api version.',
  pod_resources_endpoint_errors_get:
    'Number of requests to the PodResource Get endpoint which returned error. Broken down by server api version.',
  orphaned_runtime_pods_total:
    'Number of pods that have been detected in the container runtime without being already known to the pod worker. This typically indicates the kubelet was restarted while a pod was force deleted in the API or in the local configuration, which is unusual.',
} as const;

const histograms = {
  runtime_operations_duration_seconds: {
    help: 'Duration in seconds of runtime operations. Broken down by operation type.',
    limits: exponentialLimits(0.005, { factor: 2.5, count: 14 }),
  },
  run_podsandbox_duration_seconds: {
    help: 'Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.',
    limits: defaultLimits,
  },
  pod_worker_duration_seconds: {
    help: 'Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
    limits: defaultLimits,
  },
  pod_start_duration_seconds: {
    help: 'Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run',
    limits: startLimits,
  },
  pleg_relist_duration_seconds: { help: 'Duration in seconds for relisting pods in PLEG.', limits: defaultLimits },
  pleg_relist_interval_seconds: { help: 'Interval in seconds between relisting in PLEG.', limits: defaultLimits },
  image_pull_duration_seconds: { help: 'Duration in seconds to pull an image.', limits: pullLimits },
  credential_provider_plugin_duration: {
    help: 'Duration of execution in seconds for credential provider plugin',
    limits: defaultLimits,
  },
  device_plugin_alloc_duration_seconds: {
    help: 'Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.',
    limits: defaultLimits,
  },
  eviction_stats_age_seconds: {
    help: 'Time between when stats are collected, and when pod is evicted based on those stats by eviction signal',
    limits: defaultLimits,
  },
} as const;

/** Facts that their labels tell; the value is always 1. */
const facts = {
  credential_provider_config_info:
    'Information about the last applied credential provider configuration with hash as label',
} as const;

export type KubeletCounter = keyof typeof counters;
export type KubeletTiming = keyof typeof histograms;

export class KubeletMetrics {
  readonly #counts = new Map<KubeletCounter, Counts>();
  readonly #timings = new Map<KubeletTiming, Timings>();
  readonly #facts = new Map<keyof typeof facts, Labels>();

  count(name: KubeletCounter, labels: Labels = {}): void {
    let counts = this.#counts.get(name);
    if (!counts) {
      counts = new Counts();
      this.#counts.set(name, counts);
    }
    counts.add(labels);
  }

  time(name: KubeletTiming, durationMs: number, labels: Labels = {}): void {
    let timings = this.#timings.get(name);
    if (!timings) {
      timings = new Timings(histograms[name].limits);
      this.#timings.set(name, timings);
    }
    timings.add(labels, durationMs);
  }

  show(name: keyof typeof facts, labels: Labels): void {
    this.#facts.set(name, labels);
  }

  /** However it ends. */
  async timed<T>(name: KubeletTiming, clock: Clock, work: () => Promise<T>, labels: Labels = {}): Promise<T> {
    const startedMs = clock.monotonic();
    try {
      return await work();
    } finally {
      this.time(name, clock.monotonic() - startedMs, labels);
    }
  }

  /** As text of a page of metrics. */
  families(): string {
    return [
      ...[...this.#counts].map(([name, counts]) => counterFamily(`kubelet_${name}`, counters[name], counts.samples())),
      ...[...this.#timings].map(([name, timings]) =>
        histogramFamily(`kubelet_${name}`, histograms[name].help, timings.histogram()),
      ),
      ...[...this.#facts].map(([name, labels]) => gaugeFamily(`kubelet_${name}`, facts[name], [{ labels, value: 1 }])),
    ].join('');
  }
}

const mebibyte = 1024 ** 2;
const imageSizes: readonly (readonly [number, string])[] = [
  [102_400, 'GT100GB'],
  [61_440, '60GB-100GB'],
  [40_960, '40GB-60GB'],
  [30_720, '30GB-40GB'],
  [20_480, '20GB-30GB'],
  [10_240, '10GB-20GB'],
  [5120, '5GB-10GB'],
  [1024, '1GB-5GB'],
  [500, '500MB-1GB'],
  [100, '100MB-500MB'],
  [10, '10MB-100MB'],
  [0, '0-10MB'],
];

/** The class of an image's size, by which pulls are told apart. */
export function imageSizeClass(sizeBytes: number): string {
  return imageSizes.find(([least]) => sizeBytes > least * mebibyte)?.[1] ?? 'N/A';
}
