/**
 * Asks etcd how far a watch is, until it is as far as somebody wants: one question at a time, and again when no answer has come, for
 * etcd gives none while a watch catches up.
 */
import type { Clock, Timer } from '../../base/clock.ts';

export interface ProgressRequestsOptions {
  readonly clock: Clock;
  readonly ask: () => void;
  /** All changes up to here have been delivered. */
  readonly position: () => number;
}

/** As upstream asks. */
const againAfterMs = 100;

export class ProgressRequests {
  readonly #options: ProgressRequestsOptions;
  #wanted = 0;
  #asked: Timer | undefined;

  constructor(options: ProgressRequestsOptions) {
    this.#options = options;
  }

  want(revision: number): void {
    if (revision > this.#wanted) this.#wanted = revision;
    if (!this.#asked) this.#ask();
  }

  /** An answer has come, or the connection is a new one. */
  goOn(): void {
    this.#asked?.cancel();
    this.#ask();
  }

  close(): void {
    this.#asked?.cancel();
    this.#wanted = 0;
  }

  #ask(): void {
    this.#asked = undefined;
    const { clock, ask, position } = this.#options;
    if (position() >= this.#wanted) return;
    ask();
    this.#asked = clock.after(againAfterMs, () => this.#ask());
  }
}
