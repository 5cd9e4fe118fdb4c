/**
 * Forgets the store's history: of the last interval everything is kept, so that a slow client can still finish its pages; beyond that as
 * much as the retention asks for, up to a number of changes, for those who look back.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Store } from '../storage/store.ts';

export interface HistoryRetention {
  /** How far back one can look; less than one interval is one interval. */
  readonly retentionMs?: number | undefined;
  /** Changes older than one interval that are kept at most. Default 100,000. */
  readonly maxChanges?: number | undefined;
}

export interface CompactionOptions extends HistoryRetention {
  readonly store: Pick<Store<unknown>, 'revision' | 'compact' | 'history'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Default 5 minutes; 0: never. */
  readonly intervalMs?: number | undefined;
}

const defaultIntervalMs = 5 * 60_000;
const defaultMaxChanges = 100_000;

export class Compaction {
  readonly #options: CompactionOptions;
  readonly #intervalMs: number;
  /** What this process saw, where the store itself does not know when it was where. */
  readonly #seen: { readonly atMs: number; readonly revision: number }[] = [];
  #recent = 0;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: CompactionOptions) {
    this.#options = options;
    this.#intervalMs = options.intervalMs ?? defaultIntervalMs;
    if (this.#intervalMs > 0) this.#arm();
  }

  /** What is older would be gone if nobody wanted to look back. */
  get pagesReachBackTo(): number {
    return this.#recent;
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer = this.#options.clock.after(this.#intervalMs, () => {
      const { store, log } = this.#options;
      const revision = this.#target();
      const work = revision > 0 ? store.compact(revision) : Promise.resolve();
      work
        .catch((error: unknown) => log.warn('compaction of the store failed', { error: String(error) }))
        .finally(() => {
          if (!this.#closed) this.#arm();
        });
    });
  }

  /** The revision before which nothing is kept. */
  #target(): number {
    const { store, clock, retentionMs = 0, maxChanges = defaultMaxChanges } = this.#options;
    const nowMs = clock.now();
    const recent = this.#revisionAt(nowMs - this.#intervalMs);
    this.#recent = recent;
    const old = retentionMs > this.#intervalMs ? this.#revisionAt(nowMs - retentionMs) : recent;
    if (!store.history) this.#remember(nowMs, nowMs - Math.max(retentionMs, this.#intervalMs));
    return Math.min(recent, Math.max(old, store.revision - maxChanges));
  }

  /** 0: not known. */
  #revisionAt(timeMs: number): number {
    const { history } = this.#options.store;
    if (history) return history.revisionAt(timeMs) ?? 0;
    return this.#seen.findLast(({ atMs }) => atMs <= timeMs)?.revision ?? 0;
  }

  /** And forgets all before what stood at `sinceMs`. */
  #remember(atMs: number, sinceMs: number): void {
    this.#seen.push({ atMs, revision: this.#options.store.revision });
    while (this.#seen[1] && this.#seen[1].atMs <= sinceMs) this.#seen.shift();
  }
}
