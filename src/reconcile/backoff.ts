/** Growing delays between tries, with jitter, that begin anew after a quiet time: client-go's backoff manager. */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';

export interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  /** Without a call for this long, delays begin at `initialMs` again. */
  readonly resetAfterMs: number;
  readonly factor: number;
  /** A delay is lengthened by up to this share of itself. */
  readonly jitter: number;
}

/** How informers wait before they list again. */
export const reflectorBackoff: BackoffOptions = {
  initialMs: 800,
  maxMs: 30_000,
  resetAfterMs: 120_000,
  factor: 2,
  jitter: 1,
};

export class Backoff {
  readonly #options: BackoffOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  #nextMs: number;
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: BackoffOptions, clock: Clock, random: Random) {
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#nextMs = options.initialMs;
  }

  /** Milliseconds to wait before the next try. */
  delayMs(): number {
    const { initialMs, maxMs, resetAfterMs, factor, jitter } = this.#options;
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#askedAtMs > resetAfterMs) this.#nextMs = initialMs;
    this.#askedAtMs = nowMs;
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(delayMs * factor, maxMs);
    return delayMs * (1 + this.#random.next() * jitter);
  }
}
