/** The pages of the kubelet's server by path. Sessions that leave HTTP (exec and the like) are only recognised here, not served. */
import type { IncomingMessage } from 'node:http';
import type { Pod } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { metricsContentType } from '../../base/metrics/families.ts';
import { causesPath } from '../../reconcile/causes.ts';
import { type Container, runtimeLabels, type Sandbox } from '../runtime/runtime.ts';
import { checkpoint } from './checkpoint.ts';
import { containerLogs } from './container-logs.ts';
import type { KubeletView } from './kubelet-view.ts';
import { cadvisorMetrics, kubeletMetrics, type ProcessUsage, resourceMetrics } from './metrics.ts';
import { failure, json, notFoundPage, type Reply, text, wrongMethod } from './replies.ts';
import { sampleNode } from './stats.ts';
import { StatsSummary } from './stats-summary.ts';
import { runCommand, type StreamingRoute } from './streaming.ts';
import { type SystemLogs, systemLogs } from './system-logs.ts';

export interface RouteOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly enableDebuggingHandlers?: boolean | undefined;
  readonly systemLogs?: SystemLogs | undefined;
}

export interface Routes {
  answer(request: IncomingMessage, url: URL, signal: AbortSignal): Promise<Reply>;
  /** The health page, or undefined for another path. */
  health(url: URL): Reply | undefined;
  /** Set when sessions and logs are switched off. */
  debuggingRefusal(): Reply | undefined;
  /** Notes an answered request for the metrics. */
  count(request: IncomingMessage, status: number): void;
}

const sessionKinds: ReadonlyMap<string, StreamingRoute['kind']> = new Map([
  ['exec', 'exec'],
  ['attach', 'attach'],
  ['portForward', 'portForward'],
]);
const debuggingPaths: ReadonlySet<string> = new Set([
  ...sessionKinds.keys(),
  'run',
  'containerLogs',
  'runningpods',
  'logs',
]);

export function createRoutes(view: KubeletView, options: RouteOptions): Routes {
  return new KubeletRoutes(view, options);
}

/** What a client that asked for an upgrade wants; undefined when the path knows no sessions. */
export function streamingRoute(url: URL): StreamingRoute | undefined {
  const [first = '', ...segments] = segmentsOf(url);
  const kind = sessionKinds.get(first);
  if (!kind) return undefined;
  const least = kind === 'portForward' ? 2 : 3;
  const isComplete = segments.length >= least && segments.length <= least + 1 && segments.every(Boolean);
  return isComplete ? { kind, segments, query: url.searchParams } : undefined;
}

class KubeletRoutes implements Routes {
  readonly #view: KubeletView;
  readonly #options: RouteOptions;
  readonly #summary = new StatsSummary();
  readonly #requests = new Map<string, number>();
  readonly #startedAtMs: number;

  constructor(view: KubeletView, options: RouteOptions) {
    this.#view = view;
    this.#options = options;
    this.#startedAtMs = options.clock.now();
  }

  async answer(request: IncomingMessage, url: URL, signal: AbortSignal): Promise<Reply> {
    const method = request.method ?? 'GET';
    const [first = '', ...segments] = segmentsOf(url);
    if (debuggingPaths.has(first)) return this.debuggingRefusal() ?? (await this.#debugging(request, url, signal));
    if (first === 'checkpoint' && segments.length === 3 && this.#view.checkpointDirectory !== undefined) {
      if (method !== 'POST') return wrongMethod();
      const { clock } = this.#options;
      return checkpoint(this.#view, { segments, query: url.searchParams, clock, signal });
    }
    if (method !== 'GET' && method !== 'HEAD') return this.#isPage(first) ? wrongMethod() : notFoundPage();
    const health = this.health(url);
    if (health) return health;
    if (first === 'pods' && isLast(segments)) return json(podList(this.#view.pods()));
    if (first === 'stats') return this.#stats(segments, url);
    if (first === 'metrics') return this.#metrics(segments);
    const causes = url.pathname === causesPath ? this.#view.causes?.() : undefined;
    if (causes) return json(causes);
    if (first === 'configz' && isLast(segments)) return json({ kubeletconfig: this.#view.configuration() });
    return notFoundPage();
  }

  health({ pathname }: URL): Reply | undefined {
    const [first, check, ...more] = pathname.split('/').slice(1);
    if (first !== 'healthz' || more.length > 0) return undefined;
    const checks: Readonly<Record<string, string | undefined>> = {
      ping: undefined,
      log: undefined,
      syncloop: this.#view.problem(),
      'device-plugin': this.#view.deviceProblem?.(),
    };
    if (check && !(check in checks)) return undefined;
    const failed = Object.entries(checks).filter(([name, problem]) => problem && (!check || name === check));
    if (failed.length === 0) return text('ok');
    const lines = Object.entries(checks).map(([name, problem]) =>
      problem ? `[-]${name} failed: reason withheld` : `[+]${name} ok`,
    );
    return failure(500, `${lines.join('\n')}\nhealthz check failed\n`);
  }

  debuggingRefusal(): Reply | undefined {
    return this.#options.enableDebuggingHandlers === false
      ? failure(405, 'Debug endpoints are disabled.\n')
      : undefined;
  }

  count({ method = '', url = '' }: IncomingMessage, status: number): void {
    const [first = '', second = ''] = url.split('?')[0]!.split('/').slice(1);
    const page = first === 'metrics' && second ? `metrics/${second}` : first;
    const path = this.#isPage(first) || debuggingPaths.has(first) ? page : 'other';
    const key = `${method} ${path} ${status}`;
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1);
  }

  #isPage(first: string): boolean {
    return ['pods', 'healthz', 'stats', 'metrics', 'configz', 'checkpoint'].includes(first);
  }

  async #debugging(request: IncomingMessage, url: URL, signal: AbortSignal): Promise<Reply> {
    const method = request.method ?? 'GET';
    const [first = '', ...segments] = segmentsOf(url);
    const { log } = this.#options;
    const query = url.searchParams;
    switch (first) {
      case 'containerLogs':
        if (segments.length !== 3) return notFoundPage();
        return containerLogs(this.#view, { method, segments, query, signal });
      case 'run':
        if (segments.length < 3 || segments.length > 4) return notFoundPage();
        return method === 'POST' ? runCommand(this.#view, segments, { query, log }) : wrongMethod();
      case 'runningpods':
        return method === 'GET' ? this.#runningPods() : wrongMethod();
      case 'logs':
        return method === 'GET' ? this.#systemLogs(request, url, signal) : wrongMethod();
      default:
        return streamingRoute(url) ? failure(500, 'Upgrade request required\n') : notFoundPage();
    }
  }

  async #systemLogs({ headers }: IncomingMessage, url: URL, signal: AbortSignal): Promise<Reply> {
    const logs = this.#options.systemLogs;
    if (!logs) return failure(405, 'logs endpoint is disabled.\n');
    return systemLogs(logs, {
      path: segmentsOf(url).slice(1).join('/'),
      parameters: url.searchParams,
      acceptEncoding: headers['accept-encoding']?.toString(),
      signal,
    });
  }

  async #runningPods(): Promise<Reply> {
    const { runtime, nodeName } = this.#view;
    const [sandboxes, containers] = await Promise.all([
      runtime.listPodSandboxes({ state: 'ready' }),
      runtime.listContainers({ state: 'running' }),
    ]);
    return json(podList(sandboxes.map((sandbox) => runningPod(sandbox, containers, nodeName))));
  }

  async #stats([page, ...more]: readonly string[], url: URL): Promise<Reply> {
    if (page !== 'summary' || !isLast(more)) return notFoundPage();
    const onlyCpuAndMemory = url.searchParams.get('only_cpu_and_memory') === 'true';
    const sample = await sampleNode(this.#view, this.#options.clock);
    return json(this.#summary.of(this.#view.nodeName, sample, { onlyCpuAndMemory }));
  }

  async #metrics([page = '', ...more]: readonly string[]): Promise<Reply> {
    if (!isLast(more)) return notFoundPage();
    const { clock, log } = this.#options;
    const sample = () => sampleNode(this.#view, clock);
    switch (page) {
      case '':
        return metrics(
          `${await kubeletMetrics(this.#view, this.#processUsage(), this.#requests)}${this.#view.furtherMetrics?.() ?? ''}`,
        );
      case 'resource': {
        const known = await sample().catch((error: unknown) => {
          log.warn('what containers use cannot be found out', { error: messageOf(error) });
          return undefined;
        });
        return metrics(resourceMetrics(known));
      }
      case 'cadvisor':
        return metrics(cadvisorMetrics(await sample()));
      case 'probes':
        return metrics('');
      default:
        return notFoundPage();
    }
  }

  #processUsage(): ProcessUsage {
    const { user, system } = process.cpuUsage();
    return {
      cpuSeconds: (user + system) / 1e6,
      residentBytes: process.memoryUsage.rss(),
      startedAtSeconds: this.#startedAtMs / 1000,
    };
  }
}

function metrics(body: string): Reply {
  return text(body, 200, metricsContentType);
}

/** Nothing more, or only a slash at the end. */
function isLast(segments: readonly string[]): boolean {
  return segments.length === 0 || (segments.length === 1 && segments[0] === '');
}

function segmentsOf({ pathname }: URL): string[] {
  try {
    return pathname.split('/').slice(1).map(decodeURIComponent);
  } catch {
    return [];
  }
}

function podList(pods: readonly Pod[]) {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: pods };
}

function runningPod({ id, metadata, createdAtMs }: Sandbox, containers: readonly Container[], nodeName: string): Pod {
  const { name, namespace, uid } = metadata;
  const own = containers.filter((container) => container.sandboxId === id);
  return {
    metadata: { name, namespace, uid, creationTimestamp: formatTime(createdAtMs) },
    spec: {
      nodeName,
      containers: own.map((container) => ({
        name: container.labels[runtimeLabels.containerName] ?? container.name,
        image: container.image,
        resources: {},
      })),
    },
    status: {},
  };
}
