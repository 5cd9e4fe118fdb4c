/**
 * Blocks of one size cut out of a range: which are taken, and the next free one. Blocks are handed out in a circle, so that one
 * that was given back rests as long as possible before it serves another Node.
 *
 *     10.244.0.0/16 in blocks of /24  ->  10.244.0.0/24, 10.244.1.0/24, ... 10.244.255.0/24
 */
import { bitsOf, type Cidr, formatCidr, parseCidr } from '../../apimachinery/addresses.ts';

/** More blocks than this many bits can count would only cost memory. */
const maxBlockBits = 16;

export class CidrSet {
  readonly #range: Cidr;
  readonly #prefixLength: number;
  readonly #taken = new Set<number>();
  readonly #size: number;
  #next = 0;

  /** Throws when the blocks do not fit the range. */
  constructor(range: string, prefixLength: number) {
    const parsed = parseCidr(range);
    if (!parsed) throw new Error(`invalid CIDR address: ${range}`);
    const blockBits = prefixLength - parsed.prefixLength;
    if (blockBits < 0 || prefixLength > bitsOf(parsed.family)) {
      throw new Error(`CIDR block of /${prefixLength} does not fit into ${range}`);
    }
    if (parsed.family === 6 && blockBits > maxBlockBits) {
      throw new Error('New CIDR set failed; the node CIDR size is too big');
    }
    this.#range = parsed;
    this.#prefixLength = prefixLength;
    this.#size = 2 ** blockBits;
  }

  get family(): 4 | 6 {
    return this.#range.family;
  }

  /** The next free block; undefined when all are taken. */
  allocate(): string | undefined {
    for (let step = 0; step < this.#size && this.#taken.size < this.#size; step++) {
      const index = (this.#next + step) % this.#size;
      if (this.#taken.has(index)) continue;
      this.#taken.add(index);
      this.#next = (index + 1) % this.#size;
      return this.#block(index);
    }
    return undefined;
  }

  /** Marks every block that `cidr` touches; parts outside the range do not matter. */
  occupy(cidr: string): void {
    for (const index of this.#indexes(cidr)) this.#taken.add(index);
  }

  release(cidr: string): void {
    for (const index of this.#indexes(cidr)) this.#taken.delete(index);
  }

  #block(index: number): string {
    const hostBits = BigInt(bitsOf(this.#range.family) - this.#prefixLength);
    const base = this.#range.base + (BigInt(index) << hostBits);
    return formatCidr({ base, family: this.#range.family, prefixLength: this.#prefixLength });
  }

  *#indexes(text: string): Iterable<number> {
    const cidr = parseCidr(text);
    if (!cidr || cidr.family !== this.#range.family) return;
    const bits = bitsOf(cidr.family);
    const hostBits = BigInt(bits - this.#prefixLength);
    const first = (cidr.base - this.#range.base) >> hostBits;
    const last = (cidr.base + (1n << BigInt(bits - cidr.prefixLength)) - 1n - this.#range.base) >> hostBits;
    const from = first < 0n ? 0n : first;
    const to = last >= BigInt(this.#size) ? BigInt(this.#size) - 1n : last;
    for (let index = from; index <= to; index++) yield Number(index);
  }
}
