/**
 * The latest changes of a resource, so that a watch can begin in the past. Kept is what happened in the last `keepMs`, as far as it fits into
 * `bytes`, and a few older changes. What is no longer here can be asked of the store (`prepend`): then far more is kept for a while,
 * since clients that were cut off come back together, from much the same revision.
 *
 * Worked example: history knows 5 7 9 and begins after 4. A watch from 4 or later gets what it missed; a watch from 3 is too
 * old, because a change at 4 may have been missed.
 *
 * An event is counted with the object that stood there before, which nobody else holds any more; the one that stands there now is the cache's.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { CacheEvent } from './cache-event.ts';

export interface HistoryBounds {
  /** As upstream's `eventFreshDuration`. */
  readonly keepMs: number;
  /** Older ones are kept up to this number, as upstream does for resources that hardly change... */
  readonly quietEvents: number;
  /** ...as long as they are no larger than this. */
  readonly quietBytes: number;
  /** What may be kept at all; asked each time, since a resource of many objects deserves more. */
  readonly bytes: () => number;
}

export const usualBounds: Omit<HistoryBounds, 'bytes'> = { keepMs: 75_000, quietEvents: 100, quietBytes: 128 * 1024 };

/** How much more there may be after the store was asked. */
const recallFactor = 4;
/** An event with its two entries, their keys and what is around their bytes. */
const eventOverheadBytes = 768;

/** What goes with an event when it is forgotten. */
export function heldBytes({ previous }: { readonly previous: { readonly storedBytes: number } | undefined }): number {
  return eventOverheadBytes + (previous?.storedBytes ?? 0);
}

export interface EventHistoryOptions {
  readonly clock: Clock;
  readonly bounds: HistoryBounds;
  readonly beginsAfter: number;
}

export class EventHistory {
  readonly #clock: Clock;
  readonly #bounds: HistoryBounds;
  /** What is before the first is forgotten: the place is empty, and cut off later. */
  #events: (CacheEvent | undefined)[] = [];
  /** When each came in. */
  #times: number[] = [];
  #first = 0;
  #bytes = 0;
  #beginsAfter: number;
  #lostUpTo = -1;
  /** Until then it may be as large as a recall makes it. */
  #wideUntilMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor({ clock, bounds, beginsAfter }: EventHistoryOptions) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.#beginsAfter = beginsAfter;
  }

  /** The oldest revision from which nothing has been missed. */
  get beginsAfter(): number {
    return this.#beginsAfter;
  }

  get size(): number {
    return this.#events.length - this.#first;
  }

  /** What its events hold, together. */
  get bytes(): number {
    return this.#bytes;
  }

  push(event: CacheEvent): void {
    this.#events.push(event);
    this.#times.push(this.#clock.monotonic());
    this.#bytes += heldBytes(event);
    this.#trim();
    this.#arm();
  }

  /** Forgets nothing, within reason, until `release`. */
  hold(): void {
    this.#wideUntilMs = Number.POSITIVE_INFINITY;
  }

  /** How many bytes of changes it can take up while it is held. */
  get room(): number {
    return Math.max(0, this.#bounds.bytes() * recallFactor - this.#bytes);
  }

  /** Takes up what happened between `beginsAfter` and the beginning so far; it stays as if it had just happened. */
  prepend(events: readonly CacheEvent[], beginsAfter: number): void {
    const now = this.#clock.monotonic();
    this.#events = [...events, ...this.#events.slice(this.#first)];
    this.#times = [...events.map(() => now), ...this.#times.slice(this.#first)];
    this.#first = 0;
    for (const event of events) this.#bytes += heldBytes(event);
    this.#beginsAfter = beginsAfter;
  }

  /** Ends `hold`: what was recalled, if anything, stays for the usual time. */
  release(): void {
    this.#wideUntilMs = this.#clock.monotonic() + this.#bounds.keepMs;
    this.#arm();
  }

  /** What came after this revision is more than can be kept, or the store has forgotten it: for good, since it can only become more. */
  lose(revision: number): void {
    this.#lostUpTo = Math.max(this.#lostUpTo, revision);
  }

  /** Whether the store was asked in vain. */
  hasLost(revision: number): boolean {
    return revision <= this.#lostUpTo;
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
    return this.#events.slice(low) as CacheEvent[];
  }

  /** Nothing is known any more. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#events = [];
    this.#times = [];
    this.#first = 0;
    this.#bytes = 0;
    this.#beginsAfter = Number.POSITIVE_INFINITY;
  }

  #trim(): void {
    const now = this.#clock.monotonic();
    const { keepMs, quietEvents, quietBytes, bytes } = this.#bounds;
    const isWide = now < this.#wideUntilMs;
    const limit = isWide ? bytes() * recallFactor : bytes();
    const isDue = () => {
      if (this.#bytes > limit) return true;
      if (isWide || this.#times[this.#first]! > now - keepMs) return false;
      return this.size > quietEvents || this.#bytes > quietBytes;
    };
    while (this.size > 0 && isDue()) this.#forgetFirst();
    // The dropped head is cut off now and then, not each time.
    if (this.#first <= this.#events.length / 2) return;
    this.#events = this.#events.slice(this.#first);
    this.#times = this.#times.slice(this.#first);
    this.#first = 0;
  }

  #forgetFirst(): void {
    const event = this.#events[this.#first]!;
    this.#beginsAfter = event.revision;
    this.#bytes -= heldBytes(event);
    this.#events[this.#first++] = undefined;
  }

  /** Where nothing more happens, what is there grows old all the same. */
  #arm(): void {
    const { keepMs, quietEvents, quietBytes } = this.#bounds;
    if (this.#timer || (this.size <= quietEvents && this.#bytes <= quietBytes)) return;
    this.#timer = this.#clock.after(keepMs, () => {
      this.#timer = undefined;
      this.#trim();
      this.#arm();
    });
  }
}
