/**
 * DER, the binary form of X.509: writes and reads tag-length-value triples. It knows the few types that certificates and
 * requests are made of, and nothing of what they mean. Reading is strict about lengths, so no bytes are read twice or past the end.
 *
 *   SEQUENCE { INTEGER 5, BOOLEAN true }   30 06  02 01 05  01 01 ff
 */

export const Tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** What is not DER, or not the shape that was expected. */
export class DerError extends Error {
  override readonly name = 'DerError';
}

export interface DerValue {
  readonly tag: number;
  readonly content: Buffer;
  /** Tag, length and content: what signatures are made over. */
  readonly whole: Buffer;
}

export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const length = contents.reduce((sum, content) => sum + content.length, 0);
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(length)]), ...contents]);
}

export const sequence = (...contents: readonly Uint8Array[]): Buffer => element(Tag.sequence, ...contents);

/** SET OF: DER wants its members in the order of their bytes. */
export const setOf = (members: readonly Buffer[]): Buffer => element(Tag.set, ...members.toSorted(Buffer.compare));

export const octetString = (content: Uint8Array): Buffer => element(Tag.octetString, content);

export const bitString = (content: Uint8Array, unusedBits = 0): Buffer =>
  element(Tag.bitString, Buffer.from([unusedBits]), content);

export const boolean = (value: boolean): Buffer => element(Tag.boolean, Buffer.from([value ? 0xff : 0]));

/** A non-negative integer, given by its big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const padding = (bytes[start] ?? 0) & 0x80 ? [0] : [];
  return element(Tag.integer, Buffer.from(padding), bytes.subarray(start));
}

/** `[n]`, constructed: explicitly tagged values, and implicitly tagged sequences. */
export const context = (n: number, ...contents: readonly Uint8Array[]): Buffer => element(0xa0 | n, ...contents);

/** `[n]`, primitive: implicitly tagged strings. */
export const contextPrimitive = (n: number, content: Uint8Array): Buffer => element(0x80 | n, content);

export const utf8String = (text: string): Buffer => element(Tag.utf8String, Buffer.from(text));

export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return element(Tag.objectIdentifier, Buffer.from(bytes));
}

/** UTCTime up to 2049 and GeneralizedTime after it, as RFC 5280 wants. */
export function time(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replace(/\D/g, '').slice(0, 14);
  if (Number(digits.slice(0, 4)) < 2050) return element(Tag.utcTime, Buffer.from(`${digits.slice(2)}Z`));
  return element(Tag.generalizedTime, Buffer.from(`${digits}Z`));
}

/** Reads one value that fills `bytes`. */
export function readDer(bytes: Buffer): DerValue {
  const [value, ...more] = readAll(bytes);
  if (!value || more.length > 0) throw new DerError('expected exactly one value');
  return value;
}

/** The values that follow one another in `bytes`. */
export function readAll(bytes: Buffer): DerValue[] {
  const values: DerValue[] = [];
  for (let offset = 0; offset < bytes.length; ) {
    const tag = bytes[offset]!;
    if ((tag & 0x1f) === 0x1f) throw new DerError('long tags are not used here');
    const { length, start } = readLength(bytes, offset + 1);
    const end = start + length;
    if (end > bytes.length) throw new DerError('a value ends after its container');
    values.push({ tag, content: bytes.subarray(start, end), whole: bytes.subarray(offset, end) });
    offset = end;
  }
  return values;
}

export function children(value: DerValue | undefined, tag: number = Tag.sequence): DerValue[] {
  return readAll(expectTag(value, tag).content);
}

export function expectTag(value: DerValue | undefined, tag: number): DerValue {
  if (value?.tag !== tag) throw new DerError(`expected tag ${tag.toString(16)}, found ${value?.tag.toString(16)}`);
  return value;
}

export function readObjectIdentifier(value: DerValue | undefined): string {
  const { content } = expectTag(value, Tag.objectIdentifier);
  const arcs: number[] = [];
  let arc = 0;
  for (const byte of content) {
    arc = arc * 128 + (byte & 0x7f);
    if (byte & 0x80) continue;
    if (arcs.length === 0) arcs.push(Math.min(Math.floor(arc / 40), 2), arc - Math.min(Math.floor(arc / 40), 2) * 40);
    else arcs.push(arc);
    arc = 0;
  }
  return arcs.join('.');
}

/** The content of a bit string that consists of whole bytes, as keys and signatures do. */
export function readBitString(value: DerValue | undefined): Buffer {
  const { content } = expectTag(value, Tag.bitString);
  if (content[0] !== 0) throw new DerError('expected a bit string of whole bytes');
  return content.subarray(1);
}

export function readText(value: DerValue): string {
  // BMPString (1e) is the one string type here that is not a superset of ASCII.
  return value.tag === 0x1e ? Buffer.from(value.content).swap16().toString('utf16le') : value.content.toString();
}

export function readTime(value: DerValue | undefined): number {
  const digits = value?.content.toString() ?? '';
  const match = /^(\d\d)?(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(digits);
  const isUtc = value?.tag === Tag.utcTime;
  if (!match || (!isUtc && value?.tag !== Tag.generalizedTime) || isUtc === (match[1] !== undefined)) {
    throw new DerError(`not a time: ${digits}`);
  }
  const [, century, year, month, day, hour, minute, second] = match.map(Number);
  const fullYear = isUtc ? (year! < 50 ? 2000 : 1900) + year! : century! * 100 + year!;
  return Date.UTC(fullYear, month! - 1, day, hour, minute, second);
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let left = length; left > 0; left = Math.floor(left / 256)) bytes.unshift(left & 0xff);
  return [0x80 | bytes.length, ...bytes];
}

function readLength(bytes: Buffer, offset: number): { length: number; start: number } {
  const first = bytes[offset];
  if (first === undefined || first === 0x80 || first > 0x84) throw new DerError('a length is missing or not definite');
  if (first < 0x80) return { length: first, start: offset + 1 };
  const count = first & 0x7f;
  if (offset + 1 + count > bytes.length) throw new DerError('a length is cut off');
  return { length: bytes.readUIntBE(offset + 1, count), start: offset + 1 + count };
}
