/**
 * Messages read by the kind tables. The result is what the same object would be in JSON; the codec then checks and canonicalizes it
 * like any other. Fields the tables do not know are passed over, as protobuf has it. A reader is compiled per type on first use.
 */

import { ProtobufError, toNumber, WireReader } from '../../base/protobuf/wire-reader.ts';
import { wireTypes } from '../../base/protobuf/wire-writer.ts';
import { parseJson } from '../exact-json.ts';
import { maxJsonDepth, scanJson, setOwn } from '../json-text.ts';
import type { FieldRow, ScalarType, SchemaRegistry, TypeSchema } from '../schema.ts';
import { formatMicroTime, formatTime } from '../time.ts';
import { durationText } from './duration.ts';
import { wireTypeOf } from './message-writer.ts';

type Struct = Record<string, unknown>;
type Read = (reader: WireReader, depth: number) => unknown;
/** Reads a struct's fields up to the reader's end. `raw` reads embedded data, `depth` counts the messages around. */
type ReadFields = (reader: WireReader, into: Struct, depth: number) => void;

interface FieldReader {
  readonly wireType: number;
  /** Numbers that may come packed into one field. */
  readonly packed: boolean;
  read(reader: WireReader, into: Struct, depth: number): void;
  readPacked?(reader: WireReader, into: Struct): void;
  readonly goName: string;
}

/** Types may contain themselves, and a message must not be able to exhaust the stack. */
const deepestNesting = 200;

/** One instance serves one registry; it keeps compiled readers and no other state. */
export class MessageReader {
  readonly #registry: SchemaRegistry;
  readonly #structs = new Map<string, ReadFields>();

  constructor(registry: SchemaRegistry) {
    this.#registry = registry;
  }

  /** A message of the type as plain JSON. Throws `ProtobufError`. */
  read(bytes: Uint8Array, typeId: string): unknown {
    const type = this.#registry.type(typeId);
    return this.#valueOf(type)(new WireReader(bytes), 0);
  }

  /** Reads a message up to the reader's end as the JSON value of the type. */
  #valueOf(type: TypeSchema): Read {
    const fields = this.#struct(type);
    if (type.jsonList) return (reader, depth) => readInto({}, fields, reader, depth).items ?? [];
    if (type.jsonOneOf) return (reader, depth) => memberOf(type, readInto({}, fields, reader, depth));
    return (reader, depth) => readInto({}, fields, reader, depth);
  }

  #struct(type: TypeSchema): ReadFields {
    const known = this.#structs.get(type.id);
    if (known) return known;
    // Types may contain themselves: the entry must exist before its fields are compiled.
    let compiled: ReadFields | undefined;
    const lazy: ReadFields = (reader, into, depth) => {
      if (depth > deepestNesting) throw new ProtobufError('the message is nested too deeply');
      compiled ??= this.#compile(type);
      compiled(reader, into, depth);
    };
    this.#structs.set(type.id, lazy);
    return lazy;
  }

  #compile(type: TypeSchema): ReadFields {
    const fields: (FieldReader | undefined)[] = [];
    for (const row of type.row.fields) if (row.tag !== undefined) fields[row.tag] = this.#field(row);
    return (reader, into, depth) => {
      while (!reader.done) {
        const key = reader.varint();
        const wireType = key % 8;
        const tag = (key - wireType) / 8;
        const field = fields[tag];
        if (field?.wireType === wireType && wireType !== 4) field.read(reader, into, depth);
        else readOdd(type, field, { reader, into, key });
      }
    };
  }

  #field(row: FieldRow): FieldReader {
    const { name } = row;
    const ref = row.type.startsWith('ref:') ? this.#registry.type(row.type.slice('ref:'.length)) : undefined;
    const element = ref ? entered(this.#valueOf(ref)) : scalarReaders[row.type as ScalarType];
    const shape = { wireType: row.map ? wireTypes.bytes : wireTypeOf(row), packed: false, goName: goNameOf(row) };
    if (row.inline) {
      const fields = this.#struct(ref!);
      return {
        ...shape,
        read(reader, into, depth) {
          const outer = reader.enter();
          fields(reader, into, depth + 1);
          reader.end = outer;
        },
      };
    }
    if (row.map) return { ...shape, read: mapReader(row, element, !ref) };
    if (!row.list) {
      const read: FieldReader['read'] = (reader, into, depth) => {
        into[name] = element(reader, depth);
      };
      return { ...shape, read };
    }
    const listIn = (into: Struct) => {
      into[name] ??= [];
      return into[name] as unknown[];
    };
    return {
      ...shape,
      packed: shape.wireType !== wireTypes.bytes,
      read: (reader, into, depth) => void listIn(into).push(element(reader, depth)),
      readPacked(reader, into) {
        const outer = reader.enter();
        while (!reader.done) listIn(into).push(element(reader, 0));
        reader.end = outer;
      },
    };
  }
}

function readInto(into: Struct, fields: ReadFields, reader: WireReader, depth: number): Struct {
  fields(reader, into, depth);
  return into;
}

/** A message with its length before it. */
function entered(read: Read): Read {
  return (reader, depth) => {
    const outer = reader.enter();
    const value = read(reader, depth + 1);
    reader.end = outer;
    return value;
  };
}

interface OddField {
  readonly reader: WireReader;
  readonly into: Struct;
  readonly key: number;
}

/** Whatever is not the field its number says: unknown, packed, or broken. */
function readOdd({ name }: TypeSchema, field: FieldReader | undefined, { reader, into, key }: OddField): void {
  const wireType = key % 8;
  const tag = (key - wireType) / 8;
  if (wireType === 4) throw new ProtobufError(`proto: ${name}: wiretype end group for non-group`);
  if (tag === 0 || tag > 0x7fffffff)
    throw new ProtobufError(`proto: ${name}: illegal tag ${tag | 0} (wire type ${key})`);
  if (!field) return reader.skip(wireType);
  if (!field.packed || wireType !== wireTypes.bytes)
    throw new ProtobufError(`proto: wrong wireType = ${wireType} for field ${field.goName}`);
  field.readPacked!(reader, into);
}

function mapReader({ name, type }: FieldRow, readValue: Read, isScalar: boolean): FieldReader['read'] {
  return (reader, into, depth) => {
    const outer = reader.enter();
    let key = '';
    let value: unknown;
    while (!reader.done) {
      const fieldKey = reader.varint();
      if (fieldKey === 8 + wireTypes.bytes) key = reader.text();
      else if ((fieldKey - (fieldKey % 8)) / 8 === 2) value = readValue(reader, depth);
      else reader.skip(fieldKey % 8);
    }
    reader.end = outer;
    into[name] ??= {};
    setOwn(into[name] as Struct, key, value === undefined ? (isScalar ? emptyScalar(type) : {}) : value);
  };
}

function emptyScalar(type: string): unknown {
  if (type === 'quantity') return '0';
  return type === 'time' ? null : '';
}

/** JSON has the value of the one member that is set, a struct before a flag. */
function memberOf({ jsonOneOf = [] }: TypeSchema, value: Struct): unknown {
  const struct = jsonOneOf.find((name) => typeof value[name] === 'object' && value[name] !== null);
  return value[struct ?? jsonOneOf.find((name) => value[name] !== undefined) ?? ''];
}

/** As upstream's messages name it: nearly always the JSON name with a capital. */
function goNameOf({ name, type, inline }: FieldRow): string {
  if (inline || type === 'ref:meta/v1.ObjectMeta' || type === 'ref:meta/v1.ListMeta')
    return type.slice(type.lastIndexOf('.') + 1);
  if (name === 'uid') return 'UID';
  return name === 'apiVersion' ? 'APIVersion' : `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/** Calls back for each field of a message that comes next, its length first; what is not taken is passed over. */
function eachField(reader: WireReader, take: (key: number) => boolean): void {
  const outer = reader.enter();
  while (!reader.done) {
    const key = reader.varint();
    if (!take(key)) reader.skip(key % 8);
  }
  reader.end = outer;
}

const textKey = 8 + wireTypes.bytes;

function readMessageText(reader: WireReader): string {
  let text = '';
  eachField(reader, (key) => {
    if (key !== textKey) return false;
    text = reader.text();
    return true;
  });
  return text;
}

/** A message without fields is the time that is not set. */
function momentReader(format: (seconds: number, nanos: number) => string): Read {
  return (reader) => {
    let seconds = 0;
    let nanos = 0;
    let isSet = false;
    eachField(reader, (key) => {
      isSet = true;
      if (key === 8) seconds = reader.int64();
      else if (key === 2 * 8) nanos = reader.int32();
      else return false;
      return true;
    });
    if (!isSet) return null;
    if (!(seconds >= earliestSeconds && seconds <= latestSeconds)) throw new ProtobufError('a time is out of range');
    return format(seconds, nanos);
  };
}

/** The years 1 to 9999, beyond which RFC 3339 has no words. */
const earliestSeconds = -62_135_596_800;
const latestSeconds = 253_402_300_799;

function readJson(reader: WireReader): unknown {
  const text = readMessageText(reader);
  if (text === '') return null;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw new ProtobufError('an embedded object is no JSON');
  }
  if (scanJson(text).depth > maxJsonDepth) throw new ProtobufError('an embedded object is nested too deeply');
  return value;
}

const scalarReaders: Readonly<Record<ScalarType, Read>> = {
  string: (reader) => reader.text(),
  bytes: (reader) => reader.bytes().toString('base64'),
  bool: (reader) => reader.varint() !== 0,
  int32: (reader) => reader.int32(),
  int64: (reader) => reader.int64(),
  float64: (reader) => reader.double(),
  time: momentReader((seconds) => formatTime(seconds * 1000)),
  microTime: momentReader((seconds, nanos) => formatMicroTime(seconds * 1000 + Math.trunc(nanos / 1000) / 1000)),
  duration(reader) {
    let nanos: bigint | number = 0;
    eachField(reader, (key) => {
      if (key !== 8) return false;
      nanos = reader.bigInt64();
      return true;
    });
    return durationText(toNumber(nanos));
  },
  quantity: (reader) => readMessageText(reader) || '0',
  intOrString(reader) {
    let isText = false;
    let number = 0;
    let text = '';
    eachField(reader, (key) => {
      if (key === 8) isText = reader.varint() === 1;
      else if (key === 2 * 8) number = reader.int32();
      else if (key === 3 * 8 + wireTypes.bytes) text = reader.text();
      else return false;
      return true;
    });
    return isText ? text : number;
  },
  rawExtension: readJson,
  json: readJson,
};
