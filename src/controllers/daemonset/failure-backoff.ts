/**
 * How long a Node must wait before its failed daemon Pod is replaced: not at all the first time, then 1 s, doubling up to 15
 * minutes. Forgotten after twice the longest wait without a failure.
 */
import type { Clock } from '../../base/clock.ts';

const initialMs = 1000;
const maxMs = 900_000;

export class FailureBackoff {
  readonly #clock: Clock;
  readonly #entries = new Map<string, { readonly delayMs: number; readonly atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A failed Pod is being replaced. */
  failed(key: string): void {
    const nowMs = this.#clock.monotonic();
    for (const [other, { atMs }] of this.#entries) if (nowMs - atMs > 2 * maxMs) this.#entries.delete(other);
    const previous = this.#entries.get(key);
    this.#entries.set(key, { delayMs: previous ? Math.min(maxMs, previous.delayMs * 2) : initialMs, atMs: nowMs });
  }

  /** 0: it may be replaced now. */
  waitMs(key: string): number {
    const entry = this.#entries.get(key);
    return entry ? Math.max(0, entry.atMs + entry.delayMs - this.#clock.monotonic()) : 0;
  }
}
