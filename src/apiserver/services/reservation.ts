/**
 * What one write of a Service takes and gives back. Nothing is given back before the write succeeded, and what was taken is given back
 * when it fails. A dry run sees conflicts as a real write does, and takes nothing.
 */
import { parseIp } from '../../apimachinery/addresses.ts';
import type { AddressRange } from './address-range.ts';
import type { NumberRange } from './number-range.ts';

export class Reservation {
  readonly #dryRun: boolean;
  readonly #taken = new Map<NumberRange, Set<bigint>>();
  readonly #leaving: { readonly range: NumberRange; readonly number: bigint }[] = [];

  constructor(options: { readonly dryRun: boolean }) {
    this.#dryRun = options.dryRun;
  }

  /** False when somebody has the number, this reservation included. */
  take(range: NumberRange, number: bigint): boolean {
    const own = this.#own(range);
    if (own.has(number) || range.has(number)) return false;
    if (!this.#dryRun) range.take(number);
    own.add(number);
    return true;
  }

  /** Undefined when the range is full. */
  takeAny(range: NumberRange): bigint | undefined {
    const number = range.findFree(this.#own(range));
    if (number !== undefined) this.take(range, number);
    return number;
  }

  /** Gives the number back once the write has succeeded. */
  releaseLater(range: NumberRange, number: bigint): void {
    this.#leaving.push({ range, number });
  }

  finish(kept: boolean): void {
    if (this.#dryRun) return;
    if (kept) for (const { range, number } of this.#leaving) range.release(number);
    else for (const [range, numbers] of this.#taken) for (const number of numbers) range.release(number);
  }

  #own(range: NumberRange): Set<bigint> {
    const own = this.#taken.get(range) ?? new Set();
    this.#taken.set(range, own);
    return own;
  }
}

/** The number of an address in its range; undefined when the text is not an address of the range. */
export function numberOf(range: AddressRange | undefined, text: string): bigint | undefined {
  const address = parseIp(text);
  return address && range?.covers(address) ? address.value : undefined;
}
