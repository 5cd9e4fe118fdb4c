/** A bounded memory of answers that are good for a while. The oldest entry makes room for the newest. */
import type { Clock } from '../base/clock.ts';

export class TimedCache<V> {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #entries = new Map<string, { readonly value: V; readonly untilMs: number }>();

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (entry.untilMs > this.#clock.monotonic()) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: V, ttlMs: number): void {
    this.#entries.delete(key);
    const oldest = this.#entries.keys().next();
    if (this.#entries.size >= this.#limit && !oldest.done) this.#entries.delete(oldest.value);
    this.#entries.set(key, { value, untilMs: this.#clock.monotonic() + ttlMs });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
