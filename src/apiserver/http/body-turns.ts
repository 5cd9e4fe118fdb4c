/**
 * Long bodies are worked on one after the other: what reading a megabyte of JSON sets off keeps the loop busy for tenths of seconds, and
 * as much time as it took belongs to everybody else before the next one's turn. A single long body does not wait.
 */
import type { Clock } from '../../base/clock.ts';

/** Bytes; shorter bodies go their way at once. */
export const longBodyBytes = 128 * 1024;
/** However long a body took, the next waits no longer. */
const longestPauseMs = 1000;

export class BodyTurns {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #busy = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls back at once or in its turn; what follows from it without waiting is its turn's work. */
  take(work: () => void): void {
    this.#waiting.push(work);
    if (!this.#busy) this.#next();
  }

  #next(): void {
    const work = this.#waiting.shift();
    this.#busy = work !== undefined;
    if (!work) return;
    const beganMs = this.#clock.monotonic();
    work();
    this.#clock.soon(() => {
      const tookMs = this.#clock.monotonic() - beganMs;
      this.#clock.after(Math.min(tookMs, longestPauseMs), () => this.#next());
    });
  }
}
