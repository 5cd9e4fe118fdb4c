/**
 * Kubernetes' protobuf, read: the four bytes `k8s\0`, an envelope that says what the object is, and the object by the tags of the kind
 * tables. The result is what the same object would be in JSON; the codec then checks and canonicalizes it like any other. Fields
 * the tables do not know are passed over, as protobuf has it. Answers are never written in this form.
 */

import { maxJsonDepth, scanJson, setOwn } from '../../apimachinery/json-text.ts';
import type { FieldRow, ScalarType, SchemaRegistry, TypeRow } from '../../apimachinery/schema.ts';
import { formatDuration, formatMicroTime, formatTime } from '../../apimachinery/time.ts';

/** The bytes are no protobuf, or not that of the type. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
}

export interface ProtobufObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Uint8Array;
}

const magic = Buffer.from('k8s\0');
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Opens the envelope. Throws `ProtobufError`. */
export function openEnvelope(bytes: Uint8Array): ProtobufObject {
  if (!magic.equals(bytes.subarray(0, magic.length))) {
    throw new ProtobufError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  }
  let apiVersion = '';
  let kind = '';
  let raw: Uint8Array = new Uint8Array();
  for (const field of fieldsOf(bytes.subarray(magic.length))) {
    if (field.tag === 2) raw = field.bytes;
    if (field.tag !== 1) continue;
    for (const part of fieldsOf(field.bytes)) {
      if (part.tag === 1) apiVersion = textOf(part.bytes);
      if (part.tag === 2) kind = textOf(part.bytes);
    }
  }
  return { apiVersion, kind, raw };
}

/** A message of the type as plain JSON. Throws `ProtobufError`. */
export function readMessage(registry: SchemaRegistry, typeId: string, bytes: Uint8Array): unknown {
  return readStruct({ registry, depth: 0 }, typeId, bytes);
}

interface Walk {
  readonly registry: SchemaRegistry;
  readonly depth: number;
}

/** Types may contain themselves, and a message must not be able to exhaust the stack. */
const deepestNesting = 200;

function readStruct({ registry, depth }: Walk, typeId: string, bytes: Uint8Array): unknown {
  if (depth > deepestNesting) throw new ProtobufError('the message is nested too deeply');
  const walk = { registry, depth: depth + 1 };
  const row = registry.type(typeId).row;
  const value: Record<string, unknown> = {};
  const rows = new Map(row.fields.flatMap((field) => (field.tag === undefined ? [] : [[field.tag, field] as const])));
  for (const field of fieldsOf(bytes)) {
    const known = rows.get(field.tag);
    if (known) addField(walk, value, known, field);
  }
  return asJson(row, value);
}

function asJson(row: TypeRow, value: Record<string, unknown>): unknown {
  if (row.jsonList) return value.items ?? [];
  if (!row.jsonOneOf) return value;
  const struct = row.jsonOneOf.find((name) => typeof value[name] === 'object' && value[name] !== null);
  return value[struct ?? row.jsonOneOf.find((name) => value[name] !== undefined) ?? ''];
}

function addField(walk: Walk, value: Record<string, unknown>, row: FieldRow, field: WireField): void {
  if (row.inline) {
    Object.assign(value, readStruct(walk, row.type.slice('ref:'.length), field.bytes));
  } else if (row.map) {
    const [key, entry] = readEntry(walk, row, field.bytes);
    value[row.name] ??= {};
    setOwn(value[row.name] as Record<string, unknown>, key, entry);
  } else if (row.list) {
    value[row.name] ??= [];
    (value[row.name] as unknown[]).push(...readElements(walk, row, field));
  } else {
    value[row.name] = readValue(walk, row, field);
  }
}

function readEntry(walk: Walk, row: FieldRow, bytes: Uint8Array): [string, unknown] {
  let key = '';
  let value: unknown;
  for (const field of fieldsOf(bytes)) {
    if (field.tag === 1) key = textOf(field.bytes);
    if (field.tag === 2) value = readValue(walk, row, field);
  }
  return [key, value ?? (row.type.startsWith('ref:') ? {} : (emptyScalars[row.type] ?? ''))];
}

const emptyScalars: Readonly<Record<string, unknown>> = { quantity: '0' };

/** Repeated numbers may come packed into one field. */
function readElements(walk: Walk, row: FieldRow, field: WireField): unknown[] {
  const isNumber = row.type === 'int32' || row.type === 'int64' || row.type === 'bool';
  if (!isNumber || field.wire !== 2) return [readValue(walk, row, field)];
  const reader = new WireReader(field.bytes);
  const elements: unknown[] = [];
  while (!reader.done) elements.push(scalarOf(row.type as ScalarType, { ...field, wire: 0, number: reader.varint() }));
  return elements;
}

function readValue(walk: Walk, row: FieldRow, field: WireField): unknown {
  return row.type.startsWith('ref:')
    ? readStruct(walk, row.type.slice('ref:'.length), field.bytes)
    : scalarOf(row.type as ScalarType, field);
}

function scalarOf(type: ScalarType, field: WireField): unknown {
  switch (type) {
    case 'string':
      return textOf(field.bytes);
    case 'bytes':
      return Buffer.from(field.bytes).toString('base64');
    case 'bool':
      return field.number !== 0n;
    case 'int32':
      return Number(BigInt.asIntN(32, field.number));
    case 'int64':
      return Number(BigInt.asIntN(64, field.number));
    case 'float64':
      return field.double;
    case 'time':
      return momentOf(field.bytes, (ms) => formatTime(ms));
    case 'microTime':
      return momentOf(field.bytes, (ms) => formatMicroTime(ms));
    case 'duration':
      return formatDuration(Number(numberAt(field.bytes, 1)) / 1e6);
    case 'quantity':
      return textAt(field.bytes, 1) || '0';
    case 'intOrString':
      return numberAt(field.bytes, 1) === 1n
        ? textAt(field.bytes, 3)
        : Number(BigInt.asIntN(32, numberAt(field.bytes, 2)));
    case 'rawExtension':
    case 'json':
      return embeddedJson(field.bytes);
  }
}

/** A message without fields is the time that is not set. */
function momentOf(bytes: Uint8Array, format: (ms: number) => string): string | null {
  const seconds = BigInt.asIntN(64, numberAt(bytes, 1));
  const nanos = BigInt.asIntN(32, numberAt(bytes, 2));
  if (bytes.length === 0) return null;
  return format(Number(seconds) * 1000 + Number(nanos) / 1e6);
}

function embeddedJson(bytes: Uint8Array): unknown {
  const text = textAt(bytes, 1);
  if (text === '') return null;
  try {
    const value: unknown = JSON.parse(text);
    if (scanJson(text).depth <= maxJsonDepth) return value;
  } catch {
    throw new ProtobufError('an embedded object is no JSON');
  }
  throw new ProtobufError('an embedded object is nested too deeply');
}

function numberAt(bytes: Uint8Array, tag: number): bigint {
  let number = 0n;
  for (const field of fieldsOf(bytes)) if (field.tag === tag) number = field.number;
  return number;
}

function textAt(bytes: Uint8Array, tag: number): string {
  let text = '';
  for (const field of fieldsOf(bytes)) if (field.tag === tag) text = textOf(field.bytes);
  return text;
}

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new ProtobufError('a text is no valid UTF-8');
  }
}

/** One field as it lies on the wire; of the three values the one that its wire type has. */
interface WireField {
  readonly tag: number;
  readonly wire: number;
  readonly number: bigint;
  readonly bytes: Uint8Array;
  readonly double: number;
}

const noBytes = new Uint8Array();

function* fieldsOf(bytes: Uint8Array): Generator<WireField, void> {
  const reader = new WireReader(bytes);
  while (!reader.done) {
    const head = Number(reader.varint());
    const tag = head >>> 3;
    const wire = head & 7;
    if (wire === 0) yield { tag, wire, number: reader.varint(), bytes: noBytes, double: 0 };
    else if (wire === 1) yield { tag, wire, number: 0n, bytes: noBytes, double: reader.double() };
    else if (wire === 2) yield { tag, wire, number: 0n, bytes: reader.take(Number(reader.varint())), double: 0 };
    else if (wire === 5) yield { tag, wire, number: 0n, bytes: reader.take(4), double: 0 };
    else throw new ProtobufError(`proto: illegal wireType ${wire}`);
  }
}

class WireReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): bigint {
    let result = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new ProtobufError('unexpected EOF');
      result |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return result;
    }
    throw new ProtobufError('proto: integer overflow');
  }

  take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new ProtobufError('unexpected EOF');
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }

  double(): number {
    const part = this.take(8);
    return new DataView(part.buffer, part.byteOffset, 8).getFloat64(0, true);
  }
}
