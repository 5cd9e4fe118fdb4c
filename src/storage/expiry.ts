/**
 * Lifetimes of keys: asks for the removal of a version once its time has come. Versions that end within the same second do so together, and
 * one timer waits for the next of those seconds. Whether the version still stands is for the caller to check, by removing it at
 * its own revision; of one that was replaced or removed before its time, no more than its name is kept until then.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { KeyedHeap } from '../base/heap.ts';

/** A version that ends. */
export interface Mortal {
  readonly key: string;
  readonly revision: number;
}

export interface ExpiryOptions {
  readonly clock: Clock;
  readonly expire: (mortal: Mortal) => void;
}

/** What ends in one second. */
interface Ending {
  readonly second: number;
  readonly mortals: Mortal[];
}

export class Expiry {
  readonly #options: ExpiryOptions;
  readonly #endings = new KeyedHeap<Ending>(
    ({ second }) => String(second),
    (a, b) => a.second < b.second,
  );
  #timer: { readonly timer: Timer; readonly second: number } | undefined;
  #closed = false;

  constructor(options: ExpiryOptions) {
    this.#options = options;
  }

  /** Asks for the version's removal at `atMs`; 0: never. */
  track({ key, revision }: Mortal, atMs: number): void {
    if (atMs === 0 || this.#closed) return;
    const second = Math.ceil(atMs / 1000);
    const ending = this.#endings.get(String(second)) ?? { second, mortals: [] };
    if (ending.mortals.length === 0) this.#endings.set(ending);
    ending.mortals.push({ key, revision });
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.timer.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    const next = this.#endings.peek()?.second;
    if (next === undefined || this.#closed || (this.#timer && this.#timer.second <= next)) return;
    this.#timer?.timer.cancel();
    const { clock } = this.#options;
    const timer = clock.after(next * 1000 - clock.now(), () => {
      this.#timer = undefined;
      this.#end(next);
      this.#arm();
    });
    this.#timer = { timer, second: next };
  }

  #end(upToSecond: number): void {
    for (let next = this.#endings.peek(); next && next.second <= upToSecond; next = this.#endings.peek()) {
      this.#endings.pop();
      for (const mortal of next.mortals) this.#options.expire(mortal);
    }
  }
}

/** When a key written now with this lifetime ends; 0: never. */
export function expiryTime(clock: Clock, ttlSeconds: number | undefined): number {
  return ttlSeconds ? clock.now() + ttlSeconds * 1000 : 0;
}
