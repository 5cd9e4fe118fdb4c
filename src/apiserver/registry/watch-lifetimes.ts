/**
 * When watches end that nobody has ended: after the time they asked for; without one, after `--min-request-timeout` to twice as long, so
 * that watches begun together do not all come back together; and when the server goes away.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';

export interface WatchLifetimesOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** `--min-request-timeout`; default 1800. */
  readonly minimumSeconds?: number | undefined;
}

const defaultMinimumSeconds = 1800;
/** Steps in which watches are ended that end over a while. */
const endings = 20;

export class WatchLifetimes {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #minimumSeconds: number;
  readonly #enders = new Set<() => void>();

  constructor({ clock, random, minimumSeconds = defaultMinimumSeconds }: WatchLifetimesOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#minimumSeconds = minimumSeconds;
  }

  get size(): number {
    return this.#enders.size;
  }

  /** In milliseconds; 0 asks for nothing. */
  lifetimeMs(askedSeconds: number): number {
    return 1000 * (askedSeconds || this.#minimumSeconds * (1 + this.#random.next()));
  }

  /** The result forgets the watch, which has ended. */
  add(end: () => void): () => void {
    this.#enders.add(end);
    return () => this.#enders.delete(end);
  }

  /** Ends those there are, evenly over the time; resolves when the last has been told. */
  async endAll(overMs: number): Promise<void> {
    const slice = overMs > 0 ? Math.ceil(this.#enders.size / endings) : this.#enders.size;
    while (this.#enders.size > 0) {
      let left = slice;
      for (const end of this.#enders) {
        if (left-- === 0) break;
        this.#enders.delete(end);
        end();
      }
      if (this.#enders.size > 0) await sleep(this.#clock, overMs / endings);
    }
  }
}
