/**
 * The latest changes of a resource, so that a watch can begin in the past. A ring that grows with traffic: it holds at least
 * what happened in the last `keepMs`, up to `capacity` changes.
 *
 * Worked example: history knows 5 7 9 and begins after 4. A watch from 4 or later gets what it missed; a watch from 3 is too
 * old, because a change at 4 may have been missed.
 */
import type { CacheEvent } from './cache-event.ts';

export class EventHistory {
  readonly #capacity: number;
  #events: CacheEvent[] = [];
  #first = 0;
  #beginsAfter: number;

  constructor(beginsAfter: number, capacity = 10_000) {
    this.#beginsAfter = beginsAfter;
    this.#capacity = capacity;
  }

  /** The oldest revision from which nothing has been missed. */
  get beginsAfter(): number {
    return this.#beginsAfter;
  }

  push(event: CacheEvent): void {
    this.#events.push(event);
    if (this.#events.length - this.#first <= this.#capacity) return;
    this.#beginsAfter = this.#events[this.#first]!.revision;
    this.#first++;
    // The dropped head is cut off now and then, not each time.
    if (this.#first > this.#capacity) {
      this.#events = this.#events.slice(this.#first);
      this.#first = 0;
    }
  }

  /** How many more changes it can take before it forgets. */
  get room(): number {
    return this.#capacity - (this.#events.length - this.#first);
  }

  /** Takes up what happened between `beginsAfter` and the beginning so far. */
  prepend(events: readonly CacheEvent[], beginsAfter: number): void {
    this.#events = [...events, ...this.#events.slice(this.#first)];
    this.#first = 0;
    this.#beginsAfter = beginsAfter;
  }

  /** All changes after `revision`, oldest first; undefined when some may have been forgotten. */
  after(revision: number): readonly CacheEvent[] | undefined {
    if (revision < this.#beginsAfter) return undefined;
    let low = this.#first;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#events.slice(low);
  }
}
