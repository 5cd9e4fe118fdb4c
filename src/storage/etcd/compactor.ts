/**
 * Forgets etcd's history once per interval, however many servers share it: upstream's scheme, so that its servers and ours take turns.
 * The key `compact_rev_key` counts the intervals by how often it was written. Who writes it first in an interval has won it, and compacts
 * what was the newest revision when it last looked; who comes later only learns the count:
 *
 *     A looks at 100 .......... wins, compacts 100, looks at 250 .......... wins, compacts 250
 *          B looks at 140 .......... comes too late, looks at 290 .......... comes too late
 *
 * So history is kept for one interval, and for two at most when the winner dies.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { EtcdStore } from './etcd-store.ts';

export interface CompactorOptions {
  readonly store: Pick<EtcdStore<unknown>, 'claim' | 'compact' | 'noteCompacted'>;
  readonly clock: Clock;
  readonly log: Log;
  /** 0: never. */
  readonly intervalMs: number;
}

const claimKey = 'compact_rev_key';

export class Compactor {
  readonly #options: CompactorOptions;
  #timer: Timer | undefined;
  #version = 0;
  #seenRevision = 0;
  #closed = false;

  constructor(options: CompactorOptions) {
    this.#options = options;
    if (options.intervalMs > 0) this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    if (this.#closed) return;
    const { clock, log, intervalMs } = this.#options;
    this.#timer = clock.after(intervalMs, () => {
      this.#run()
        .catch((error: unknown) => log.warn('etcd is not compacted this time', { error: String(error) }))
        .finally(() => this.#arm());
    });
  }

  async #run(): Promise<void> {
    const { store } = this.#options;
    const due = this.#seenRevision;
    const { won, version, value, revision } = await store.claim(claimKey, {
      version: this.#version,
      value: String(due),
    });
    this.#version = version;
    this.#seenRevision = revision;
    if (!won) store.noteCompacted(Number(value) || 0);
    else if (due > 0) await store.compact(due);
  }
}
