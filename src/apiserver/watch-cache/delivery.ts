/**
 * When watchers hand on what has come in: once per turn of the loop, all of them together. Changes of the same turn thus travel in one
 * batch, and a thousand watchers cost one callback instead of a thousand promises.
 */
import type { Clock } from '../../base/clock.ts';

export interface Deliverable {
  deliver(): void;
}

export class Delivery {
  readonly #clock: Clock;
  #due: Deliverable[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `deliver` in a later macrotask; whoever asks twice before is called twice. */
  schedule(target: Deliverable): void {
    this.#due.push(target);
    if (this.#due.length > 1) return;
    this.#clock.soon(() => {
      const due = this.#due;
      this.#due = [];
      for (const each of due) each.deliver();
    });
  }
}
