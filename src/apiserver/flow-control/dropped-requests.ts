/**
 * How long whoever is refused should stay away: the more are refused, the longer; as TCP backs off, doubled under pressure and taken
 * back a second at a time. Counted per second, looked at over the last `seconds` of them.
 */
import type { Clock } from '../../base/clock.ts';

const longestSeconds = 32;
/** So many refusals for each second of the present advice make it twice as long. */
const pressure = 3;

export class DroppedRequests {
  readonly #clock: Clock;
  #history: { readonly second: number; readonly count: number }[] = [];
  #second = 0;
  #count = 0;
  #raisedAt = Number.NEGATIVE_INFINITY;
  retryAfterSeconds = 1;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Tells of one more. */
  record(): void {
    const second = Math.floor(this.#clock.monotonic() / 1000);
    if (second === this.#second) {
      this.#count++;
      return;
    }
    this.#history.push({ second: this.#second, count: this.#count });
    const oldest = this.#second - Math.min(2 * this.retryAfterSeconds, longestSeconds);
    this.#history = this.#history.filter((past) => past.second >= oldest);
    this.#second = second;
    this.#count = 1;
    this.#advise(second);
  }

  #advise(second: number): void {
    const advice = this.retryAfterSeconds;
    let dropped = 0;
    for (const past of this.#history) if (second - past.second <= advice) dropped += past.count;
    if (second - this.#raisedAt >= advice && dropped >= pressure * advice) {
      this.retryAfterSeconds = Math.min(2 * advice, longestSeconds);
      this.#raisedAt = second;
    } else if (dropped < advice && advice > 1) this.retryAfterSeconds--;
  }
}
