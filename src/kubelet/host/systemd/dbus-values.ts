/**
 * D-Bus values as bytes and back, by the types that a signature names. Little endian on the way out, both on the way in.
 *
 *     encodeValues('su', ['ab', 7]) = 02 00 00 00 'a' 'b' 00 00 07 00 00 00
 *
 * Arrays, structures and entries of dictionaries are JavaScript arrays; integers of 64 bits are numbers on the way in, which is exact
 * up to 2^53. A variant is `{ signature, value }` on the way out, and its bare value on the way in.
 */

export type DbusValue = string | number | bigint | boolean | readonly DbusValue[] | DbusVariant;

export interface DbusVariant {
  readonly signature: string;
  readonly value: DbusValue;
}

const alignments: Readonly<Record<string, number>> = {
  y: 1,
  b: 4,
  n: 2,
  q: 2,
  i: 4,
  u: 4,
  x: 8,
  t: 8,
  d: 8,
  h: 4,
  s: 4,
  o: 4,
  g: 1,
  a: 4,
  v: 1,
  '(': 8,
  '{': 8,
};

/** The complete types of a signature: `sa(sv)u` has `s`, `a(sv)` and `u`. */
export function typesIn(signature: string): string[] {
  const types: string[] = [];
  for (let at = 0; at < signature.length; ) {
    const end = endOfType(signature, at);
    types.push(signature.slice(at, end));
    at = end;
  }
  return types;
}

function endOfType(signature: string, start: number): number {
  const first = signature[start];
  if (first === undefined || alignments[first] === undefined) throw new Error(`not a D-Bus signature: ${signature}`);
  if (first === 'a') return endOfType(signature, start + 1);
  const close = first === '(' ? ')' : first === '{' ? '}' : undefined;
  if (!close) return start + 1;
  let at = start + 1;
  while (signature[at] !== close) at = endOfType(signature, at);
  return at + 1;
}

export function encodeValues(signature: string, values: readonly DbusValue[]): Buffer {
  const writer = new Writer();
  for (const [index, type] of typesIn(signature).entries()) writer.write(type, values[index]!);
  return writer.bytes();
}

class Writer {
  #buffer = Buffer.alloc(256);
  #length = 0;

  bytes(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.#length));
  }

  write(type: string, value: DbusValue): void {
    this.#align(alignments[type[0]!]!);
    switch (type[0]) {
      case 's':
      case 'o':
        return this.#text(String(value));
      case 'g':
        return this.#signature(String(value));
      case 'a':
        return this.#array(type.slice(1), value as readonly DbusValue[]);
      case '(':
      case '{':
        for (const [index, member] of typesIn(type.slice(1, -1)).entries())
          this.write(member, (value as readonly DbusValue[])[index]!);
        return;
      case 'v': {
        const variant = value as DbusVariant;
        this.#signature(variant.signature);
        return this.write(variant.signature, variant.value);
      }
      default:
        return this.#number(type, value as number | bigint | boolean);
    }
  }

  #number(type: string, value: number | bigint | boolean): void {
    const at = this.#length;
    this.#grow(alignments[type]!);
    switch (type) {
      case 'y':
        this.#buffer.writeUInt8(Number(value), at);
        break;
      case 'n':
        this.#buffer.writeInt16LE(Number(value), at);
        break;
      case 'q':
        this.#buffer.writeUInt16LE(Number(value), at);
        break;
      case 'i':
        this.#buffer.writeInt32LE(Number(value), at);
        break;
      case 'x':
        this.#buffer.writeBigInt64LE(BigInt(value), at);
        break;
      case 't':
        this.#buffer.writeBigUInt64LE(BigInt(value), at);
        break;
      case 'd':
        this.#buffer.writeDoubleLE(Number(value), at);
        break;
      default:
        this.#buffer.writeUInt32LE(Number(value), at);
    }
  }

  #text(text: string): void {
    const bytes = Buffer.from(text);
    this.#number('u', bytes.length);
    this.#raw(bytes);
    this.#grow(1);
  }

  #signature(signature: string): void {
    this.#number('y', signature.length);
    this.#raw(Buffer.from(signature, 'latin1'));
    this.#grow(1);
  }

  #array(type: string, values: readonly DbusValue[]): void {
    const lengthAt = this.#length;
    this.#number('u', 0);
    this.#align(alignments[type[0]!]!);
    const start = this.#length;
    for (const value of values) this.write(type, value);
    this.#buffer.writeUInt32LE(this.#length - start, lengthAt);
  }

  #raw(bytes: Buffer): void {
    const at = this.#length;
    this.#grow(bytes.length);
    bytes.copy(this.#buffer, at);
  }

  #align(boundary: number): void {
    this.#grow((boundary - (this.#length % boundary)) % boundary);
  }

  /** New bytes are zero. */
  #grow(bytes: number): void {
    this.#length += bytes;
    if (this.#length > this.#buffer.length) {
      const larger = Buffer.alloc(this.#length * 2);
      this.#buffer.copy(larger);
      this.#buffer = larger;
    }
  }
}

/** Throws a `RangeError` when the bytes end early. */
export function decodeValues(signature: string, bytes: Buffer, littleEndian: boolean): DbusValue[] {
  const reader = new Reader(bytes, littleEndian);
  return typesIn(signature).map((type) => reader.read(type));
}

class Reader {
  readonly #view: DataView;
  readonly #bytes: Buffer;
  readonly #little: boolean;
  #at = 0;

  constructor(bytes: Buffer, littleEndian: boolean) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#little = littleEndian;
  }

  read(type: string): DbusValue {
    this.#align(type);
    switch (type[0]) {
      case 's':
      case 'o':
        return this.#text(this.#number('u'));
      case 'g':
        return this.#text(this.#number('y'));
      case 'a':
        return this.#array(type.slice(1));
      case '(':
      case '{':
        return typesIn(type.slice(1, -1)).map((member) => this.read(member));
      case 'v':
        return this.read(this.#text(this.#number('y')));
      case 'b':
        return this.#number('u') !== 0;
      default:
        return this.#number(type);
    }
  }

  #number(type: string): number {
    const size = alignments[type]!;
    const at = this.#at;
    this.#at += size;
    switch (type) {
      case 'y':
        return this.#view.getUint8(at);
      case 'n':
        return this.#view.getInt16(at, this.#little);
      case 'q':
        return this.#view.getUint16(at, this.#little);
      case 'i':
        return this.#view.getInt32(at, this.#little);
      case 'x':
        return Number(this.#view.getBigInt64(at, this.#little));
      case 't':
        return Number(this.#view.getBigUint64(at, this.#little));
      case 'd':
        return this.#view.getFloat64(at, this.#little);
      default:
        return this.#view.getUint32(at, this.#little);
    }
  }

  #text(length: number): string {
    const end = this.#at + length;
    if (end >= this.#bytes.length) throw new RangeError('a D-Bus text is cut off');
    const text = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end + 1;
    return text;
  }

  #array(type: string): DbusValue[] {
    const length = this.#number('u');
    this.#align(type);
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('a D-Bus array is cut off');
    const values: DbusValue[] = [];
    while (this.#at < end) values.push(this.read(type));
    return values;
  }

  #align(type: string): void {
    const boundary = alignments[type[0]!]!;
    this.#at += (boundary - (this.#at % boundary)) % boundary;
  }
}
