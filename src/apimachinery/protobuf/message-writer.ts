/**
 * Messages by the kind tables, byte for byte as upstream's generated writers make them: fields in the order of their numbers;
 * scalars and structs that are no pointers always, zero or not; pointers where they are set; lists and maps element by element, maps
 * sorted by key. A writer is compiled per type on first use. Everything is written backwards: see `WireWriter`.
 */

import { WireWriter, wireTypes } from '../../base/protobuf/wire-writer.ts';
import { jsonText } from '../exact-json.ts';
import { setOwn } from '../json-text.ts';
import type { FieldRow, ScalarType, SchemaRegistry, TypeSchema } from '../schema.ts';
import { parseTime } from '../time.ts';
import { durationNanos } from './duration.ts';

type Struct = Readonly<Record<string, unknown>>;
/** Writes a value without key; of a message, without its length too. */
type Write = (writer: WireWriter, value: unknown) => void;

/** One instance serves one registry; it keeps compiled writers and a buffer, and no other state. */
export class MessageWriter {
  readonly #registry: SchemaRegistry;
  readonly #structs = new Map<string, Write>();
  readonly #writer = new WireWriter();

  constructor(registry: SchemaRegistry) {
    this.#registry = registry;
  }

  /** The message of a value in canonical form; no envelope around it. */
  write(value: object, typeId: string): Buffer {
    try {
      this.#struct(this.#registry.type(typeId))(this.#writer, value);
      return this.#writer.finish();
    } catch (error) {
      this.#writer.reset();
      throw error;
    }
  }

  #struct(type: TypeSchema): Write {
    const known = this.#structs.get(type.id);
    if (known) return known;
    // Types may contain themselves: the entry must exist before its fields are compiled.
    let compiled: Write | undefined;
    const lazy: Write = (writer, value) => {
      compiled ??= this.#compile(type);
      compiled(writer, value);
    };
    this.#structs.set(type.id, lazy);
    return lazy;
  }

  #compile(type: TypeSchema): Write {
    const { jsonList, jsonOneOf } = type;
    const fields = type.row.fields.filter((row) => row.tag !== undefined).sort((a, b) => b.tag! - a.tag!);
    const writers = fields.map((row) => this.#field(row));
    const struct: Write = (writer, value) => {
      for (let i = 0; i < writers.length; i++) writers[i]!(writer, value as Struct);
    };
    if (jsonList) return (writer, value) => struct(writer, { items: value });
    if (jsonOneOf) return (writer, value) => struct(writer, membersOf(type, value));
    return struct;
  }

  /** Writes the field of a struct, or nothing when it is not there. */
  #field(row: FieldRow): (writer: WireWriter, struct: Struct) => void {
    const { name } = row;
    const type = row.type.startsWith('ref:') ? this.#registry.type(row.type.slice('ref:'.length)) : undefined;
    const element = withKey(row.tag!, wireTypeOf(row), type ? lengthed(this.#struct(type)) : scalarWriters[row.type]!);
    // An inlined struct is a message of its own whose fields stand in the JSON of its parent.
    if (row.inline) return element;
    if (row.list) return (writer, struct) => writeList(writer, struct[name], element);
    if (row.map) return this.#map(row, type ? lengthed(this.#struct(type)) : scalarWriters[row.type]!);
    if (row.pointer || type?.row.protoNullable) {
      return (writer, struct) => {
        const value = struct[name];
        if (value !== undefined && value !== null) element(writer, value);
      };
    }
    if (row.type === 'bytes') {
      return (writer, struct) => {
        if (struct[name]) element(writer, struct[name]);
      };
    }
    if (!type || type.jsonOneOf) return (writer, struct) => element(writer, struct[name]);
    const zero = this.#zeroOf(type, element);
    return (writer, struct) => {
      const value = struct[name];
      if (value === undefined || value === null) writer.raw(zero());
      else element(writer, value);
    };
  }

  /** What a struct without anything in it is written as, key and length included. */
  #zeroOf(type: TypeSchema, element: Write): () => Uint8Array {
    let zero: Uint8Array | undefined;
    return () => {
      if (!zero) {
        const writer = new WireWriter();
        element(writer, type.jsonList ? [] : {});
        zero = writer.finish();
      }
      return zero;
    };
  }

  #map({ name, tag, ...row }: FieldRow, write: Write): (writer: WireWriter, struct: Struct) => void {
    const writeValue = withKey(2, wireTypeOf(row), write);
    return (writer, struct) => {
      const map = struct[name] as Struct | undefined | null;
      if (map === undefined || map === null) return;
      const keys = sortedKeys(map);
      for (let i = keys.length - 1; i >= 0; i--) {
        const key = keys[i]!;
        const value = map[key];
        if (value === undefined) continue;
        const before = writer.written;
        writeValue(writer, value);
        writer.text(key);
        writer.byte(keyOfMapKeys);
        writer.varint(writer.written - before);
        writer.varint(tag! * 8 + wireTypes.bytes);
      }
    };
  }
}

const keyOfMapKeys = 8 + wireTypes.bytes;

function writeList(writer: WireWriter, value: unknown, element: Write): void {
  if (value === undefined || value === null) return;
  const list = value as readonly unknown[];
  for (let i = list.length - 1; i >= 0; i--) element(writer, list[i]);
}

function lengthed(write: Write): Write {
  return (writer, value) => {
    const before = writer.written;
    write(writer, value ?? nothing);
    writer.varint(writer.written - before);
  };
}

const nothing: Struct = Object.freeze({});

/** Keys below 128, which nearly all are, have one byte. */
function withKey(tag: number, wireType: number, write: Write): Write {
  const key = tag * 8 + wireType;
  if (key < 0x80) {
    return (writer, value) => {
      write(writer, value);
      writer.byte(key);
    };
  }
  return (writer, value) => {
    write(writer, value);
    writer.varint(key);
  };
}

export function wireTypeOf({ type }: Pick<FieldRow, 'type'>): number {
  if (type === 'bool' || type === 'int32' || type === 'int64') return wireTypes.varint;
  return type === 'float64' ? wireTypes.fixed64 : wireTypes.bytes;
}

/** JSON has the value of one member without its name; a struct beside a flag means that the flag is set. */
function membersOf(type: TypeSchema, value: unknown): Struct {
  const members: Record<string, unknown> = {};
  for (const name of type.jsonOneOf!) {
    const { scalar, list } = type.byName.get(name)!;
    if (scalar === 'bool') setOwn(members, name, typeof value === 'object' ? value !== null : value);
    else if (list ? Array.isArray(value) : typeof value === 'object' && !Array.isArray(value)) members[name] = value;
  }
  return members;
}

function sortedKeys(map: Struct): string[] {
  const keys = Object.keys(map);
  for (let i = 1; i < keys.length; i++) if (keys[i - 1]! > keys[i]!) return keys.sort();
  return keys;
}

const writeInteger: Write = (writer, value) => writer.integer((value as number | undefined) ?? 0);

/** A message with one field of text. */
function textMessage(textOf: (value: unknown) => string): Write {
  return (writer, value) => {
    const before = writer.written;
    writer.text(textOf(value));
    writer.byte(keyOfMapKeys);
    writer.varint(writer.written - before);
  };
}

/** Free-form data is carried as its JSON; without any it is an empty message. */
const writeJson: Write = (writer, value) => {
  if (value === undefined || value === null) return writer.byte(0);
  writeJsonText(writer, value);
};
const writeJsonText = textMessage((value) => jsonText(value));

/** Canonical times, which nearly all are, the runtime reads faster than we can. */
function momentOf(text: string): number | undefined {
  const atMs = text.length === canonicalTimeLength ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? parseTime(text) : atMs;
}

const canonicalTimeLength = '2006-01-02T15:04:05Z'.length;

/** Seconds and, for a MicroTime, nanoseconds: to the second alone otherwise, as upstream drops the rest. */
function momentWriter(nanosOf: (text: string) => number): Write {
  return (writer, value) => {
    const text = (value as string | undefined | null) ?? '';
    const atMs = text === '' ? undefined : momentOf(text);
    if (atMs === undefined) return writer.byte(0);
    const before = writer.written;
    writer.varint(nanosOf(text));
    writer.byte(2 * 8);
    writer.integer(Math.floor(atMs / 1000));
    writer.byte(8);
    writer.varint(writer.written - before);
  };
}

const scalarWriters: Readonly<Record<ScalarType | string, Write>> = {
  string: (writer, value) => writer.text((value as string | undefined) ?? ''),
  bool: (writer, value) => writer.byte(value === true ? 1 : 0),
  int32: writeInteger,
  int64: writeInteger,
  float64: (writer, value) => writer.double((value as number | undefined) ?? 0),
  bytes(writer, value) {
    const bytes = Buffer.from((value as string | undefined | null) ?? '', 'base64');
    writer.raw(bytes);
    writer.varint(bytes.length);
  },
  quantity: textMessage((value) => (value as string | undefined) ?? '0'),
  time: momentWriter(() => 0),
  microTime: momentWriter((text) => Number((/[.,](\d+)/.exec(text)?.[1] ?? '').slice(0, 6).padEnd(6, '0')) * 1000),
  duration(writer, value) {
    const before = writer.written;
    writer.bigInteger(durationNanos((value as string | undefined) ?? '0s'));
    writer.byte(8);
    writer.varint(writer.written - before);
  },
  intOrString(writer, value) {
    const isText = typeof value === 'string';
    const before = writer.written;
    writer.text(isText ? value : '');
    writer.byte(3 * 8 + wireTypes.bytes);
    writer.integer(isText ? 0 : ((value as number | undefined) ?? 0));
    writer.byte(2 * 8);
    writer.byte(isText ? 1 : 0);
    writer.byte(8);
    writer.varint(writer.written - before);
  },
  rawExtension: writeJson,
  json: writeJson,
};
