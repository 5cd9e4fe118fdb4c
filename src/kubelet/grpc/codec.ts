/**
 * Protocol buffers of the interfaces that a kubelet speaks, driven by generated wire tables. Encoding leaves out what equals the
 * default; decoding fills every scalar, list and map, and leaves absent messages undefined. Fields that the table does not know
 * are skipped: a newer peer may send them.
 */
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import type { GrpcMethod as Method, WireCodec } from '../../base/grpc/index.ts';

/** A field on the wire: tag, name, kind, referenced type, 1 if repeated. */
export type WireField = readonly [tag: number, name: string, kind: string, reference: string, repeated: 0 | 1];

/** `M`: message types by name. An enum's values stand at their numbers. */
export interface WireTable<M> {
  readonly messages: Readonly<Record<keyof M, readonly WireField[]>>;
  readonly enums: Readonly<Record<string, readonly string[]>>;
}

/** The same, to who has only names. */
type Table = WireTable<Readonly<Record<string, unknown>>>;

/** `Methods`: types of request and response by method. */
export interface GrpcService<Methods> {
  /** With its package: `csi.v1.Node`. */
  readonly name: string;
  readonly wire: Table;
  /** Names of messages, and whether many of them answer. */
  readonly methods: Readonly<
    Record<keyof Methods, { readonly request: string; readonly response: string; readonly streams?: true }>
  >;
}

/** A method as a connection calls it, or a server answers it. */
export type GrpcMethod<Q, A> = Method<WireCodec<Outgoing<Q>, Q>, WireCodec<Outgoing<A>, A>>;

export type RequestOf<Methods, M extends keyof Methods> = Methods[M] extends { request: infer Q } ? Q : never;
export type ResponseOf<Methods, M extends keyof Methods> = Methods[M] extends { response: infer A } ? A : never;

/** `name`: of the service, where it goes by another one than in the facts. */
export function grpcMethod<Methods, M extends keyof Methods & string>(
  service: GrpcService<Methods>,
  method: M,
  name = service.name,
): GrpcMethod<RequestOf<Methods, M>, ResponseOf<Methods, M>> {
  const { request, response } = service.methods[method];
  return {
    path: `/${name}/${method}`,
    request: messageCodec(service.wire, request) as GrpcMethod<RequestOf<Methods, M>, never>['request'],
    response: messageCodec(service.wire, response) as GrpcMethod<never, ResponseOf<Methods, M>>['response'],
  };
}

function messageCodec(wire: Table, name: string): WireCodec<never, unknown> {
  return {
    encode: (message) => encodeMessage(wire, name, message),
    decode: (bytes) => decodeMessage(wire, name, bytes),
  };
}

/** A message to be sent: every field may be left out, and 64-bit numbers may be plain numbers. */
export type Outgoing<T> = T extends bigint
  ? bigint | number
  : T extends Uint8Array | string | number | boolean
    ? T
    : T extends readonly (infer E)[]
      ? readonly Outgoing<E>[]
      : T extends Readonly<Record<string, string>>
        ? T
        : { readonly [K in keyof T]?: Outgoing<T[K]> | undefined };

type Values = Readonly<Record<string, unknown>>;

export function encodeMessage<M, N extends keyof M & string>(
  table: WireTable<M>,
  name: N,
  message: Outgoing<M[N]>,
): Buffer {
  const writer = new BinaryWriter();
  writeMessage(table, writer, name, message as Values);
  return Buffer.from(writer.finish());
}

export function decodeMessage<M, N extends keyof M & string>(table: WireTable<M>, name: N, bytes: Uint8Array): M[N] {
  const reader = new BinaryReader(bytes);
  return readMessage(table, reader, name, reader.len) as M[N];
}

function writeMessage(table: Table, writer: BinaryWriter, name: string, message: Values): void {
  for (const field of table.messages[name] ?? []) {
    const value = message[field[1]];
    if (value === undefined || value === null) continue;
    if (field[2] === 'map') writeMap(writer, field[0], value as Record<string, string>);
    else if (field[4]) writeList(table, writer, field, value as readonly unknown[]);
    else if (field[2] === 'message' || !isDefault(table, field, value)) writeValue(table, writer, field, value);
  }
}

function isDefault(table: Table, field: WireField, value: unknown): boolean {
  if (field[2] === 'enum') return enumNumber(table, field[3], value as string) === 0;
  if (field[2] === 'bytes') return (value as Uint8Array).length === 0;
  return value === '' || value === 0 || value === 0n || value === false;
}

function enumNumber(table: Table, name: string, value: string): number {
  const number = table.enums[name]?.indexOf(value) ?? -1;
  if (number < 0) throw new TypeError(`${value} is no ${name}`);
  return number;
}

function writeMap(writer: BinaryWriter, tag: number, map: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(map)) {
    writer.tag(tag, 2).fork();
    writer.tag(1, 2).string(key).tag(2, 2).string(value);
    writer.join();
  }
}

const packable = new Set(['int64', 'uint64', 'int32', 'uint32', 'bool', 'enum', 'double']);

function writeList(table: Table, writer: BinaryWriter, field: WireField, values: readonly unknown[]): void {
  if (values.length === 0) return;
  if (!packable.has(field[2])) {
    for (const value of values) writeValue(table, writer, field, value);
    return;
  }
  writer.tag(field[0], 2).fork();
  for (const value of values) writeScalar(table, writer, field, value);
  writer.join();
}

function writeValue(table: Table, writer: BinaryWriter, field: WireField, value: unknown): void {
  switch (field[2]) {
    case 'message':
      writer.tag(field[0], 2).fork();
      writeMessage(table, writer, field[3], value as Values);
      writer.join();
      return;
    case 'string':
      writer.tag(field[0], 2).string(value as string);
      return;
    case 'bytes':
      writer.tag(field[0], 2).bytes(value as Uint8Array);
      return;
    default:
      writer.tag(field[0], field[2] === 'double' ? 1 : 0);
      writeScalar(table, writer, field, value);
  }
}

function writeScalar(table: Table, writer: BinaryWriter, field: WireField, value: unknown): void {
  switch (field[2]) {
    case 'int64':
      writer.int64(BigInt(value as number | bigint));
      return;
    case 'uint64':
      writer.uint64(BigInt(value as number | bigint));
      return;
    case 'int32':
      writer.int32(value as number);
      return;
    case 'uint32':
      writer.uint32(value as number);
      return;
    case 'bool':
      writer.bool(value as boolean);
      return;
    case 'double':
      writer.double(value as number);
      return;
    case 'enum':
      writer.int32(enumNumber(table, field[3], value as string));
      return;
    default:
      throw new TypeError(`no encoding for ${field[2]}`);
  }
}

function defaultOf(table: Table, field: WireField): unknown {
  if (field[2] === 'map') return {};
  if (field[4]) return [];
  switch (field[2]) {
    case 'string':
      return '';
    case 'bytes':
      return new Uint8Array();
    case 'bool':
      return false;
    case 'int64':
    case 'uint64':
      return 0n;
    case 'enum':
      return table.enums[field[3]]![0];
    case 'message':
      return undefined;
    default:
      return 0;
  }
}

function readMessage(table: Table, reader: BinaryReader, name: string, end: number): Record<string, unknown> {
  const fields = table.messages[name] ?? [];
  const message: Record<string, unknown> = {};
  for (const field of fields) message[field[1]] = defaultOf(table, field);
  while (reader.pos < end) {
    const [tag, wireType] = reader.tag();
    const field = fields.find((candidate) => candidate[0] === tag);
    if (!field) reader.skip(wireType, tag);
    else if (field[2] === 'map') readMapEntry(reader, message[field[1]] as Record<string, string>);
    else if (!field[4]) message[field[1]] = readValue(table, reader, field);
    else readListPart(table, reader, field, wireType, message[field[1]] as unknown[]);
  }
  return message;
}

function readListPart(table: Table, reader: BinaryReader, field: WireField, wireType: number, list: unknown[]): void {
  if (wireType !== 2 || !packable.has(field[2])) {
    list.push(readValue(table, reader, field));
    return;
  }
  const length = reader.uint32();
  const end = reader.pos + length;
  while (reader.pos < end) list.push(readValue(table, reader, field));
}

function readMapEntry(reader: BinaryReader, map: Record<string, string>): void {
  const length = reader.uint32();
  const end = reader.pos + length;
  let key = '';
  let value = '';
  while (reader.pos < end) {
    const [tag, wireType] = reader.tag();
    if (tag === 1) key = reader.string();
    else if (tag === 2) value = reader.string();
    else reader.skip(wireType, tag);
  }
  Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
}

function readValue(table: Table, reader: BinaryReader, field: WireField): unknown {
  switch (field[2]) {
    case 'message': {
      const length = reader.uint32();
      return readMessage(table, reader, field[3], reader.pos + length);
    }
    case 'string':
      return reader.string();
    case 'bytes':
      return reader.bytes();
    case 'int64':
      return BigInt(reader.int64());
    case 'uint64':
      return BigInt(reader.uint64());
    case 'int32':
      return reader.int32();
    case 'uint32':
      return reader.uint32();
    case 'bool':
      return reader.bool();
    case 'double':
      return reader.double();
    case 'enum':
      return table.enums[field[3]]?.[reader.int32()] ?? table.enums[field[3]]![0];
    default:
      throw new TypeError(`no decoding for ${field[2]}`);
  }
}
