/**
 * When watchers hand on what has come in: once per turn of the loop, all of them together. Changes of the same turn thus travel in one
 * batch, and a thousand watchers cost one callback instead of a thousand promises.
 */
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';

export interface Deliverable {
  deliver(): void;
  /** Called when `deliver` has thrown: an object that cannot be encoded ends the watches that see it, and nothing else. */
  cancel(): void;
}

export class Delivery {
  readonly #clock: Clock;
  readonly #log: Log;
  #due: Deliverable[] = [];

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Calls `deliver` in a later macrotask; whoever asks twice before is called twice. */
  schedule(target: Deliverable): void {
    this.#due.push(target);
    if (this.#due.length > 1) return;
    this.#clock.soon(() => {
      const due = this.#due;
      this.#due = [];
      for (const each of due) this.#deliver(each);
    });
  }

  /** By the clock that deliveries keep to. */
  after(delayMs: number, callback: () => void): Timer {
    return this.#clock.after(delayMs, callback);
  }

  #deliver(target: Deliverable): void {
    try {
      target.deliver();
    } catch (error) {
      this.#log.error('a watch could not be served and is ended', { error: messageOf(error) });
      target.cancel();
    }
  }
}
