/** How many seats a priority level could have used over time: what borrowing is decided by. */
import type { Clock } from '../../base/clock.ts';

/** Half of what was is forgotten in five minutes, at an adjustment every ten seconds. */
const smoothing = 0.977;

export class SeatDemand {
  readonly #clock: Clock;
  #lastMs: number;
  #now = 0;
  #elapsedMs = 0;
  #integral = 0;
  #squares = 0;
  #most = 0;
  /** Of the last whole period. */
  highWatermark = 0;
  average = 0;
  deviation = 0;
  /** Rises at once with the demand and falls slowly. */
  smoothed = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastMs = clock.monotonic();
  }

  /** `nowMs` is the clock's reading, which the caller has at hand. */
  set(seats: number, nowMs: number): void {
    if (seats === this.#now) return;
    this.#integrate(nowMs);
    this.#now = seats;
    if (seats > this.#most) this.#most = seats;
  }

  /** Ends a period and begins the next. */
  endPeriod(): void {
    this.#integrate(this.#clock.monotonic());
    this.highWatermark = this.#most;
    this.#most = this.#now;
    const elapsed = this.#elapsedMs;
    if (elapsed <= 0) return;
    this.average = this.#integral / elapsed;
    this.deviation = Math.sqrt(Math.max(0, this.#squares / elapsed - this.average ** 2));
    const envelope = this.average + this.deviation;
    this.smoothed = Math.max(envelope, smoothing * this.smoothed + (1 - smoothing) * envelope);
    this.#elapsedMs = 0;
    this.#integral = 0;
    this.#squares = 0;
  }

  #integrate(nowMs: number): void {
    const passed = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    this.#elapsedMs += passed;
    this.#integral += passed * this.#now;
    this.#squares += passed * this.#now ** 2;
  }
}
