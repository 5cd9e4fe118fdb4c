/** Counts and times requests for `/metrics`. Costs two look-ups a request; the text is only made when somebody asks. */
import type { Clock } from '../../base/clock.ts';
import type { ApiRequest, ApiResponse, RequestInfo } from '../request.ts';

export interface ObservedRequest {
  end(request: ApiRequest, info: RequestInfo | undefined, response: ApiResponse): void;
}

export interface RequestObserver {
  begin(): ObservedRequest;
}

/** One combination of labels with its counts. */
export interface RequestSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly codes: Map<number, number>;
  /** Per bucket of `durationBuckets`, not yet summed up; the last is for everything longer. */
  readonly buckets: number[];
  sum: number;
  count: number;
}

/** Combinations of labels that are told apart. */
const mostSeries = 5000;

/** Seconds, as upstream's histogram of request durations has them. */
export const durationBuckets: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

export class RequestStatistics implements RequestObserver {
  readonly #clock: Clock;
  readonly #series = new Map<string, RequestSeries>();
  readonly #other = emptySeries({ component: 'apiserver', verb: 'other' });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  series(): IterableIterator<RequestSeries> {
    return this.#series.values();
  }

  begin(): ObservedRequest {
    const beganMs = this.#clock.monotonic();
    return {
      end: (request, info, response) => {
        const series = this.#seriesOf(request, info);
        series.codes.set(response.status, (series.codes.get(response.status) ?? 0) + 1);
        if (series.labels.verb === 'WATCH') return;
        const seconds = (this.#clock.monotonic() - beganMs) / 1000;
        const bucket = durationBuckets.findIndex((limit) => seconds <= limit);
        const slot = bucket < 0 ? durationBuckets.length : bucket;
        series.buckets[slot] = (series.buckets[slot] ?? 0) + 1;
        series.sum += seconds;
        series.count++;
      },
    };
  }

  #seriesOf({ query }: ApiRequest, info: RequestInfo | undefined): RequestSeries {
    const dryRun = query.get('dryRun') ?? '';
    const scope = scopeOf(info);
    const { verb = '', group = '', version = '', resource = '', subresource = '' } = info ?? {};
    const key = `${verb} ${group}/${version}/${resource}/${subresource} ${scope} ${dryRun}`;
    let series = this.#series.get(key);
    // Whoever asks for what does not exist must not be able to fill the memory with his words.
    if (!series && this.#series.size >= mostSeries) return this.#other;
    if (!series) {
      const labels = {
        component: 'apiserver',
        dry_run: dryRun,
        group,
        resource,
        scope,
        subresource: info?.isResource === false ? info.path.slice(0, 64) : subresource,
        verb: verbLabel(verb),
        version,
      };
      series = emptySeries(labels);
      this.#series.set(key, series);
    }
    return series;
  }
}

function emptySeries(labels: Readonly<Record<string, string>>): RequestSeries {
  return { labels, codes: new Map(), buckets: new Array(durationBuckets.length + 1).fill(0), sum: 0, count: 0 };
}

function scopeOf(info: RequestInfo | undefined): string {
  if (!info?.isResource) return '';
  if (info.name !== '') return 'resource';
  return info.namespace === '' ? 'cluster' : 'namespace';
}

const verbLabels: Readonly<Record<string, string>> = {
  create: 'POST',
  update: 'PUT',
  deletecollection: 'DELETE',
};

function verbLabel(verb: string): string {
  return verbLabels[verb] ?? verb.toUpperCase();
}
