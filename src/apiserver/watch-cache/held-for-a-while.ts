/**
 * What is dear to keep and can be made again: the latest of it, bounded by number and bytes, and none of it for longer than it is of use.
 * Items are given up in the order in which they came.
 */
import type { Clock, Timer } from '../../base/clock.ts';

export interface HeldOptions<T> {
  readonly maxItems: number;
  readonly maxBytes: number;
  /** After this time, and before twice of it, an item is given up. */
  readonly keepMs: number;
  readonly clock: Clock;
  readonly giveUp: (item: T) => void;
}

interface Held<T> {
  readonly item: T;
  readonly bytes: number;
}

export class HeldForAWhile<T> {
  readonly #options: HeldOptions<T>;
  /** A ring: `#size` items from `#first` on. */
  readonly #ring: (Held<T> | undefined)[] = [];
  #first = 0;
  #size = 0;
  #bytes = 0;
  /** How many of them were there when the timer was set. */
  #old = 0;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: HeldOptions<T>) {
    this.#options = options;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** An item that is held already must not be held again. */
  hold(item: T, bytes: number): void {
    const { maxItems, maxBytes } = this.#options;
    while (this.#size > 0 && (this.#size === maxItems || this.#bytes + bytes > maxBytes)) this.#giveUpFirst();
    this.#ring[(this.#first + this.#size) % maxItems] = { item, bytes };
    this.#size++;
    this.#bytes += bytes;
    this.#arm();
  }

  /** From now on there is no timer; the bounds stay. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #giveUpFirst(): void {
    const { item, bytes } = this.#ring[this.#first]!;
    this.#ring[this.#first] = undefined;
    this.#first = (this.#first + 1) % this.#options.maxItems;
    this.#size--;
    this.#bytes -= bytes;
    if (this.#old > 0) this.#old--;
    this.#options.giveUp(item);
  }

  #arm(): void {
    if (this.#timer || this.#closed || this.#size === 0) return;
    this.#old = this.#size;
    this.#timer = this.#options.clock.after(this.#options.keepMs, () => {
      this.#timer = undefined;
      while (this.#old > 0) this.#giveUpFirst();
      this.#arm();
    });
  }
}
