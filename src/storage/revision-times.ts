/**
 * Which revision stood at which time, to the second: the first revision of each second in which something was written.
 *
 *   revisions 7 8 9 at 12:00:01, 10 at 12:00:05      marks  7 12:00:01   10 12:00:05
 *   revisionAt(12:00:03) is 9; before 12:00:01 nothing is known
 *
 * Times never fall: where the clock was set back, what was written meanwhile counts as written at the last known time.
 */
export class RevisionTimes {
  #revisions: number[] = [];
  #seconds: number[] = [];
  #start = 0;

  /** `revision` rises from call to call. */
  note(revision: number, timeMs: number): void {
    const second = Math.floor(timeMs / 1000);
    if (second <= (this.#seconds.at(-1) ?? 0)) return;
    this.#revisions.push(revision);
    this.#seconds.push(second);
  }

  /** The newest revision written in or before this second, up to `newest`, the store's; undefined: nothing so old is known. */
  revisionAt(timeMs: number, newest: number): number | undefined {
    const after = this.#firstAfter(this.#seconds, Math.floor(timeMs / 1000));
    if (after === this.#start) return undefined;
    return after < this.#revisions.length ? this.#revisions[after]! - 1 : newest;
  }

  /** Of the oldest revision that is known. */
  get oldestMs(): number | undefined {
    const second = this.#seconds[this.#start];
    return second === undefined ? undefined : second * 1000;
  }

  /** Forgets what was before `revision`, except for the time in which it stood. */
  trim(revision: number): void {
    this.#start = Math.max(this.#start, this.#firstAfter(this.#revisions, revision) - 1);
    if (this.#start < trimLength) return;
    this.#revisions = this.#revisions.slice(this.#start);
    this.#seconds = this.#seconds.slice(this.#start);
    this.#start = 0;
  }

  #firstAfter(sorted: readonly number[], wanted: number): number {
    let low = this.#start;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (sorted[middle]! <= wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Marks are dropped from memory in blocks of at least this many. */
const trimLength = 1024;
