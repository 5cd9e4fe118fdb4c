/**
 * Protobuf's wire format, written from the end to the beginning: when the length of a message is to be written, its bytes stand
 * already, so nothing is measured beforehand. Each part is therefore written after what follows it:
 *
 *     field 1 "ab"   written as   'ab'  then its length 2  then its key (1 << 3 | 2)   read as   0a 02 61 62
 *
 * It knows bytes and numbers, not messages.
 */

const startingCapacity = 16 * 1024;
/** A buffer grown beyond this by one huge object is not kept for the next. */
const keptCapacity = 1024 * 1024;
/** Up to here a loop over the characters is faster than a call into the runtime. */
const shortText = 48;

export const wireTypes = { varint: 0, fixed64: 1, bytes: 2 } as const;

export class WireWriter {
  #buffer: Buffer;
  /** Index of the first byte written; the free space lies before it. */
  #at: number;

  constructor(capacity: number = startingCapacity) {
    this.#buffer = Buffer.allocUnsafe(capacity);
    this.#at = capacity;
  }

  /** Bytes written so far. */
  get written(): number {
    return this.#buffer.length - this.#at;
  }

  /** What was written since the last call, as bytes of its own. */
  finish(): Buffer {
    const bytes = Buffer.from(this.#buffer.subarray(this.#at));
    this.reset();
    return bytes;
  }

  /** Forgets what was written: for whoever gives up in the middle. */
  reset(): void {
    if (this.#buffer.length > keptCapacity) this.#buffer = Buffer.allocUnsafeSlow(startingCapacity);
    this.#at = this.#buffer.length;
  }

  byte(value: number): void {
    if (this.#at === 0) this.#grow(1);
    this.#buffer[--this.#at] = value;
  }

  /** A whole number from 0 to 2^53. */
  varint(value: number): void {
    if (value < 0x80) {
      this.byte(value);
      return;
    }
    let length = 2;
    for (let rest = value / 0x4000; rest >= 1; rest /= 0x80) length++;
    if (this.#at < length) this.#grow(length);
    this.#at -= length;
    let at = this.#at;
    let rest = value;
    for (; rest > 0x7fffffff; rest = Math.floor(rest / 0x80)) this.#buffer[at++] = (rest % 0x80) | 0x80;
    for (; rest >= 0x80; rest >>>= 7) this.#buffer[at++] = (rest & 0x7f) | 0x80;
    this.#buffer[at] = rest;
  }

  /** A whole number as protobuf's int32 and int64 are written: a negative one has ten bytes. */
  integer(value: number): void {
    if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) {
      this.varint(value);
      return;
    }
    this.bigInteger(BigInt(value));
  }

  /** Of 64 bits; what is beyond them becomes the nearest number they hold. */
  bigInteger(value: bigint): void {
    const clamped = value > largestInt64 ? largestInt64 : value < -largestInt64 ? -largestInt64 - 1n : value;
    const groups: number[] = [];
    for (let rest = BigInt.asUintN(64, clamped); ; rest >>= 7n) {
      if (rest < 0x80n) {
        this.byte(Number(rest));
        break;
      }
      groups.push(Number(rest & 0x7fn) | 0x80);
    }
    for (let i = groups.length - 1; i >= 0; i--) this.byte(groups[i]!);
  }

  double(value: number): void {
    if (this.#at < 8) this.#grow(8);
    this.#at -= 8;
    this.#buffer.writeDoubleLE(value, this.#at);
  }

  /** Text with its length before it. */
  text(value: string): void {
    const { length } = value;
    if (length <= shortText) {
      if (this.#at < length) this.#grow(length);
      const buffer = this.#buffer;
      let at = this.#at;
      let i = length - 1;
      for (; i >= 0; i--) {
        const code = value.charCodeAt(i);
        if (code >= 0x80) break;
        buffer[--at] = code;
      }
      if (i < 0) {
        this.#at = at;
        this.varint(length);
        return;
      }
    }
    const size = Buffer.byteLength(value);
    if (this.#at < size) this.#grow(size);
    this.#at -= size;
    // Of one-byte text the length is known to fit, and latin1 is a plain copy.
    this.#buffer.write(value, this.#at, size, size === length ? 'latin1' : 'utf8');
    this.varint(size);
  }

  /** Bytes as they are. */
  raw(bytes: Uint8Array): void {
    if (this.#at < bytes.length) this.#grow(bytes.length);
    this.#at -= bytes.length;
    this.#buffer.set(bytes, this.#at);
  }

  #grow(needed: number): void {
    const { written } = this;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, written + needed + startingCapacity));
    grown.set(this.#buffer.subarray(this.#at), grown.length - written);
    this.#buffer = grown;
    this.#at = grown.length - written;
  }
}

const largestInt64 = 0x7fffffffffffffffn;
