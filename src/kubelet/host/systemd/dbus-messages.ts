/** D-Bus messages: a header with fields, padded to eight bytes, and a body. */
import { type DbusValue, decodeValues, encodeValues } from './dbus-values.ts';

export interface DbusMessage {
  readonly type: 'call' | 'return' | 'error' | 'signal';
  readonly serial: number;
  readonly path?: string | undefined;
  readonly interface?: string | undefined;
  readonly member?: string | undefined;
  readonly errorName?: string | undefined;
  readonly replySerial?: number | undefined;
  readonly destination?: string | undefined;
  readonly signature?: string | undefined;
  readonly body: readonly DbusValue[];
}

const types = ['call', 'return', 'error', 'signal'] as const;

/** Codes of header fields, and the types of their values. */
const fields = {
  path: [1, 'o'],
  interface: [2, 's'],
  member: [3, 's'],
  errorName: [4, 's'],
  replySerial: [5, 'u'],
  destination: [6, 's'],
  signature: [8, 'g'],
} as const;

const littleEndian = 'l'.charCodeAt(0);
const fixedLength = 16;
/** What the specification allows. */
const longestMessage = 128 * 1024 * 1024;

export function encodeMessage(message: DbusMessage): Buffer {
  const body = encodeValues(message.signature ?? '', message.body);
  const present = Object.entries(fields).flatMap(([name, [code, type]]) => {
    const value = message[name as keyof typeof fields];
    return value === undefined ? [] : [[code, { signature: type, value }] as const];
  });
  const type = types.indexOf(message.type) + 1;
  const header = encodeValues('yyyyuua(yv)', [littleEndian, type, 0, 1, body.length, message.serial, present]);
  return Buffer.concat([header, Buffer.alloc(padding(header.length)), body]);
}

const padding = (length: number) => (8 - (length % 8)) % 8;

/** The first message in the bytes and how many it takes; undefined while it is not complete. Throws for what is no message. */
export function decodeMessage(bytes: Buffer): { readonly message: DbusMessage; readonly length: number } | undefined {
  if (bytes.length < fixedLength) return undefined;
  const isLittle = bytes[0] === littleEndian;
  const [bodyLength, serial, fieldsLength] = decodeValues('uuu', bytes.subarray(4, fixedLength), isLittle) as number[];
  const headerLength = fixedLength + fieldsLength!;
  const length = headerLength + padding(headerLength) + bodyLength!;
  if (length > longestMessage) throw new Error('a D-Bus message is longer than any may be');
  if (bytes.length < length) return undefined;
  const [, , , , , , header] = decodeValues('yyyyuua(yv)', bytes.subarray(0, headerLength), isLittle);
  const values = new Map(header as readonly (readonly [number, DbusValue])[]);
  const field = (name: keyof typeof fields) => values.get(fields[name][0]);
  const signature = field('signature') as string | undefined;
  const message: DbusMessage = {
    type: types[bytes[1]! - 1] ?? 'signal',
    serial: serial!,
    path: field('path') as string | undefined,
    interface: field('interface') as string | undefined,
    member: field('member') as string | undefined,
    errorName: field('errorName') as string | undefined,
    replySerial: field('replySerial') as number | undefined,
    signature,
    body: signature ? decodeValues(signature, bytes.subarray(length - bodyLength!, length), isLittle) : [],
  };
  return { message, length };
}
