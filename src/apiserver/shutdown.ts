/**
 * Going away without anybody noticing: first `/readyz` fails while everything is still served, so that others stop sending; then new
 * requests are refused with the advice to try another server, those under way finish, and watches are ended over a while, so that their
 * clients do not all come back at once. The steps and their words are upstream's.
 */
import { serviceUnavailable } from '../apimachinery/status.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { textResponse } from './pages.ts';
import type { WatchLifetimes } from './registry/watch-lifetimes.ts';
import type { ApiRequest, ApiResponse } from './request.ts';

export interface ShutdownSettings {
  /** `--shutdown-delay-duration`: between the first failing `/readyz` and the first refused request. */
  readonly delayMs: number;
  /** `--shutdown-watch-termination-grace-period`: over which watches are ended; 0: at once. */
  readonly watchGraceMs: number;
  /** `--shutdown-send-retry-after`: keep listening, and answer 429, until requests under way are done. */
  readonly sendRetryAfter: boolean;
  /** For requests under way; upstream gives them `--request-timeout`. */
  readonly drainMs: number;
}

type Stage = 'serving' | 'leaving' | 'refusing';

/** Probes and scrapers are answered to the end. */
const exemptPrefixes = ['/readyz', '/livez', '/healthz', '/metrics'];

export class Shutdown {
  readonly #clock: Clock;
  #stage: Stage = 'serving';
  #sendRetryAfter = false;
  #inFlight = 0;
  #drained: (() => void) | undefined;
  readonly #left = () => {
    this.#inFlight--;
    if (this.#inFlight === 0) this.#drained?.();
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The `shutdown` check of `/readyz`. */
  async check(): Promise<void> {
    if (this.#stage !== 'serving') throw new Error('process is shutting down');
  }

  /** Counts a request that does not last as long as its client wants; the result is called at its end. */
  enter(): () => void {
    this.#inFlight++;
    return this.#left;
  }

  /** Undefined: go on. */
  refusalOf({ path, headers }: ApiRequest): ApiResponse | undefined {
    if (this.#stage !== 'refusing' || isExempt(path, headers['user-agent'] ?? '')) return undefined;
    if (this.#sendRetryAfter) {
      return textResponse(429, 'The apiserver is shutting down, please try again later.\n', {
        'retry-after': '5',
        connection: 'close',
      });
    }
    const { status, code } = serviceUnavailable('apiserver is shutting down');
    return { status: code, headers: { 'retry-after': '1' }, body: { kind: 'object', object: status } };
  }

  /** Resolves when nothing is under way any more, or the time for it is up. `stopListening` is called when no connection is welcome. */
  async run(
    { delayMs, watchGraceMs, sendRetryAfter, drainMs }: ShutdownSettings,
    { stopListening, watches }: { stopListening(): void; readonly watches: WatchLifetimes },
  ): Promise<void> {
    if (this.#stage !== 'serving') return;
    this.#stage = 'leaving';
    if (delayMs > 0) await sleep(this.#clock, delayMs);
    this.#stage = 'refusing';
    this.#sendRetryAfter = sendRetryAfter;
    if (!sendRetryAfter) stopListening();
    await this.#drain(drainMs);
    await watches.endAll(watchGraceMs);
  }

  #drain(limitMs: number): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#clock.after(limitMs, resolve);
      this.#drained = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

function isExempt(path: string, userAgent: string): boolean {
  if (userAgent === 'kube-apiserver' || userAgent.startsWith('kube-apiserver/')) return true;
  return exemptPrefixes.some((prefix) => path.startsWith(prefix));
}
