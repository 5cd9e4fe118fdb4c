/**
 * Protocol buffers for small, fixed sets of messages, each a table of its fields:
 *
 *     const point = messageCodec({ name: [1, 'string'], at: [2, { x: [1, 'int'], y: [2, 'int'] }], tags: [3, ['string']] } as const);
 *     point.decode(point.encode({ name: 'a', at: { x: 1 } }))   // { name: 'a', at: { x: 1, y: 0 }, tags: [] }
 *
 * Encoding leaves out what is empty, as proto3 does, except messages that are given; decoding fills every field but messages, and
 * passes over what the table does not name.
 */
import type { WireCodec } from '../grpc/index.ts';
import { type Field, MessageLayout, messageKind, scalarKinds, type ValueKind } from './message-layout.ts';

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
type Single = Exclude<keyof Values, 'bytesMap'> | Table;
/** A type in brackets is repeated. */
type Kind = Single | 'bytesMap' | readonly [Single];
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

/** Encoding throws `RangeError` for a number that its field cannot hold; decoding throws `ProtobufError`. */
export type MessageCodec<T extends Table> = WireCodec<Draft<T>, Message<T>>;
export type Sent<C> = C extends WireCodec<infer S, unknown> ? S : never;
export type Decoded<C> = C extends WireCodec<never, infer R> ? R : never;

export function messageCodec<T extends Table>(table: T): MessageCodec<T> {
  const { encode, decode } = layoutOf(table);
  return { encode, decode: decode as (bytes: Uint8Array) => Message<T> };
}

function layoutOf(table: Table): MessageLayout {
  return new MessageLayout(
    Object.entries(table).map(([name, [number, kind]]): Field => {
      if (kind === 'bytesMap') return { name, number, kind: scalarKinds.bytes, shape: 'map' };
      return isRepeated(kind)
        ? { name, number, kind: kindOf(kind[0]), shape: 'list' }
        : { name, number, kind: kindOf(kind), shape: 'single' };
    }),
  );
}

function isRepeated(kind: Kind): kind is readonly [Single] {
  return Array.isArray(kind);
}

function kindOf(kind: Single): ValueKind {
  if (typeof kind === 'string') return kind === 'id' ? scalarKinds.int64 : scalarKinds[kind];
  const layout = layoutOf(kind);
  return messageKind(() => layout);
}
