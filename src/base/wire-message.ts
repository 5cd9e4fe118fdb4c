/**
 * Protocol buffers for small, fixed sets of messages, each a table of its fields:
 *
 *     const point = messageCodec({ name: [1, 'string'], at: [2, { x: [1, 'int'], y: [2, 'int'] }], tags: [3, ['string']] } as const);
 *     point.decode(point.encode({ name: 'a', at: { x: 1 } }))   // { name: 'a', at: { x: 1, y: 0 }, tags: [] }
 *
 * Encoding leaves out what is empty, as proto3 does, except messages that are given; decoding fills every field but messages, and
 * passes over what the table does not name. The Container Runtime Interface and Kubernetes' own kinds have codecs of their own, made from
 * their generated tables.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { WireCodec } from './grpc/index.ts';

interface Values {
  readonly bytes: Uint8Array;
  readonly string: string;
  readonly bool: boolean;
  /** Any integer that a number holds exactly, enumerations too. */
  readonly int: number;
  /** An integer that uses all 64 bits. */
  readonly id: bigint;
  readonly bytesMap: Readonly<Record<string, Uint8Array>>;
}
type Single = keyof Values | Table;
/** A type in brackets is repeated. */
type Kind = Single | readonly [Single];
export interface Table {
  readonly [field: string]: readonly [number: number, kind: Kind];
}

type ValueOf<K> = K extends keyof Values
  ? Values[K]
  : K extends readonly [infer S]
    ? readonly NonNullable<ValueOf<S>>[]
    : K extends Table
      ? Message<K> | undefined
      : never;
export type Message<T extends Table> = { readonly [F in keyof T]: ValueOf<T[F][1]> };
/** A message to be sent: what is empty may be left out. */
export type Draft<T extends Table> = { readonly [F in keyof T]?: DraftOf<T[F][1]> | undefined };
type DraftOf<K> = K extends keyof Values
  ? Values[K]
  : K extends readonly [infer S]
    ? readonly DraftOf<S>[]
    : K extends Table
      ? Draft<K>
      : never;

/** Decoding throws `RangeError` or `Error` for bytes that end too early. */
export type MessageCodec<T extends Table> = WireCodec<Draft<T>, Message<T>>;
export type Sent<C> = C extends WireCodec<infer S, unknown> ? S : never;
export type Decoded<C> = C extends WireCodec<never, infer R> ? R : never;

/** How one field's single value is written, with its tag, and read. */
interface FieldCodec {
  readonly empty: unknown;
  readonly isEmpty: (value: unknown) => boolean;
  readonly write: (writer: BinaryWriter, number: number, value: unknown) => void;
  /** `before` is what the field held so far: maps grow. */
  readonly read: (reader: BinaryReader, before: unknown) => unknown;
}
interface Field {
  readonly name: string;
  readonly number: number;
  readonly repeated: boolean;
  readonly codec: FieldCodec;
}

export function messageCodec<T extends Table>(table: T): MessageCodec<T> {
  const fields = fieldsOf(table);
  const byNumber = new Map(fields.map((field) => [field.number, field]));
  return {
    encode(message) {
      const writer = new BinaryWriter();
      writeFields(writer, fields, message);
      return Buffer.from(writer.finish());
    },
    decode(bytes) {
      const message: Record<string, unknown> = {};
      for (const { name, repeated, codec } of fields) message[name] = repeated ? [] : codec.empty;
      const reader = new BinaryReader(bytes);
      while (reader.pos < reader.len) {
        const [number, wireType] = reader.tag();
        const field = byNumber.get(number);
        if (!field) reader.skip(wireType, number);
        else if (field.repeated) (message[field.name] as unknown[]).push(field.codec.read(reader, undefined));
        else message[field.name] = field.codec.read(reader, message[field.name]);
      }
      return message as Message<T>;
    },
  };
}

function fieldsOf(table: Table): readonly Field[] {
  return Object.entries(table).map(([name, [number, kind]]) => ({
    name,
    number,
    repeated: isRepeated(kind),
    codec: codecOf(isRepeated(kind) ? kind[0] : kind),
  }));
}

function isRepeated(kind: Kind): kind is readonly [Single] {
  return Array.isArray(kind);
}

function codecOf(kind: Single): FieldCodec {
  return typeof kind === 'string' ? scalars[kind] : nested(kind);
}

function writeFields(writer: BinaryWriter, fields: readonly Field[], message: Readonly<Record<string, unknown>>): void {
  for (const { name, number, repeated, codec } of fields) {
    const value = message[name];
    if (value === undefined) continue;
    if (repeated) for (const item of value as readonly unknown[]) codec.write(writer, number, item);
    else if (!codec.isEmpty(value)) codec.write(writer, number, value);
  }
}

function nested(table: Table): FieldCodec {
  const fields = fieldsOf(table);
  const { decode } = messageCodec(table);
  return {
    empty: undefined,
    isEmpty: () => false,
    write(writer, number, value) {
      writer.tag(number, WireType.LengthDelimited).fork();
      writeFields(writer, fields, value as Readonly<Record<string, unknown>>);
      writer.join();
    },
    read: (reader) => decode(reader.bytes()),
  };
}

const scalars: Readonly<Record<keyof Values, FieldCodec>> = {
  bytes: {
    empty: new Uint8Array(),
    isEmpty: (value) => (value as Uint8Array).length === 0,
    write: (writer, number, value) => writer.tag(number, WireType.LengthDelimited).bytes(value as Uint8Array),
    read: (reader) => reader.bytes(),
  },
  string: {
    empty: '',
    isEmpty: (value) => value === '',
    write: (writer, number, value) => writer.tag(number, WireType.LengthDelimited).string(value as string),
    read: (reader) => reader.string(),
  },
  bool: {
    empty: false,
    isEmpty: (value) => value === false,
    write: (writer, number, value) => writer.tag(number, WireType.Varint).bool(value as boolean),
    read: (reader) => reader.bool(),
  },
  int: {
    empty: 0,
    isEmpty: (value) => value === 0,
    write: (writer, number, value) => writer.tag(number, WireType.Varint).int64(value as number),
    read: (reader) => Number(reader.int64()),
  },
  id: {
    empty: 0n,
    isEmpty: (value) => value === 0n,
    write: (writer, number, value) => writer.tag(number, WireType.Varint).int64(value as bigint),
    read: (reader) => BigInt(reader.int64()),
  },
  bytesMap: {
    empty: {},
    isEmpty: () => false,
    write(writer, number, value) {
      for (const [key, bytes] of Object.entries(value as Values['bytesMap']))
        writer.tag(number, WireType.LengthDelimited).bytes(mapEntry.encode({ key, value: bytes }));
    },
    read(reader, before) {
      const { key, value } = mapEntry.decode(reader.bytes());
      return { ...(before as Values['bytesMap']), [key]: value };
    },
  },
};

const mapEntry = messageCodec({ key: [1, 'string'], value: [2, 'bytes'] } as const);
