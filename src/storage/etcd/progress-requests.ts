/**
 * Asks etcd over one stream how far its watch is, until that is as far as somebody wants: one question at a time, and again after a
 * while, for etcd gives no answer as long as a watch catches up, and a member may lag behind the one that told of a revision.
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
  /** What was wanted when the last question was asked. */
  #askedFor = 0;
  #isUnanswered = false;
  #catchesUp = true;
  #next: Timer | undefined;

  constructor(options: ProgressRequestsOptions) {
    this.#options = options;
  }

  /** Somebody waits for this revision. */
  want(revision: number): void {
    this.expect(revision);
    if (!this.#isUnanswered && this.#wanted > this.#askedFor) this.#ask();
  }

  /** This revision comes with an event of its own as a rule, and is asked for only if it does not. */
  expect(revision: number): void {
    if (revision > this.#wanted) this.#wanted = revision;
    if (!this.#isThere()) this.#next ??= this.#later();
  }

  /** Events have come. */
  heard(): void {
    if (this.#isThere()) this.close();
    else if (this.#catchesUp && this.#isUnanswered) this.#ask();
  }

  /** An answer has come. One that is not far enough is a lagging member's, who needs time. */
  answered(): void {
    this.#catchesUp = false;
    this.#isUnanswered = false;
    if (this.#isThere()) this.close();
    else if (this.#next && this.#wanted > this.#askedFor) this.#ask();
  }

  close(): void {
    this.#next?.cancel();
    this.#next = undefined;
  }

  #isThere(): boolean {
    return this.#options.position() >= this.#wanted;
  }

  #later(): Timer {
    return this.#options.clock.after(againAfterMs, () => this.#ask());
  }

  #ask(): void {
    this.close();
    if (this.#isThere()) return;
    this.#askedFor = this.#wanted;
    this.#isUnanswered = true;
    this.#options.ask();
    this.#next = this.#later();
  }
}
