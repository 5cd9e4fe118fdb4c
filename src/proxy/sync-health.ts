/**
 * Whether the kernel's rules follow the Services: no change waits for longer than two periods of syncing. A proxy that has not written any rules
 * yet is starting, and well.
 */
import type { Clock } from '../base/clock.ts';

export class SyncHealth {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  #isStarting = true;
  /** When the oldest change came that is not written. */
  #pendingSinceMs: number | undefined;

  constructor(clock: Clock, syncPeriodMs: number) {
    this.#clock = clock;
    this.#timeoutMs = 2 * syncPeriodMs;
  }

  get isHealthy(): boolean {
    if (this.#isStarting || this.#pendingSinceMs === undefined) return true;
    return this.#clock.monotonic() - this.#pendingSinceMs < this.#timeoutMs;
  }

  /** Something is to be written. */
  queued(): void {
    this.#pendingSinceMs ??= this.#clock.monotonic();
  }

  /** All that was queued is. */
  written(): void {
    this.#isStarting = false;
    this.#pendingSinceMs = undefined;
  }
}
