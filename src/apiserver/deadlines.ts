/** Deadlines of equal length, of which nearly all are met: one timer serves them all, and adding one costs next to nothing. */
import type { Clock, Timer } from '../base/clock.ts';

export class Deadlines {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** In the order of their due times, for all are equally long. */
  readonly #pending = new Set<{ readonly dueMs: number; expire(): void }>();
  #timer: Timer | undefined;
  #closed = false;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** Calls `expire` in time, unless the result is called before. */
  add(expire: () => void): () => void {
    if (this.#closed) return () => {};
    const deadline = { dueMs: this.#clock.monotonic() + this.#timeoutMs, expire };
    this.#pending.add(deadline);
    if (!this.#timer) this.#arm(this.#timeoutMs);
    return () => this.#pending.delete(deadline);
  }

  /** Nothing expires any more. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#pending.clear();
  }

  #arm(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => {
      this.#timer = undefined;
      const nowMs = this.#clock.monotonic();
      for (const deadline of this.#pending) {
        if (deadline.dueMs > nowMs) return this.#arm(deadline.dueMs - nowMs);
        this.#pending.delete(deadline);
        deadline.expire();
      }
    });
  }
}
