/** `/metrics` in Prometheus' text form, made from the server's own counts when somebody asks. Names and labels are upstream's. */

import {
  counterFamily,
  gaugeFamily,
  histogramFamily,
  type Labels,
  metricsContentType,
  type Sample,
} from '../../base/metrics/families.ts';
import { ProcessMetrics, processStartFamily } from '../../base/metrics/process-metrics.ts';
import type { AdmissionStatistics } from '../admission/admission-statistics.ts';
import { removedRelease } from '../deprecation.ts';
import type { FlowControl } from '../flow-control/flow-control.ts';
import type { HealthStatistics } from '../health/health-checks.ts';
import type { KindStorage } from '../registry/kind-storage.ts';
import type { ApiResponse, Handler } from '../request.ts';
import type { ServedResources } from '../resources.ts';
import { serverVersion } from '../version.ts';
import type { IdentityStatistics } from './identity-statistics.ts';
import type { RequestSeries, RequestStatistics } from './request-observer.ts';

export interface MetricsSource {
  readonly requests: RequestStatistics;
  readonly admission: AdmissionStatistics;
  readonly identity: IdentityStatistics;
  readonly health: HealthStatistics;
  readonly resources: ServedResources;
  flowControl(): FlowControl;
  storages(): Iterable<KindStorage>;
  storeBytes(): Promise<number>;
  /** Families of parts that come and go. */
  further(): readonly string[];
  /** Aborted when the server ends. */
  readonly signal: AbortSignal;
}

export function metricsHandler(source: MetricsSource): Handler {
  const ofProcess = new ProcessMetrics();
  source.signal.addEventListener('abort', () => ofProcess.close(), { once: true });
  return async () => metricsReply(await metricsPage(source, ofProcess));
}

/** `/metrics/slis`: how the server's checks went, alone, to be asked often. */
export function healthMetricsHandler({ health }: Pick<MetricsSource, 'health'>): Handler {
  return async () => metricsReply([...health.families(), processStartFamily()].join(''));
}

function metricsReply(text: string): ApiResponse {
  return {
    status: 200,
    headers: { 'content-type': metricsContentType },
    body: { kind: 'bytes', chunks: [Buffer.from(text)] },
  };
}

async function metricsPage(source: MetricsSource, ofProcess: ProcessMetrics): Promise<string> {
  const parts = [
    ...requestFamilies(source),
    ...source.admission.families(),
    ...source.identity.families(),
    ...storageFamilies(source, await source.storeBytes()),
    ...serverFamilies(source),
    ...source.further(),
    ...(await ofProcess.families()),
  ];
  return parts.join('');
}

function requestFamilies({ requests, resources }: MetricsSource): readonly string[] {
  const all = [...requests.series()];
  const perCode = (counts: (series: RequestSeries) => ReadonlyMap<number, number>, labels = labelsOf): Sample[] =>
    all.flatMap((series) =>
      [...counts(series)].map(([code, value]) => ({ labels: { code: String(code), ...labels(series) }, value })),
    );
  return [
    counterFamily(
      'apiserver_request_total',
      'Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.',
      perCode(({ codes }) => codes),
    ),
    histogramFamily(
      'apiserver_request_duration_seconds',
      'Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.',
      all.map((series) => ({ labels: series.labels, counts: series.durations })),
    ),
    histogramFamily(
      'apiserver_response_sizes',
      'Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component.',
      all.map((series) => ({ labels: withoutDryRun(series), counts: series.sizes })),
    ),
    gaugeFamily(
      'apiserver_longrunning_requests',
      'Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope and component. Not all requests are tracked this way.',
      all
        .filter(({ labels }) => labels.verb === 'WATCH' || labels.verb === 'CONNECT')
        .map((series) => ({ labels: withoutDryRun(series), value: series.longRunning })),
    ),
    counterFamily(
      'apiserver_request_terminations_total',
      'Number of requests which apiserver terminated in self-defense.',
      perCode(({ terminations }) => terminations, withoutDryRun),
    ),
    gaugeFamily(
      'apiserver_requested_deprecated_apis',
      'Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, subresource, and removed_release.',
      deprecatedSamples(all, resources),
    ),
  ];
}

function deprecatedSamples(all: readonly RequestSeries[], resources: ServedResources): Sample[] {
  const seen = new Map<string, Sample>();
  for (const { labels } of all) {
    const { group, version, resource, subresource } = labels;
    const served = resources.find(group, version, resource);
    const removed = served && removedRelease(served.row);
    if (removed === undefined) continue;
    seen.set(`${group}/${version}/${resource}/${subresource}`, {
      labels: { group, removed_release: removed, resource, subresource, version },
      value: 1,
    });
  }
  return [...seen.values()];
}

function labelsOf({ labels }: RequestSeries): Labels {
  return labels;
}

function withoutDryRun({ labels }: RequestSeries): Labels {
  const { dry_run: _, ...others } = labels;
  return others;
}

function storageFamilies({ storages }: MetricsSource, storeBytes: number): readonly string[] {
  const kinds = [...storages()];
  const sizes = (labels: (storage: KindStorage) => Labels): Sample[] =>
    kinds.map((storage) => ({ labels: labels(storage), value: storage.cache.size }));
  const hubOf = ({ kind }: KindStorage) => kind.hub;
  const resourceOf = ({ kind }: KindStorage) => kind.name.split('.')[0]!;
  return [
    gaugeFamily(
      'apiserver_storage_objects',
      '[DEPRECATED, consider using apiserver_resource_objects instead] Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be -1.',
      sizes(({ kind }) => ({ resource: kind.name })),
    ),
    gaugeFamily(
      'apiserver_resource_objects',
      'Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be -1.',
      sizes((storage) => ({ group: hubOf(storage).group, resource: resourceOf(storage) })),
    ),
    gaugeFamily('apiserver_storage_size_bytes', 'Size of the storage database file physically allocated in bytes.', [
      { labels: { storage_cluster_id: 'etcd-0' }, value: storeBytes },
    ]),
    gaugeFamily(
      'apiserver_registered_watchers',
      'Number of currently registered watchers for a given resource.',
      kinds.map((storage) => {
        const { group, version, kind } = hubOf(storage);
        return { labels: { group, kind, version }, value: storage.cache.watcherCount };
      }),
    ),
    counterFamily(
      'apiserver_watch_events_total',
      'Number of events sent in watch clients',
      kinds.map((storage) => {
        const { group, version } = hubOf(storage);
        return { labels: { group, resource: resourceOf(storage), version }, value: storage.cache.sent.frames };
      }),
    ),
  ];
}

function serverFamilies({ flowControl, health }: MetricsSource): readonly string[] {
  const { readOnly, mutating } = flowControl().inFlight;
  const { major, minor, gitVersion, gitCommit, gitTreeState, buildDate, goVersion, compiler, platform } = serverVersion;
  const build = {
    build_date: buildDate,
    compiler,
    git_commit: gitCommit,
    git_tree_state: gitTreeState,
    git_version: gitVersion,
    go_version: goVersion,
    major,
    minor,
    platform,
  };
  return [
    gaugeFamily(
      'apiserver_current_inflight_requests',
      'Maximal number of currently used inflight request limit of this apiserver per request kind in last second.',
      [
        { labels: { request_kind: 'mutating' }, value: mutating },
        { labels: { request_kind: 'readOnly' }, value: readOnly },
      ],
    ),
    ...health.families(),
    gaugeFamily(
      'kubernetes_build_info',
      "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
      [{ labels: build, value: 1 }],
    ),
  ];
}
