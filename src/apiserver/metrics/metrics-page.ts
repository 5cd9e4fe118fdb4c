/** `/metrics` in Prometheus' text form, made from the server's own counts when somebody asks. Names and labels are upstream's. */
import type { FlowControl } from '../flow-control.ts';
import type { KindStorage } from '../registry/kind-storage.ts';
import type { Handler } from '../request.ts';
import { serverVersion } from '../version.ts';
import { durationBuckets, type RequestSeries, type RequestStatistics } from './request-observer.ts';

export interface MetricsSource {
  readonly statistics: RequestStatistics;
  readonly flowControl: FlowControl;
  storages(): Iterable<KindStorage>;
}

export function metricsHandler(source: MetricsSource): Handler {
  return async () => ({
    status: 200,
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    body: { kind: 'bytes', chunks: [Buffer.from(await metricsPage(source))] },
  });
}

async function metricsPage(source: MetricsSource): Promise<string> {
  const { collectDefaultMetrics, Registry } = (await import('prom-client')).default;
  const registry = new Registry();
  // Of the process itself; registered anew each time, so that nothing runs between two scrapes.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 10 });
  const parts = [requestCounts(source), requestDurations(source), gauges(source), await registry.metrics()];
  registry.clear();
  return parts.join('\n');
}

function requestCounts({ statistics }: MetricsSource): string {
  const lines = family(
    'apiserver_request_total',
    'counter',
    'Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.',
  );
  for (const { labels, codes } of statistics.series()) {
    for (const [code, count] of codes)
      lines.push(sample('apiserver_request_total', { ...labels, code: String(code) }, count));
  }
  return `${lines.join('\n')}\n`;
}

function requestDurations({ statistics }: MetricsSource): string {
  const name = 'apiserver_request_duration_seconds';
  const lines = family(
    name,
    'histogram',
    'Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.',
  );
  for (const series of statistics.series()) if (series.count > 0) lines.push(...histogram(name, series));
  return `${lines.join('\n')}\n`;
}

function histogram(name: string, { labels, buckets, sum, count }: RequestSeries): string[] {
  const lines: string[] = [];
  let below = 0;
  durationBuckets.forEach((limit, index) => {
    below += buckets[index]!;
    lines.push(sample(`${name}_bucket`, { ...labels, le: String(limit) }, below));
  });
  lines.push(sample(`${name}_bucket`, { ...labels, le: '+Inf' }, count));
  lines.push(sample(`${name}_sum`, labels, sum), sample(`${name}_count`, labels, count));
  return lines;
}

function gauges({ flowControl, storages }: MetricsSource): string {
  const { readOnly, mutating } = flowControl.inFlight;
  const { major, minor, gitVersion } = serverVersion;
  const kinds = [...storages()];
  const lines = [
    ...family(
      'apiserver_current_inflight_requests',
      'gauge',
      'Maximal number of currently used inflight request limit of this apiserver per request kind in last second.',
    ),
    sample('apiserver_current_inflight_requests', { request_kind: 'readOnly' }, readOnly),
    sample('apiserver_current_inflight_requests', { request_kind: 'mutating' }, mutating),
    ...family(
      'apiserver_storage_objects',
      'gauge',
      'Number of stored objects at the time of last check split by kind.',
    ),
    ...kinds.map(({ kind, cache }) => sample('apiserver_storage_objects', { resource: kind.name }, cache.size)),
    ...family(
      'apiserver_registered_watchers',
      'gauge',
      'Number of currently registered watchers for a given resource.',
    ),
    ...kinds.map(({ kind, cache }) =>
      sample(
        'apiserver_registered_watchers',
        { group: kind.hub.group, version: kind.hub.version, kind: kind.hub.kind },
        cache.watcherCount,
      ),
    ),
    ...family(
      'kubernetes_build_info',
      'gauge',
      "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
    ),
    sample('kubernetes_build_info', { major, minor, git_version: gitVersion }, 1),
  ];
  return `${lines.join('\n')}\n`;
}

function family(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function sample(name: string, labels: Readonly<Record<string, string>>, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}{${pairs.join(',')}} ${value}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
