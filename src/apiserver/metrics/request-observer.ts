/**
 * Counts, times and weighs requests for `/metrics`. Costs two look-ups a request; the text is only made when somebody asks. Labels are
 * upstream's, and there is a limit to their combinations: nobody can fill the memory by asking for what does not exist.
 */
import type { Clock } from '../../base/clock.ts';
import { HistogramCounts, type Labels } from '../../base/metrics/families.ts';
import type { ApiRequest, ApiResponse, RequestInfo } from '../request.ts';

export interface ObservedRequest {
  /** What it asks for, as soon as that is known. */
  known(info: RequestInfo, longRunning: boolean): void;
  /** The server put an end to it in self-defence, with this code. */
  terminated(info: RequestInfo, code: number): void;
  /** The response is changed only in that it tells its size when it is known. */
  end(info: RequestInfo | undefined, response: ApiResponse): ApiResponse;
}

export interface RequestObserver {
  begin(request: ApiRequest): ObservedRequest;
}

/** One combination of labels with its counts. */
export class RequestSeries {
  readonly labels: RequestLabels;
  readonly codes = new Map<number, number>();
  readonly terminations = new Map<number, number>();
  readonly durations = new HistogramCounts(durationBuckets);
  readonly sizes = new HistogramCounts(sizeBuckets);
  longRunning = 0;
  readonly weigh = (bytes: number) => this.sizes.add(bytes);

  constructor(labels: RequestLabels) {
    this.labels = labels;
  }
}

export interface RequestLabels extends Labels {
  readonly component: string;
  readonly dry_run: string;
  readonly group: string;
  readonly resource: string;
  readonly scope: string;
  readonly subresource: string;
  readonly verb: string;
  readonly version: string;
}

/** Combinations of labels that are told apart. */
const mostSeries = 5000;

/** Seconds, as upstream's histogram of request durations has them. */
const durationBuckets: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
const sizeBuckets: readonly number[] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

export class RequestStatistics implements RequestObserver {
  readonly #clock: Clock;
  readonly #series = new Map<string, RequestSeries>();
  readonly #other = new RequestSeries({
    component: 'apiserver',
    dry_run: '',
    group: '',
    resource: '',
    scope: '',
    subresource: '',
    verb: 'OTHER',
    version: '',
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  *series(): Generator<RequestSeries, void> {
    yield* this.#series.values();
    if (this.#other.codes.size > 0) yield this.#other;
  }

  begin(request: ApiRequest): ObservedRequest {
    return new Observation(request, this.#clock, (info) => this.#seriesOf(request, info));
  }

  #seriesOf({ query, headers }: ApiRequest, info: RequestInfo | undefined): RequestSeries {
    const dryRun = dryRunLabel(query.get('dryRun'));
    const scope = scopeOf(info);
    const { verb = '', group = '', version = '', resource = '', subresource = '' } = info ?? {};
    const applies = verb === 'patch' && headers['content-type'] === 'application/apply-patch+yaml';
    const part = info?.isResource === false ? info.path.slice(0, 64) : subresource;
    const key = `${applies ? 'apply' : verb} ${group}/${version}/${resource}/${part} ${scope} ${dryRun}`;
    let series = this.#series.get(key);
    if (!series && this.#series.size >= mostSeries) return this.#other;
    if (!series) {
      const labels = {
        component: 'apiserver',
        dry_run: dryRun,
        group,
        resource,
        scope,
        subresource: part,
        verb: applies ? 'APPLY' : verbLabel(verb, subresource),
        version,
      };
      series = new RequestSeries(labels);
      this.#series.set(key, series);
    }
    return series;
  }
}

class Observation implements ObservedRequest {
  readonly #request: ApiRequest;
  readonly #clock: Clock;
  readonly #beganMs: number;
  readonly #seriesFor: (info: RequestInfo | undefined) => RequestSeries;
  #longRunning: RequestSeries | undefined;

  constructor(request: ApiRequest, clock: Clock, seriesFor: (info: RequestInfo | undefined) => RequestSeries) {
    this.#request = request;
    this.#clock = clock;
    this.#seriesFor = seriesFor;
    this.#beganMs = clock.monotonic();
  }

  known(info: RequestInfo, longRunning: boolean): void {
    if (!longRunning) return;
    this.#longRunning = this.#seriesFor(info);
    this.#longRunning.longRunning++;
  }

  terminated(info: RequestInfo, code: number): void {
    const { terminations } = this.#seriesFor(info);
    terminations.set(code, (terminations.get(code) ?? 0) + 1);
  }

  end(info: RequestInfo | undefined, response: ApiResponse): ApiResponse {
    const series = this.#seriesFor(info);
    // A connection that leaves HTTP has no code that upstream would know of.
    const code = response.status === 101 ? 0 : response.status;
    series.codes.set(code, (series.codes.get(code) ?? 0) + 1);
    if (this.#longRunning) this.#endLongRunning(this.#longRunning, response);
    const { verb } = series.labels;
    if (verb === 'WATCH' || verb === 'CONNECT') return response;
    series.durations.add((this.#clock.monotonic() - this.#beganMs) / 1000);
    if (!info?.isResource || (verb !== 'GET' && verb !== 'LIST')) return response;
    return { ...response, weighed: series.weigh };
  }

  /** It goes on after the answer's head, until its client has gone or its end was told. */
  #endLongRunning(series: RequestSeries, { body }: ApiResponse): void {
    const { signal } = this.#request;
    const goesOn = body.kind === 'watch' || body.kind === 'taken' || body.kind === 'stream';
    if (goesOn && !signal.aborted) signal.addEventListener('abort', () => series.longRunning--, { once: true });
    else series.longRunning--;
  }
}

function dryRunLabel(value: string | null): string {
  if (value === null || value === '') return '';
  return value === 'All' ? value : 'invalid';
}

function scopeOf(info: RequestInfo | undefined): string {
  if (!info?.isResource) return '';
  if (info.name !== '' || info.verb === 'create') return 'resource';
  return info.namespace === '' ? 'cluster' : 'namespace';
}

const verbLabels: Readonly<Record<string, string>> = {
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
  post: 'POST',
  put: 'PUT',
  head: 'GET',
  proxy: 'PROXY',
};
const connected: ReadonlySet<string> = new Set(['log', 'exec', 'portforward', 'attach', 'proxy']);

function verbLabel(verb: string, subresource: string): string {
  if (connected.has(subresource)) return 'CONNECT';
  return verbLabels[verb] ?? 'OTHER';
}
