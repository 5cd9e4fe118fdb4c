/** Forgets the store's history now and then: what is older than one interval, so that a slow client can still finish its pages. */
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';

export interface CompactionOptions {
  readonly store: { readonly revision: number; compact(revision: number): Promise<void> };
  readonly clock: Clock;
  readonly log: Log;
  /** Default 5 minutes; 0: never. */
  readonly intervalMs?: number | undefined;
}

const defaultIntervalMs = 5 * 60_000;

export class Compaction {
  readonly #options: CompactionOptions;
  readonly #intervalMs: number;
  #seenRevision: number;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: CompactionOptions) {
    this.#options = options;
    this.#intervalMs = options.intervalMs ?? defaultIntervalMs;
    this.#seenRevision = 0;
    if (this.#intervalMs > 0) this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer = this.#options.clock.after(this.#intervalMs, () => {
      const { store, log } = this.#options;
      const revision = this.#seenRevision;
      this.#seenRevision = store.revision;
      const work = revision > 0 ? store.compact(revision) : Promise.resolve();
      work
        .catch((error: unknown) => log.warn('compaction of the store failed', { error: String(error) }))
        .finally(() => {
          if (!this.#closed) this.#arm();
        });
    });
  }
}
