/**
 * A clock that a test moves by hand. Timers fire in order of (due, sequence) while `advance` walks over them, with the event
 * loop given a turn in between, so that what a timer started can set the next one.
 */
import type { Clock, Timer } from '../base/clock.ts';

interface PendingTimer {
  readonly dueMs: number;
  readonly sequence: number;
  readonly callback: () => void;
}

export class FakeClock implements Clock {
  #nowMs: number;
  readonly #startMs: number;
  #sequence = 0;
  #timers: PendingTimer[] = [];

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
    this.#startMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs - this.#startMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const timer = { dueMs: this.#nowMs + Math.max(0, delayMs), sequence: this.#sequence++, callback };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  soon(callback: () => void): void {
    setImmediate(callback);
  }

  /** Timers not yet fired or cancelled. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Moves time forward, firing what falls due on the way; resolves when the work that set off has settled. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    await settle();
    for (;;) {
      const next = this.#timers
        .filter((t) => t.dueMs <= untilMs)
        .sort((a, b) => a.dueMs - b.dueMs || a.sequence - b.sequence)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.callback();
      await settle();
    }
    this.#nowMs = untilMs;
    await settle();
  }
}

/** Gives microtasks and already queued macrotasks their turn. */
export async function settle(turns = 10): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
}
