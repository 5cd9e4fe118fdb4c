/** What was read from a source, remembered by its checksum, to hold a target against: each object there once, and nothing else. */
import { hash } from 'node:crypto';
import { TransferError } from './transfer.ts';

export class Digests {
  readonly #expected = new Map<string, string>();
  #met = 0;

  get size(): number {
    return this.#expected.size;
  }

  add(key: string, value: Uint8Array): void {
    this.#expected.set(key, digestOf(value));
  }

  has(key: string): boolean {
    return this.#expected.has(key);
  }

  /** Whether the target's value of this key is the source's. */
  matches(key: string, value: Uint8Array): boolean {
    return this.#expected.get(key) === digestOf(value);
  }

  /** Called for each object of the target, once. */
  meet(key: string, value: Uint8Array): void {
    if (!this.#expected.has(key)) throw new TransferError(`${key} is in the target and not in the source`);
    if (!this.matches(key, value)) throw new TransferError(`${key} is not in the target as it is in the source`);
    this.#met++;
  }

  finish(): void {
    const missing = this.#expected.size - this.#met;
    if (missing > 0) throw new TransferError(`${missing} objects are not in the target`);
  }
}

function digestOf(value: Uint8Array): string {
  return hash('sha256', value, 'base64');
}
