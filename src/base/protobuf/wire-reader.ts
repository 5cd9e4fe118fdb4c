/**
 * Protobuf's wire format, read: for the API's own kinds as for the messages of small protocols. What is broken is told in the words of
 * upstream's generated readers. It knows bytes and numbers, not messages.
 */

/** The bytes are no protobuf, or not that of the type. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
}

/** Up to here a loop over the bytes is faster than a call into the runtime. */
const shortText = 24;

export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;
  /** Where the message being read ends; its reader sets and restores it. */
  end: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.length;
  }

  /** Index of the next byte. */
  get position(): number {
    return this.#at;
  }

  get done(): boolean {
    return this.#at >= this.end;
  }

  /** A number of up to 64 bits, without sign; exact up to 2^53. */
  varint(): number {
    const first = this.#bytes[this.#at]!;
    if (this.#at < this.end && first < 0x80) {
      this.#at++;
      return first;
    }
    let result = 0;
    for (let factor = 1, count = 0; count < 10; factor *= 0x80, count++) {
      const byte = this.#next();
      result += (byte & 0x7f) * factor;
      if (byte < 0x80) return result;
    }
    throw new ProtobufError('proto: integer overflow');
  }

  /** A number of 64 bits with its sign, as exact as a double can be. */
  int64(): number {
    return toNumber(this.bigInt64());
  }

  int32(): number {
    const first = this.#bytes[this.#at]!;
    if (this.#at < this.end && first < 0x80) {
      this.#at++;
      return first;
    }
    // What is above 32 bits is cut off, so the low 35 bits are enough.
    let low = 0;
    for (let count = 0; count < 10; count++) {
      const byte = this.#next();
      if (count < 5) low |= (byte & 0x7f) << (count * 7);
      if (byte < 0x80) return low;
    }
    throw new ProtobufError('proto: integer overflow');
  }

  bigInt64(): bigint | number {
    const first = this.#bytes[this.#at]!;
    if (this.#at < this.end && first < 0x80) {
      this.#at++;
      return first;
    }
    let low = 0;
    let high = 0n;
    for (let count = 0; count < 10; count++) {
      const byte = this.#next();
      if (count < 7) low += (byte & 0x7f) * 2 ** (count * 7);
      else high |= BigInt(byte & 0x7f) << BigInt(count * 7);
      if (byte < 0x80) return count < 7 ? low : BigInt.asIntN(64, high | BigInt(low));
    }
    throw new ProtobufError('proto: integer overflow');
  }

  double(): number {
    const start = this.#skip(8);
    return this.#bytes.readDoubleLE(start);
  }

  /** The length of what comes next, which lies whole within the message. */
  length(): number {
    const length = this.varint();
    if (length >= 2 ** 63) throw new ProtobufError('proto: negative length found during unmarshaling');
    if (length > this.end - this.#at) throw unexpectedEnd();
    return length;
  }

  /** Text with its length before it. What is no UTF-8 is replaced, as upstream's JSON does when it writes it. */
  text(): string {
    const length = this.length();
    const start = this.#at;
    const end = start + length;
    this.#at = end;
    if (length <= shortText) {
      let text = '';
      let at = start;
      for (; at < end; at++) {
        const byte = this.#bytes[at]!;
        if (byte >= 0x80) break;
        text += String.fromCharCode(byte);
      }
      if (at === end) return text;
    }
    return this.#bytes.toString('utf8', start, end);
  }

  /** A view of bytes with their length before them. */
  bytes(): Buffer {
    const length = this.length();
    const start = this.#skip(length);
    return this.#bytes.subarray(start, start + length);
  }

  /** Narrows the reader to the message that comes next; gives the end to restore. */
  enter(): number {
    const length = this.length();
    const outer = this.end;
    this.end = this.#at + length;
    return outer;
  }

  /** Passes over a field that nobody knows. */
  skip(wireType: number): void {
    switch (wireType) {
      case 0:
        this.varint();
        return;
      case 1:
        this.#skip(8);
        return;
      case 2:
        this.#skip(this.length());
        return;
      case 3:
        this.#skipGroup();
        return;
      case 4:
        throw new ProtobufError('proto: unexpected end of group');
      case 5:
        this.#skip(4);
        return;
      default:
        throw new ProtobufError(`proto: illegal wireType ${wireType}`);
    }
  }

  #skipGroup(): void {
    for (let depth = 1; depth > 0; ) {
      const wireType = this.varint() % 8;
      if (wireType === 3) depth++;
      else if (wireType === 4) depth--;
      else this.skip(wireType);
    }
  }

  #next(): number {
    if (this.#at >= this.end) throw unexpectedEnd();
    return this.#bytes[this.#at++]!;
  }

  #skip(length: number): number {
    if (length > this.end - this.#at) throw unexpectedEnd();
    const start = this.#at;
    this.#at += length;
    return start;
  }
}

export function toNumber(value: bigint | number): number {
  return typeof value === 'number' ? value : Number(value);
}

function unexpectedEnd(): ProtobufError {
  return new ProtobufError('unexpected EOF');
}
