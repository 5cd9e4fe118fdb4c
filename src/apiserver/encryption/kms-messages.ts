/**
 * The few protobuf messages of a key management service (`v2.KeyManagementService`) and of what it encrypts in the store. A field's type
 * says all there is to say; unknown fields are passed over.
 */
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';

type FieldType = 'bytes' | 'string' | 'enum' | 'bytesMap';
interface Values {
  readonly bytes: Uint8Array;
  readonly string: string;
  readonly enum: number;
  readonly bytesMap: Readonly<Record<string, Uint8Array>>;
}
export type Table = Readonly<Record<string, readonly [number: number, type: FieldType]>>;
export type Message<T extends Table> = { readonly [K in keyof T]: Values[T[K][1]] };

export interface MessageCodec<T extends Table> {
  encode(message: Message<T>): Buffer;
  decode(bytes: Uint8Array): Message<T>;
}

export const statusRequest = codecOf({});
export const statusResponse = codecOf({
  version: [1, 'string'],
  healthz: [2, 'string'],
  keyId: [3, 'string'],
} as const);
export const encryptRequest = codecOf({ plaintext: [1, 'bytes'], uid: [2, 'string'] } as const);
export const encryptResponse = codecOf({
  ciphertext: [1, 'bytes'],
  keyId: [2, 'string'],
  annotations: [3, 'bytesMap'],
} as const);
export const decryptRequest = codecOf({
  ciphertext: [1, 'bytes'],
  uid: [2, 'string'],
  keyId: [3, 'string'],
  annotations: [4, 'bytesMap'],
} as const);
export const decryptResponse = codecOf({ plaintext: [1, 'bytes'] } as const);
/** What is stored: the data under a key of its own, and that key's source under the service's key. */
export const encryptedObject = codecOf({
  encryptedData: [1, 'bytes'],
  keyId: [2, 'string'],
  encryptedDekSource: [3, 'bytes'],
  annotations: [4, 'bytesMap'],
  encryptedDekSourceType: [5, 'enum'],
} as const);

export type Decoded<C> = C extends MessageCodec<infer T> ? Message<T> : never;

const lengthDelimited = 2;

function codecOf<T extends Table>(table: T): MessageCodec<T> {
  const fields = Object.entries(table);
  const byNumber = new Map(fields.map(([name, [number, type]]) => [number, { name, type }]));
  return {
    encode(message) {
      const writer = new BinaryWriter();
      for (const [name, [number, type]] of fields) write(writer, { number, type }, message[name]);
      return Buffer.from(writer.finish());
    },
    decode(bytes) {
      const message: Record<string, unknown> = {};
      for (const [name, [, type]] of fields) message[name] = emptyOf(type);
      const reader = new BinaryReader(bytes);
      while (reader.pos < reader.len) {
        const [number, wireType] = reader.tag();
        const field = byNumber.get(number);
        if (!field) reader.skip(wireType, number);
        else message[field.name] = read(reader, field.type, message[field.name]);
      }
      return message as Message<T>;
    },
  };
}

function emptyOf(type: FieldType): Values[FieldType] {
  if (type === 'bytes') return new Uint8Array();
  return type === 'string' ? '' : type === 'enum' ? 0 : {};
}

function write(writer: BinaryWriter, { number, type }: { number: number; type: FieldType }, value: unknown): void {
  if (type === 'bytesMap') {
    for (const [key, bytes] of Object.entries(value as Values['bytesMap']))
      writer
        .tag(number, lengthDelimited)
        .fork()
        .tag(1, lengthDelimited)
        .string(key)
        .tag(2, lengthDelimited)
        .bytes(bytes)
        .join();
  } else if (type === 'enum') {
    if (value !== 0) writer.tag(number, 0).int32(value as number);
  } else if (type === 'string') {
    if (value !== '') writer.tag(number, lengthDelimited).string(value as string);
  } else if ((value as Uint8Array).length > 0) writer.tag(number, lengthDelimited).bytes(value as Uint8Array);
}

function read(reader: BinaryReader, type: FieldType, before: unknown): unknown {
  if (type === 'bytes') return reader.bytes();
  if (type === 'string') return reader.string();
  if (type === 'enum') return reader.int32();
  const entry = new BinaryReader(reader.bytes());
  let [key, value] = ['', new Uint8Array()];
  while (entry.pos < entry.len) {
    const [number, wireType] = entry.tag();
    if (number === 1) key = entry.string();
    else if (number === 2) value = new Uint8Array(entry.bytes());
    else entry.skip(wireType, number);
  }
  return { ...(before as Values['bytesMap']), [key]: value };
}
