/**
 * Numbers handed out from a range, each once: addresses and ports alike. The range has a lower band that is handed out at random only
 * when the upper one is full, so that numbers people choose by hand, small ones, seldom collide with chosen ones:
 *
 *     30000 ........ 30085 | 30086 ............................ 32767
 *      asked for by hand   |  handed out, from a random start onwards
 *
 * All state is in memory and every step is synchronous; what is stored decides after a restart, and where others hand out too.
 */
import type { Random } from '../../base/random.ts';

export interface NumberRangeOptions {
  readonly first: bigint;
  /** Included. */
  readonly last: bigint;
  /** How many numbers at the beginning are the lower band. */
  readonly lowerBand: bigint;
  readonly random: Random;
}

export class NumberRange {
  readonly first: bigint;
  readonly last: bigint;
  readonly #lowerBand: bigint;
  readonly #random: Random;
  readonly #taken = new Set<bigint>();
  #changes = 0;

  constructor(options: NumberRangeOptions) {
    this.first = options.first;
    this.last = options.last;
    this.#lowerBand = options.lowerBand;
    this.#random = options.random;
  }

  /** How many are handed out. */
  get taken(): number {
    return this.#taken.size;
  }

  /** How often a number was taken or given back; tells whether anything has changed. */
  get changes(): number {
    return this.#changes;
  }

  /** Those handed out. */
  all(): Iterable<bigint> {
    return this.#taken;
  }

  contains(number: bigint): boolean {
    return number >= this.first && number <= this.last;
  }

  has(number: bigint): boolean {
    return this.#taken.has(number);
  }

  /** False when somebody has it. */
  take(number: bigint): boolean {
    if (this.#taken.has(number)) return false;
    this.#taken.add(number);
    this.#changes++;
    return true;
  }

  release(number: bigint): void {
    if (this.#taken.delete(number)) this.#changes++;
  }

  /** All are free again. */
  clear(): void {
    this.#taken.clear();
  }

  /** A free number that is not in `except`; undefined when there is none. It is not taken yet. */
  findFree(except: ReadonlySet<bigint> = new Set()): bigint | undefined {
    const border = this.first + this.#lowerBand;
    return this.#search(border, this.last, except) ?? this.#search(this.first, border - 1n, except);
  }

  #search(low: bigint, high: bigint, except: ReadonlySet<bigint>): bigint | undefined {
    const size = high - low + 1n;
    if (size <= 0n) return undefined;
    const start = low + this.#randomBelow(size);
    for (let number = start; number <= high; number++)
      if (!this.#taken.has(number) && !except.has(number)) return number;
    for (let number = low; number < start; number++) if (!this.#taken.has(number) && !except.has(number)) return number;
    return undefined;
  }

  #randomBelow(size: bigint): bigint {
    // A range of IPv6 has 2^64 addresses; 2^48 different starts are enough to make collisions rare.
    const limit = size < 2n ** 48n ? Number(size) : 2 ** 48;
    return BigInt(Math.floor(this.#random.next() * limit));
  }
}

/** Upstream's size of the lower band: a share of the range within bounds, nothing for a tiny one. */
export function lowerBandOf(
  size: bigint,
  rule: { readonly step: bigint; readonly least: bigint; readonly most: bigint },
): bigint {
  if (size <= rule.least) return 0n;
  const share = size / rule.step;
  if (share < rule.least) return rule.least;
  if (share > rule.most) return rule.most;
  return share;
}
