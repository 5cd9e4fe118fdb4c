/**
 * What one write of a Service takes and gives back. Nothing is given back before the write succeeded, and what was taken is given back
 * when it fails. Of ports a dry run sees conflicts as a real write does, and takes nothing.
 */
import type { NumberRange } from './number-range.ts';

export class Reservation {
  readonly dryRun: boolean;
  readonly #taken = new Map<NumberRange, Set<bigint>>();
  readonly #leaving: { readonly range: NumberRange; readonly number: bigint }[] = [];
  readonly #addressesTaken: string[] = [];
  readonly #addressesLeaving: string[] = [];

  constructor(options: { readonly dryRun: boolean }) {
    this.dryRun = options.dryRun;
  }

  /** False when somebody has the number, this reservation included. */
  take(range: NumberRange, number: bigint): boolean {
    const own = this.#own(range);
    if (own.has(number) || range.has(number)) return false;
    if (!this.dryRun) range.take(number);
    own.add(number);
    return true;
  }

  /** Undefined when the range is full. */
  takeAny(range: NumberRange): bigint | undefined {
    const number = range.findFree(this.#own(range));
    if (number !== undefined) this.take(range, number);
    return number;
  }

  /** As if no number had been asked for. What the ranges say is for the caller to mend. */
  forgetNumbers(): void {
    this.#taken.clear();
    this.#leaving.length = 0;
  }

  /** Gives the number back once the write has succeeded. */
  releaseLater(range: NumberRange, number: bigint): void {
    this.#leaving.push({ range, number });
  }

  /** Remembers an address that was taken for this write. */
  tookAddress(address: string): void {
    this.#addressesTaken.push(address);
  }

  releaseAddressLater(address: string): void {
    this.#addressesLeaving.push(address);
  }

  /** The addresses that are to be given back at the end. */
  addressesToReturn(kept: boolean): readonly string[] {
    if (this.dryRun) return [];
    return kept ? this.#addressesLeaving : this.#addressesTaken;
  }

  /** Undefined when there is nothing to give back. */
  numbersToReturn(kept: boolean): (() => void) | undefined {
    if (this.dryRun) return undefined;
    const returned = kept
      ? this.#leaving
      : [...this.#taken].flatMap(([range, numbers]) => [...numbers].map((number) => ({ range, number })));
    if (returned.length === 0) return undefined;
    return () => {
      for (const { range, number } of returned) range.release(number);
    };
  }

  #own(range: NumberRange): Set<bigint> {
    const own = this.#taken.get(range) ?? new Set();
    this.#taken.set(range, own);
    return own;
  }
}
