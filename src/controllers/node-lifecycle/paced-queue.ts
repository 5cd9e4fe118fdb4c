/**
 * Names in order of arrival, let out one by one at a rate that can change at any time; a rate of 0 holds them. One name may go at
 * once after a quiet time, never more: that is what keeps a mass failure from becoming a mass eviction.
 */
import type { Clock, Timer } from '../../base/clock.ts';

export class PacedQueue {
  readonly #clock: Clock;
  readonly #release: (name: string) => void;
  readonly #waiting = new Set<string>();
  #perSecond: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  /** `release` is called from a timer, one name at a time. */
  constructor(clock: Clock, perSecond: number, release: (name: string) => void) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#release = release;
  }

  get size(): number {
    return this.#waiting.size;
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  /** In the order in which they go. */
  get waiting(): readonly string[] {
    return [...this.#waiting];
  }

  /** Whether it was not waiting already. */
  add(name: string): boolean {
    if (this.#waiting.has(name)) return false;
    this.#waiting.add(name);
    this.#schedule();
    return true;
  }

  remove(name: string): void {
    this.#waiting.delete(name);
  }

  clear(): void {
    this.#waiting.clear();
    this.stop();
  }

  setRate(perSecond: number): void {
    if (perSecond === this.#perSecond) return;
    this.#perSecond = perSecond;
    this.stop();
    this.#schedule();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): void {
    if (this.#timer || this.#perSecond <= 0 || this.#waiting.size === 0) return;
    const dueMs = this.#lastMs + 1000 / this.#perSecond;
    this.#timer = this.#clock.after(Math.max(0, dueMs - this.#clock.monotonic()), () => {
      this.#timer = undefined;
      const [name] = this.#waiting;
      if (name === undefined) return;
      this.#waiting.delete(name);
      this.#lastMs = this.#clock.monotonic();
      this.#release(name);
      this.#schedule();
    });
  }
}
