/**
 * What the process itself takes: processor, memory, files, and how late its event loop is, under the names that Prometheus' libraries for Go
 * and Node.js use. Totals are those of the process, since it began. What has to be watched to be known (collections of garbage, delays) is
 * watched from the first answer on, so that a process that nobody asks has no timer for it; what is not known yet is not told.
 */
import { readdir, readFile } from 'node:fs/promises';
import { constants, monitorEventLoopDelay, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics } from 'node:v8';
import { counterFamily, gaugeFamily, HistogramCounts, histogramFamily, type Sample } from './families.ts';

/** How often the event loop is looked at. */
const resolutionMs = 20;
const collectionLimits = [0.001, 0.01, 0.1, 1, 2, 5];
const collectionKinds: ReadonlyMap<number, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);

type Collection = PerformanceEntry & { readonly detail: { readonly kind: number } };

export class ProcessMetrics {
  readonly #collections = new Map<string, HistogramCounts>();
  #observer: PerformanceObserver | undefined;
  #delays: ReturnType<typeof monitorEventLoopDelay> | undefined;

  async families(): Promise<readonly string[]> {
    const lagSeconds = await turnSeconds();
    const delays = this.#delayFamilies();
    this.#watch();
    return [
      ...cpuFamilies(),
      ...(await processFamilies()),
      ...memoryFamilies(),
      resourcesFamily(),
      gaugeFamily('nodejs_eventloop_lag_seconds', 'Lag of event loop in seconds.', [{ value: lagSeconds }]),
      ...delays,
      histogramFamily(
        'nodejs_gc_duration_seconds',
        'Garbage collection duration by kind, one of major, minor, incremental or weakcb.',
        [...this.#collections].map(([kind, counts]) => ({ labels: { kind }, counts })),
      ),
      gaugeFamily('nodejs_version_info', 'Node.js version info.', [{ labels: { version: process.version }, value: 1 }]),
    ];
  }

  /** Watches nothing any more. */
  close(): void {
    this.#observer?.disconnect();
    this.#delays?.disable();
    this.#delays = undefined;
    this.#observer = undefined;
  }

  #watch(): void {
    if (!this.#delays) {
      this.#delays = monitorEventLoopDelay({ resolution: resolutionMs });
      this.#delays.enable();
    }
    if (this.#observer) return;
    this.#observer = new PerformanceObserver((list) => {
      for (const { duration, detail } of list.getEntries() as unknown as readonly Collection[]) {
        const kind = collectionKinds.get(detail.kind);
        if (kind === undefined) continue;
        const counts = this.#collections.get(kind) ?? new HistogramCounts(collectionLimits);
        this.#collections.set(kind, counts);
        counts.add(duration / 1000);
      }
    });
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  /**
   * Since the last answer to anybody: who asks often leaves the others little. What is measured is the time from one look to the next, of
   * which the resolution is no delay.
   */
  #delayFamilies(): readonly string[] {
    const delays = this.#delays;
    if (!delays || delays.count === 0) return [];
    const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000);
    const figures: readonly (readonly [name: string, help: string, value: number])[] = [
      ['min', 'The minimum recorded event loop delay.', seconds(delays.min)],
      ['max', 'The maximum recorded event loop delay.', seconds(delays.max)],
      ['mean', 'The mean of the recorded event loop delays.', seconds(delays.mean)],
      ['stddev', 'The standard deviation of the recorded event loop delays.', delays.stddev / 1e9],
      ['p50', 'The 50th percentile of the recorded event loop delays.', seconds(delays.percentile(50))],
      ['p90', 'The 90th percentile of the recorded event loop delays.', seconds(delays.percentile(90))],
      ['p99', 'The 99th percentile of the recorded event loop delays.', seconds(delays.percentile(99))],
    ];
    delays.reset();
    return figures.map(([name, help, value]) => gaugeFamily(`nodejs_eventloop_lag_${name}_seconds`, help, [{ value }]));
  }
}

/** How long a turn of the event loop takes now. */
function turnSeconds(): Promise<number> {
  const began = performance.now();
  return new Promise((resolve) => setImmediate(() => resolve((performance.now() - began) / 1000)));
}

function cpuFamilies(): readonly string[] {
  const { user, system } = process.cpuUsage();
  const seconds = (microseconds: number): Sample[] => [{ value: microseconds / 1e6 }];
  return [
    counterFamily('process_cpu_user_seconds_total', 'Total user CPU time spent in seconds.', seconds(user)),
    counterFamily('process_cpu_system_seconds_total', 'Total system CPU time spent in seconds.', seconds(system)),
    counterFamily(
      'process_cpu_seconds_total',
      'Total user and system CPU time spent in seconds.',
      seconds(user + system),
    ),
  ];
}

/** Some of them only the files of Linux' kernel tell. */
async function processFamilies(): Promise<readonly string[]> {
  const [status, limits, files] = await Promise.all([
    readFile('/proc/self/status', 'utf8').catch(() => ''),
    readFile('/proc/self/limits', 'utf8').catch(() => ''),
    readdir('/proc/self/fd').catch(() => undefined),
  ]);
  const virtualKib = /^VmSize:\s+(\d+) kB$/m.exec(status)?.[1];
  const maxFiles = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  const known = (value: number | undefined): Sample[] => (value === undefined ? [] : [{ value }]);
  return [
    processStartFamily(),
    gaugeFamily('process_resident_memory_bytes', 'Resident memory size in bytes.', [
      { value: process.memoryUsage.rss() },
    ]),
    gaugeFamily(
      'process_virtual_memory_bytes',
      'Virtual memory size in bytes.',
      known(virtualKib ? Number(virtualKib) * 1024 : undefined),
    ),
    gaugeFamily('process_open_fds', 'Number of open file descriptors.', known(files?.length)),
    gaugeFamily(
      'process_max_fds',
      'Maximum number of open file descriptors.',
      known(maxFiles ? Number(maxFiles) : undefined),
    ),
  ];
}

function memoryFamilies(): readonly string[] {
  const { heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage();
  const spaces = getHeapSpaceStatistics();
  const perSpace = (bytes: (space: (typeof spaces)[number]) => number): Sample[] =>
    spaces.map((space) => ({
      labels: { space: space.space_name.replace(/_space$/, '') },
      value: bytes(space),
    }));
  return [
    gaugeFamily('nodejs_heap_size_total_bytes', 'Process heap size from Node.js in bytes.', [{ value: heapTotal }]),
    gaugeFamily('nodejs_heap_size_used_bytes', 'Process heap size used from Node.js in bytes.', [{ value: heapUsed }]),
    gaugeFamily('nodejs_external_memory_bytes', 'Node.js external memory size in bytes.', [{ value: external }]),
    gaugeFamily('nodejs_array_buffers_bytes', 'Memory of Buffers, which the external memory includes, in bytes.', [
      { value: arrayBuffers },
    ]),
    gaugeFamily(
      'nodejs_heap_space_size_total_bytes',
      'Process heap space size total from Node.js in bytes.',
      perSpace((space) => space.space_size),
    ),
    gaugeFamily(
      'nodejs_heap_space_size_used_bytes',
      'Process heap space size used from Node.js in bytes.',
      perSpace((space) => space.space_used_size),
    ),
    gaugeFamily(
      'nodejs_heap_space_size_available_bytes',
      'Process heap space size available from Node.js in bytes.',
      perSpace((space) => space.space_available_size),
    ),
  ];
}

function resourcesFamily(): string {
  const active = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), (type) => type));
  return gaugeFamily(
    'nodejs_active_resources',
    'Number of active resources that are currently keeping the event loop alive, grouped by async resource type.',
    active.map(([type, of]) => ({ labels: { type }, value: of?.length ?? 0 })),
  );
}

/** When this process began. */
export function processStartFamily(): string {
  return gaugeFamily('process_start_time_seconds', 'Start time of the process since unix epoch in seconds.', [
    { value: performance.timeOrigin / 1000 },
  ]);
}
