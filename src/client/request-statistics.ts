/**
 * What is counted about the requests of a process's clients, for `/metrics`: names, labels and limits are upstream's. A request pays a few
 * additions; text is made when somebody asks.
 */
import { counterFamily, gaugeFamily, histogramFamily } from '../base/metrics/families.ts';
import { Counts, Timings } from '../base/metrics/series.ts';

const durationLimits: readonly number[] = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const sizeLimits: readonly number[] = [
  64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216,
];

/** What a request was sent to, and how. */
export interface RequestTarget {
  /** With the port, as the server's address has it. */
  readonly host: string;
  readonly verb: string;
}

export class RequestStatistics {
  readonly #requests = new Counts();
  readonly #retries = new Counts();
  readonly #durations = new Timings(durationLimits);
  readonly #requestSizes = new Timings(sizeLimits);
  readonly #responseSizes = new Timings(sizeLimits);

  /** One attempt; `code` undefined where no answer came. */
  tried(
    { host, verb }: RequestTarget,
    { code, again }: { readonly code: number | undefined; readonly again: boolean },
  ): void {
    const result = code === undefined ? '<error>' : String(code);
    this.#requests.add({ code: result, host, method: verb });
    if (again) this.#retries.add({ code: result, host, verb });
  }

  /** All attempts of a request that is no watch. */
  took({ host, verb }: RequestTarget, durationMs: number): void {
    this.#durations.add({ host, verb }, durationMs);
  }

  sent({ host, verb }: RequestTarget, bytes: number): void {
    this.#requestSizes.addValue({ host, verb }, bytes);
  }

  received({ host, verb }: RequestTarget, bytes: number): void {
    this.#responseSizes.addValue({ host, verb }, bytes);
  }

  families(): string {
    return [
      // No plugin here keeps certificates.
      gaugeFamily(
        'rest_client_exec_plugin_ttl_seconds',
        'Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by the auth exec plugin. The value is in seconds until certificate expiry (negative if already expired). If auth exec plugins are unused or manage no TLS certificates, the value will be +INF.',
        [{ labels: {}, value: Number.POSITIVE_INFINITY }],
      ),
      histogramFamily(
        'rest_client_request_duration_seconds',
        'Request latency in seconds. Broken down by verb, and host.',
        this.#durations.histogram(),
      ),
      counterFamily(
        'rest_client_request_retries_total',
        'Number of request retries, partitioned by status code, verb, and host.',
        this.#retries.samples(),
      ),
      histogramFamily(
        'rest_client_request_size_bytes',
        'Request size in bytes. Broken down by verb and host.',
        this.#requestSizes.histogram(),
      ),
      counterFamily(
        'rest_client_requests_total',
        'Number of HTTP requests, partitioned by status code, method, and host.',
        this.#requests.samples(),
      ),
      histogramFamily(
        'rest_client_response_size_bytes',
        'Response size in bytes. Broken down by verb and host.',
        this.#responseSizes.histogram(),
      ),
    ].join('');
  }
}
