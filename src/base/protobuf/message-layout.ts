/**
 * A protobuf message as the list of its fields, by which it is written and read: what tables written by hand (`message-codec.ts`) and
 * generated ones (the kubelet's) come down to. Writing leaves out what is empty, as proto3 does, except messages that are given; reading
 * fills every field but messages, and passes over fields that the layout does not have or has otherwise. The API's own kinds are not
 * written this way: their codec is compiled for speed from the kind table and shares the reader and the writer of bytes.
 */
import { WireReader } from './wire-reader.ts';
import { WireWriter, wireTypes } from './wire-writer.ts';

export type Values = Readonly<Record<string, unknown>>;

export interface Field {
  readonly number: number;
  readonly name: string;
  /** Of a map: what its values are; its keys are text. */
  readonly kind: ValueKind;
  readonly shape: 'single' | 'list' | 'map';
}

/** How values of one kind are written, without the field's key, and read. */
export interface ValueKind {
  readonly wireType: number;
  /** What is read where nothing was written. */
  readonly empty: unknown;
  isEmpty(value: unknown): boolean;
  write(writer: WireWriter, value: unknown): void;
  read(reader: WireReader): unknown;
}

/** Most messages need no more. */
const startingCapacity = 512;

export class MessageLayout {
  readonly #fields: readonly Field[];
  readonly #byNumber: ReadonlyMap<number, Field>;
  /** Kept, for what is written once is mostly written again. */
  #writer: WireWriter | undefined;

  constructor(fields: readonly Field[]) {
    this.#fields = fields.map((field) => (field.shape === 'map' ? { ...field, kind: mapEntry(field.kind) } : field));
    this.#byNumber = new Map(this.#fields.map((field) => [field.number, field]));
  }

  /** Throws `RangeError` for a number that its field cannot hold. */
  readonly encode = (message: Values): Buffer => {
    this.#writer ??= new WireWriter(startingCapacity);
    try {
      this.write(this.#writer, message);
    } catch (error) {
      this.#writer.reset();
      throw error;
    }
    return this.#writer.finish();
  };

  /** Throws `ProtobufError`. */
  readonly decode = (bytes: Uint8Array): Record<string, unknown> => this.read(new WireReader(bytes));

  /** Its last field first, as the writer wants it. */
  write(writer: WireWriter, message: Values): void {
    for (let i = this.#fields.length - 1; i >= 0; i--) {
      const field = this.#fields[i]!;
      const value = message[field.name];
      if (value !== undefined && value !== null) writeField(writer, field, value);
    }
  }

  /** Up to the reader's end. */
  read(reader: WireReader): Record<string, unknown> {
    const message: Record<string, unknown> = {};
    for (const { name, kind, shape } of this.#fields)
      message[name] = shape === 'list' ? [] : shape === 'map' ? {} : kind.empty;
    while (!reader.done) {
      const key = reader.varint();
      const wireType = key % 8;
      const field = this.#byNumber.get(Math.floor(key / 8));
      if (field?.kind.wireType === wireType) readField(reader, field, message);
      else if (field?.shape === 'list' && wireType === wireTypes.bytes) readPacked(reader, field, message);
      else reader.skip(wireType);
    }
    return message;
  }
}

function writeField(writer: WireWriter, { number, kind, shape }: Field, value: unknown): void {
  if (shape === 'single') {
    if (!kind.isEmpty(value)) writeValue(writer, number, kind, value);
    return;
  }
  const values = shape === 'map' ? Object.entries(value as Values) : (value as readonly unknown[]);
  if (kind.wireType === wireTypes.bytes) {
    for (let i = values.length - 1; i >= 0; i--) writeValue(writer, number, kind, values[i]);
  } else if (values.length > 0) {
    const before = writer.written;
    for (let i = values.length - 1; i >= 0; i--) kind.write(writer, values[i]);
    writer.varint(writer.written - before);
    writer.varint(keyOf(number, wireTypes.bytes));
  }
}

function writeValue(writer: WireWriter, number: number, kind: ValueKind, value: unknown): void {
  kind.write(writer, value);
  writer.varint(keyOf(number, kind.wireType));
}

function keyOf(number: number, wireType: number): number {
  return number * 8 + wireType;
}

function readField(reader: WireReader, { name, kind, shape }: Field, message: Record<string, unknown>): void {
  const value = kind.read(reader);
  if (shape === 'single') message[name] = value;
  else if (shape === 'list') (message[name] as unknown[]).push(value);
  else {
    const [key, item] = value as readonly [string, unknown];
    // Whatever the key is, `__proto__` too.
    Object.defineProperty(message[name], key, { value: item, enumerable: true, configurable: true, writable: true });
  }
}

function readPacked(reader: WireReader, { name, kind }: Field, message: Record<string, unknown>): void {
  const outer = reader.enter();
  while (!reader.done) (message[name] as unknown[]).push(kind.read(reader));
  reader.end = outer;
}

/** `layout` is asked for when the first such message is met: types may refer to each other. */
export function messageKind(layout: () => MessageLayout): ValueKind {
  return {
    wireType: wireTypes.bytes,
    empty: undefined,
    isEmpty: () => false,
    write(writer, value) {
      const before = writer.written;
      layout().write(writer, value as Values);
      writer.varint(writer.written - before);
    },
    read(reader) {
      const outer = reader.enter();
      const message = layout().read(reader);
      reader.end = outer;
      return message;
    },
  };
}

/** An enumeration's values stand at their numbers; one that is not known is read as the first. */
export function enumKind(name: string, values: readonly string[]): ValueKind {
  const numberOf = (value: unknown) => {
    const number = values.indexOf(value as string);
    if (number < 0) throw new TypeError(`${value} is no ${name}`);
    return number;
  };
  return {
    wireType: wireTypes.varint,
    empty: values[0],
    isEmpty: (value) => numberOf(value) === 0,
    write: (writer, value) => writer.varint(numberOf(value)),
    read: (reader) => values[reader.int32()] ?? values[0],
  };
}

/** Entries of a map as pairs: messages of a key and a value, both always written. */
function mapEntry(kind: ValueKind): ValueKind {
  const always = (of: ValueKind): ValueKind => ({ ...of, isEmpty: () => false });
  const entry = new MessageLayout([
    { number: 1, name: 'key', kind: always(scalarKinds.string), shape: 'single' },
    { number: 2, name: 'value', kind: always(kind), shape: 'single' },
  ]);
  const { write, read, ...message } = messageKind(() => entry);
  return {
    ...message,
    write(writer, pair) {
      const [key, value] = pair as readonly [string, unknown];
      write(writer, { key, value });
    },
    read(reader) {
      const { key, value } = read(reader) as { readonly key: string; readonly value: unknown };
      return [key, value];
    },
  };
}

const isFalsy = (value: unknown) => !value;
/** Not `NaN`, which nobody may mean. */
const isZero = (value: unknown) => value === 0 || value === 0n;

/** By protobuf's names. `int` is any signed integer or enumeration that a number holds exactly. */
export const scalarKinds = {
  string: {
    wireType: wireTypes.bytes,
    empty: '',
    isEmpty: isFalsy,
    write: (writer, value) => writer.text(value as string),
    read: (reader) => reader.text(),
  },
  bytes: {
    wireType: wireTypes.bytes,
    empty: new Uint8Array(),
    isEmpty: (value) => (value as Uint8Array).length === 0,
    write(writer, value) {
      writer.raw(value as Uint8Array);
      writer.varint((value as Uint8Array).length);
    },
    read: (reader) => reader.bytes(),
  },
  bool: {
    wireType: wireTypes.varint,
    empty: false,
    isEmpty: isFalsy,
    write: (writer, value) => writer.varint(value ? 1 : 0),
    read: (reader) => reader.varint() !== 0,
  },
  int: {
    wireType: wireTypes.varint,
    empty: 0,
    isEmpty: isZero,
    write: (writer, value) => writer.integer(within(value as number, -safe, safe)),
    read: (reader) => reader.int64(),
  },
  int32: {
    wireType: wireTypes.varint,
    empty: 0,
    isEmpty: isZero,
    write: (writer, value) => writer.integer(within(value as number, -(2 ** 31), 2 ** 31 - 1)),
    read: (reader) => reader.int32(),
  },
  uint32: {
    wireType: wireTypes.varint,
    empty: 0,
    isEmpty: isZero,
    write: (writer, value) => writer.varint(within(value as number, 0, 2 ** 32 - 1)),
    read: (reader) => reader.int32() >>> 0,
  },
  int64: {
    wireType: wireTypes.varint,
    empty: 0n,
    isEmpty: isZero,
    write: (writer, value) => writer.bigInteger(withinBig(value as number | bigint, -(1n << 63n), (1n << 63n) - 1n)),
    read: (reader) => BigInt(reader.bigInt64()),
  },
  uint64: {
    wireType: wireTypes.varint,
    empty: 0n,
    isEmpty: isZero,
    write: (writer, value) =>
      writer.bigInteger(BigInt.asIntN(64, withinBig(value as number | bigint, 0n, (1n << 64n) - 1n))),
    read: (reader) => BigInt.asUintN(64, BigInt(reader.bigInt64())),
  },
} as const satisfies Readonly<Record<string, ValueKind>>;

const safe = Number.MAX_SAFE_INTEGER;

function within(value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${value} is no integer from ${least} to ${most}`);
}

function withinBig(value: number | bigint, least: bigint, most: bigint): bigint {
  const big = BigInt(value);
  if (big >= least && big <= most) return big;
  throw new RangeError(`${value} is no integer from ${least} to ${most}`);
}
