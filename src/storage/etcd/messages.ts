/**
 * The messages of the etcd v3 API that the store uses, as tables of field numbers, and their codec. Fields that are absent on the wire
 * read as empty; unknown ones are passed over. Numbers are safe integers, but for the ids of leases, which use all 64 bits.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

interface Scalars {
  readonly bytes: Uint8Array;
  readonly string: string;
  readonly bool: boolean;
  readonly int: number;
  readonly id: bigint;
}
type Kind = keyof Scalars | Table | readonly [Table];
export interface Table {
  readonly [field: string]: readonly [number: number, kind: Kind];
}

type ValueOf<K> = K extends keyof Scalars
  ? Scalars[K]
  : K extends readonly [infer T extends Table]
    ? readonly Message<T>[]
    : K extends Table
      ? Message<K> | undefined
      : never;
export type Message<T extends Table> = { readonly [F in keyof T]: ValueOf<T[F][1]> };
/** What is asked leaves out what is empty. */
export type Draft<T extends Table> = { readonly [F in keyof T]?: DraftOf<T[F][1]> | undefined };
type DraftOf<K> = K extends keyof Scalars
  ? Scalars[K]
  : K extends readonly [infer T extends Table]
    ? readonly Draft<T>[]
    : K extends Table
      ? Draft<K>
      : never;

const header = { revision: [3, 'int'] } as const satisfies Table;
export const keyValue = {
  key: [1, 'bytes'],
  createRevision: [2, 'int'],
  modRevision: [3, 'int'],
  version: [4, 'int'],
  value: [5, 'bytes'],
} as const satisfies Table;
export type KeyValue = Message<typeof keyValue>;

const rangeRequest = {
  key: [1, 'bytes'],
  rangeEnd: [2, 'bytes'],
  limit: [3, 'int'],
  revision: [4, 'int'],
  countOnly: [9, 'bool'],
} as const satisfies Table;
const rangeResponse = {
  header: [1, header],
  kvs: [2, [keyValue]],
  more: [3, 'bool'],
  count: [4, 'int'],
} as const satisfies Table;
const putRequest = {
  key: [1, 'bytes'],
  value: [2, 'bytes'],
  lease: [3, 'id'],
  prevKv: [4, 'bool'],
} as const satisfies Table;
const putResponse = { previous: [2, keyValue] } as const satisfies Table;
const deleteRequest = { key: [1, 'bytes'], prevKv: [3, 'bool'] } as const satisfies Table;
const deleteResponse = { deleted: [2, 'int'], previous: [3, [keyValue]] } as const satisfies Table;

const requestOp = {
  range: [1, rangeRequest],
  put: [2, putRequest],
  delete: [3, deleteRequest],
} as const satisfies Table;
export type RequestOp = Draft<typeof requestOp>;

export const compareTargets = { version: 0, modRevision: 2 } as const;
const compare = {
  result: [1, 'int'],
  target: [2, 'int'],
  key: [3, 'bytes'],
  version: [4, 'int'],
  modRevision: [6, 'int'],
} as const satisfies Table;

const responseOp = {
  range: [1, rangeResponse],
  put: [2, putResponse],
  delete: [3, deleteResponse],
} as const satisfies Table;

export const watchRequest = {
  create: [
    1,
    {
      key: [1, 'bytes'],
      rangeEnd: [2, 'bytes'],
      startRevision: [3, 'int'],
      progressNotify: [4, 'bool'],
      prevKv: [6, 'bool'],
      fragment: [8, 'bool'],
    },
  ],
} as const satisfies Table;

const event = { type: [1, 'int'], kv: [2, keyValue], previous: [3, keyValue] } as const satisfies Table;
export type Event = Message<typeof event>;
export const deleteEvent = 1;
export const watchResponse = {
  header: [1, header],
  created: [3, 'bool'],
  canceled: [4, 'bool'],
  compactRevision: [5, 'int'],
  cancelReason: [6, 'string'],
  fragment: [7, 'bool'],
  events: [11, [event]],
} as const satisfies Table;

export interface Method<Q extends Table, R extends Table> {
  readonly path: string;
  readonly request: Q;
  readonly response: R;
}

function method<Q extends Table, R extends Table>(path: string, request: Q, response: R): Method<Q, R> {
  return { path: `/etcdserverpb.${path}`, request, response };
}

export const methods = {
  range: method('KV/Range', rangeRequest, rangeResponse),
  txn: method(
    'KV/Txn',
    { compare: [1, [compare]], success: [2, [requestOp]], failure: [3, [requestOp]] },
    { header: [1, header], succeeded: [2, 'bool'], responses: [3, [responseOp]] },
  ),
  compact: method('KV/Compact', { revision: [1, 'int'] }, { header: [1, header] }),
  leaseGrant: method('Lease/LeaseGrant', { ttlSeconds: [1, 'int'] }, { id: [2, 'id'] }),
  status: method('Maintenance/Status', {}, { header: [1, header], version: [2, 'string'], dbSize: [3, 'int'] }),
} as const;
export const watchPath = '/etcdserverpb.Watch/Watch';

export function encode<T extends Table>(table: T, message: Draft<T>): Buffer {
  const writer = new BinaryWriter();
  writeFields(writer, table, message);
  return Buffer.from(writer.finish());
}

export function decode<T extends Table>(table: T, bytes: Uint8Array): Message<T> {
  const message: Record<string, unknown> = {};
  for (const [name, [, kind]] of Object.entries(table)) message[name] = emptyOf(kind);
  const reader = new BinaryReader(bytes);
  const fields = fieldsOf(table);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const field = fields.find((candidate) => candidate.number === number);
    if (!field) reader.skip(wireType, number);
    else if (isRepeated(field.kind)) (message[field.name] as unknown[]).push(decode(field.kind[0], reader.bytes()));
    else message[field.name] = readValue(reader, field.kind);
  }
  return message as Message<T>;
}

function fieldsOf(table: Table) {
  return Object.entries(table).map(([name, [number, kind]]) => ({ name, number, kind }));
}

function isRepeated(kind: Kind): kind is readonly [Table] {
  return Array.isArray(kind);
}

function emptyOf(kind: Kind): unknown {
  if (isRepeated(kind)) return [];
  if (typeof kind !== 'string') return undefined;
  return { bytes: new Uint8Array(), string: '', bool: false, int: 0, id: 0n }[kind];
}

function readValue(reader: BinaryReader, kind: Exclude<Kind, readonly [Table]>): unknown {
  if (typeof kind !== 'string') return decode(kind, reader.bytes());
  switch (kind) {
    case 'bytes':
      return reader.bytes();
    case 'string':
      return reader.string();
    case 'bool':
      return reader.bool();
    case 'int':
      return Number(reader.int64());
    case 'id':
      return BigInt(reader.int64());
  }
}

function writeFields(writer: BinaryWriter, table: Table, message: Readonly<Record<string, unknown>>): void {
  for (const { name, number, kind } of fieldsOf(table)) {
    const value = message[name];
    if (value === undefined) continue;
    const items = isRepeated(kind) ? (value as readonly unknown[]) : [value];
    const itemKind = isRepeated(kind) ? kind[0] : kind;
    for (const item of items) writeValue(writer, { number, kind: itemKind }, item);
  }
}

function writeValue(
  writer: BinaryWriter,
  field: { number: number; kind: keyof Scalars | Table },
  value: unknown,
): void {
  const { number, kind } = field;
  if (typeof kind !== 'string') {
    writer.tag(number, WireType.LengthDelimited).fork();
    writeFields(writer, kind, value as Readonly<Record<string, unknown>>);
    writer.join();
  } else if (kind === 'bytes') writer.tag(number, WireType.LengthDelimited).bytes(value as Uint8Array);
  else if (kind === 'string') writer.tag(number, WireType.LengthDelimited).string(value as string);
  else if (kind === 'bool') writer.tag(number, WireType.Varint).bool(value as boolean);
  else writer.tag(number, WireType.Varint).int64(value as number | bigint);
}
