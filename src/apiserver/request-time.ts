/**
 * How long a request may take that does not last as long as its client wants: `--request-timeout`, or less when it says so itself
 * (`?timeout=5s`). When the time is up it is answered with 504; what is still being worked on sees its signal aborted.
 */
import { badRequest, timeout } from '../apimachinery/status.ts';
import { parseDuration } from '../apimachinery/time.ts';
import type { Clock } from '../base/clock.ts';
import { Deadlines } from './deadlines.ts';
import type { ApiRequest, ApiResponse, Chunk } from './request.ts';

export const defaultRequestTimeoutMs = 60_000;
/** A request waits in line for this part of its time, and never longer than a minute. */
const waitingShare = 1 / 4;
const longestWaitMs = 60_000;

export interface RequestEnd {
  readonly limitMs: number;
  /** Called when the work is over, even after its time. */
  ended(): void;
  /** Called when the time is up before the work is over. */
  expired(): void;
}

export class RequestTime {
  readonly #clock: Clock;
  readonly #longestMs: number;
  readonly #deadlines: Deadlines;

  constructor(clock: Clock, longestMs = defaultRequestTimeoutMs) {
    this.#clock = clock;
    this.#longestMs = longestMs;
    this.#deadlines = new Deadlines(clock, longestMs);
  }

  /** Throws 400 for a `timeout` that is no duration. */
  limitOf({ query }: ApiRequest): number {
    const text = query.get('timeout');
    if (!text) return this.#longestMs;
    const asked = parseDuration(text);
    if (asked === undefined)
      throw badRequest(`invalid timeout specified in the request URL - ${durationProblem(text)}`);
    return asked > 0 ? Math.min(asked, this.#longestMs) : this.#longestMs;
  }

  /** Of a request of this time; of one without end when absent. */
  waitLimitOf(limitMs = this.#longestMs): number {
    return Math.min(limitMs * waitingShare, longestWaitMs);
  }

  /** The work's answer; rejects with 504 when it is not there in time. */
  within(
    request: ApiRequest,
    { limitMs, ended, expired }: RequestEnd,
    work: Promise<ApiResponse>,
  ): Promise<ApiResponse> {
    return new Promise((resolve, reject) => {
      const expire = () => {
        request.expire?.();
        expired();
        reject(timeout('request did not complete within the allotted timeout'));
      };
      const met = limitMs === this.#longestMs ? this.#deadlines.add(expire) : this.#single(limitMs, expire);
      const settle = () => {
        met();
        ended();
      };
      work.then(
        (response) => {
          settle();
          resolve(response);
        },
        (error) => {
          settle();
          reject(error);
        },
      );
    });
  }

  /**
   * The same chunks; `release` is called, more than once maybe, when they have been taken, when the client has gone, and at the latest
   * when a request's time is up, so that readers who do not read keep nobody out.
   */
  held(chunks: AsyncIterable<Chunk>, { signal }: ApiRequest, release: () => void): AsyncIterable<Chunk> {
    const met = this.#deadlines.add(release);
    const end = () => {
      met();
      signal.removeEventListener('abort', end);
      release();
    };
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    return untilEnd(chunks, end);
  }

  close(): void {
    this.#deadlines.close();
  }

  #single(limitMs: number, expire: () => void): () => void {
    const timer = this.#clock.after(limitMs, expire);
    return () => timer.cancel();
  }
}

async function* untilEnd(chunks: AsyncIterable<Chunk>, end: () => void): AsyncGenerator<Chunk, void> {
  try {
    yield* chunks;
  } finally {
    end();
  }
}

/** Go's words for what is wrong with a duration. */
function durationProblem(text: string): string {
  const quoted = JSON.stringify(text);
  const unitless = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(text);
  if (unitless) return `time: missing unit in duration ${quoted}`;
  for (const [, unit = ''] of text.matchAll(/(?:\d+\.?\d*|\.\d+)([^\d.]*)/g)) {
    if (!/^(?:ns|us|µs|μs|ms|s|m|h)?$/.test(unit)) {
      const wellFormed = /^[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)[^\d.]+)+$/.test(text);
      if (wellFormed) return `time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`;
    }
  }
  return `time: invalid duration ${quoted}`;
}
