/**
 * The fast decoder: brings a parsed value into the form all code works with, along the kind tables.
 *
 * Canonical form: fields in table order, unknown ones gone, map keys sorted, absent and zero made one (an empty string, 0, false,
 * an empty list, map or struct is left out where upstream's JSON leaves it out), and what the API requires always there (a required
 * list is at least `[]`). Times and quantities are in their one spelling, so equal objects have equal JSON.
 *
 * It reports nothing: whatever does not fit makes it give up (`Misfit`), and the exact decoder finds the words. It counts the keys it
 * visits, so that its caller can tell whether the text had others.
 */
import { FieldWalk } from './field-walk.ts';
import { setOwn } from './json-text.ts';
import { canonicalQuantity } from './quantity.ts';
import type { FieldSchema, SchemaRegistry, TypeSchema } from './schema.ts';
import { canonicalMicroTime, canonicalTime, isCanonicalTime } from './time.ts';

/** Thrown when a value does not fit the table; carries no words on purpose. */
export class Misfit extends Error {
  override readonly name = 'Misfit';
}

export interface TableResult {
  readonly value: Record<string, unknown>;
  /** Keys met on the way, those inside free-form values included. */
  readonly visitedKeys: number;
}

type Read = (value: unknown, state: ReadState) => unknown;

interface ReadState {
  visitedKeys: number;
  /** Values without a table are copied, since somebody else may hold them. */
  readonly copiesRaw: boolean;
}

/** Decoders compiled per type on first use; one instance serves one registry. */
export class TableDecoder {
  readonly #registry: SchemaRegistry;
  readonly #structs = new Map<string, Read>();

  constructor(registry: SchemaRegistry) {
    this.#registry = registry;
  }

  /** Throws `Misfit`. `copiesRaw` when the input is not the decoder's to keep. */
  read(value: unknown, typeId: string, options: { readonly copiesRaw?: boolean } = {}): TableResult {
    const state: ReadState = { visitedKeys: 0, copiesRaw: options.copiesRaw === true };
    const result = this.#struct(this.#registry.type(typeId))(value, state) as Record<string, unknown>;
    return { value: result, visitedKeys: state.visitedKeys };
  }

  #struct(type: TypeSchema): Read {
    const known = this.#structs.get(type.id);
    if (known) return known;
    // Types may contain themselves: the entry must exist before its fields are compiled.
    let compiled: Read | undefined;
    const lazy: Read = (value, state) => {
      compiled ??= this.#compile(type);
      return compiled(value, state);
    };
    this.#structs.set(type.id, lazy);
    return lazy;
  }

  #compile(type: TypeSchema): Read {
    if (type.jsonList) return listOf(scalarReaders.string!);
    if (type.jsonOneOf) return this.#oneOf(type);
    const fields = new FieldWalk(
      type.fields.map((field) => ({
        name: field.name,
        read: this.#field(type, field),
        zero: isFilled(type, field) ? this.#zero(field) : undefined,
      })),
      ({ zero }) => zero !== undefined,
    );
    return (value, state) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Misfit();
      const result: Record<string, unknown> = {};
      for (const { field } of fields.of(value)) {
        const { name, read, zero } = field;
        const given = (value as Record<string, unknown>)[name];
        if (given !== undefined) state.visitedKeys++;
        const decoded = given === undefined || given === null ? undefined : read(given, state);
        if (decoded !== undefined) result[name] = decoded;
        else if (zero !== undefined) {
          const filled = zero();
          if (filled !== undefined) result[name] = filled;
        }
      }
      return result;
    };
  }

  /** Reads a field's value; gives undefined for a zero value that is the same as none. */
  #field(type: TypeSchema, field: FieldSchema): Read {
    const element = this.#element(field);
    const read = field.map
      ? mapOf(element, field.scalar === 'time')
      : field.list
        ? listOf(element, () => this.#elementZero(field))
        : element;
    if (field.pointer || isFilled(type, field)) return read;
    if (field.list || field.map || field.ref) return keepUnlessEmpty(read);
    if (field.scalar === 'string' || field.scalar === 'bytes') return keepUnless(read, '');
    if (field.scalar === 'bool') return keepUnless(read, false);
    if (field.scalar === 'int32' || field.scalar === 'int64') return keepUnless(read, 0);
    return read;
  }

  #element(field: FieldSchema): Read {
    return field.ref ? this.#struct(field.ref) : scalarReaders[field.scalar!]!;
  }

  /** What a required field holds when the input does not have it. A pointer, a time or free-form data has no such value. */
  #zero(field: FieldSchema): (() => unknown) | undefined {
    if (field.pointer) return undefined;
    if (field.list) return () => [];
    if (field.map) return () => ({});
    return () => this.#elementZero(field);
  }

  #elementZero(field: FieldSchema): unknown {
    if (field.ref) {
      if (field.ref.jsonOneOf) return undefined;
      return this.#struct(field.ref)(field.ref.jsonList ? [] : {}, { visitedKeys: 0, copiesRaw: false });
    }
    return scalarZeros[field.scalar!];
  }

  #oneOf(type: TypeSchema): Read {
    const members = type.jsonOneOf!.map((name) => type.byName.get(name)!);
    const bool = members.some((member) => member.scalar === 'bool');
    const list = members.find((member) => member.list);
    const struct = members.find((member) => member.ref && !member.list);
    const readList = list ? listOf(this.#element(list)) : undefined;
    const readStruct = struct ? this.#element(struct) : undefined;
    return (value, state) => {
      if (typeof value === 'boolean' && bool) return value;
      const read = Array.isArray(value) ? readList : typeof value === 'object' ? readStruct : undefined;
      if (!read) throw new Misfit();
      return read(value, state);
    };
  }
}

/**
 * Whether a decoded value always has the field: what is not optional, and beyond that `metadata` of kinds and a `spec` that is no
 * pointer, which all code reads. `scripts/api-types.ts` declares types by the same rule.
 */
function isFilled(type: TypeSchema, field: FieldSchema): boolean {
  if (!field.optional) return true;
  if (field.pointer || !field.ref || field.list || field.map) return false;
  return field.name === 'spec' || (field.name === 'metadata' && type.row.fields[0]?.type === 'ref:meta/v1.TypeMeta');
}

/** Number of keys in a value and all it holds. */
export function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item);
    return count;
  }
  for (const key of Object.keys(value)) count += 1 + countKeys((value as Record<string, unknown>)[key]);
  return count;
}

const scalarZeros: Readonly<Record<string, unknown>> = {
  string: '',
  bytes: '',
  bool: false,
  int32: 0,
  int64: 0,
  float64: 0,
  intOrString: 0,
  quantity: '0',
  duration: '0s',
};

const scalarReaders: Readonly<Record<string, Read>> = {
  string: (value) => (typeof value === 'string' ? value : misfit()),
  bool: (value) => (typeof value === 'boolean' ? value : misfit()),
  // Adding 0 turns -0 into 0.
  int32: (value) => (typeof value === 'number' && (value | 0) === value ? value + 0 : misfit()),
  int64: (value) =>
    Number.isInteger(value) && Math.abs(value as number) <= 2 ** 63 ? (value as number) + 0 : misfit(),
  float64: (value) => (Number.isFinite(value) ? value : misfit()),
  bytes: (value) => (typeof value === 'string' && isCanonicalBase64(value) ? value : misfit()),
  time: (value) =>
    typeof value === 'string'
      ? isCanonicalTime(value)
        ? nonZeroTime(value)
        : attempt(canonicalTime, value)
      : misfit(),
  microTime: (value) => (typeof value === 'string' ? nonZeroTime(attempt(canonicalMicroTime, value)) : misfit()),
  duration: (value) => (typeof value === 'string' ? value : misfit()),
  quantity: (value) =>
    typeof value === 'string' || typeof value === 'number' ? attempt(canonicalQuantity, String(value)) : misfit(),
  intOrString: (value) =>
    typeof value === 'string' || (typeof value === 'number' && (value | 0) === value) ? value : misfit(),
  rawExtension: readRaw,
  json: readRaw,
};

function readRaw(value: unknown, state: ReadState): unknown {
  state.visitedKeys += countKeys(value);
  return state.copiesRaw ? copyRaw(value) : value;
}

function copyRaw(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => copyRaw(item) ?? null);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const entry = (value as Record<string, unknown>)[key];
    if (entry !== undefined) setOwn(copy, key, copyRaw(entry));
  }
  return copy;
}

function listOf(element: Read, zero?: () => unknown): Read {
  return (value, state) => {
    if (!Array.isArray(value)) throw new Misfit();
    const result: unknown[] = new Array(value.length);
    for (let i = 0; i < value.length; i++) {
      const item = value[i];
      result[i] = item === null || item === undefined ? (zero ? zero() : misfit()) : element(item, state);
    }
    return result;
  };
}

/**
 * A map keeps a time that is none as null, for its key counts. Keys come out sorted, except that JavaScript puts those that look
 * like array indices first.
 */
function mapOf(element: Read, isTime: boolean): Read {
  return (value, state) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Misfit();
    const keys = Object.keys(value);
    let sorted = true;
    for (let i = 1; i < keys.length && sorted; i++) sorted = keys[i - 1]! < keys[i]!;
    if (!sorted) keys.sort();
    const result: Record<string, unknown> = {};
    for (const key of keys) {
      const entry = (value as Record<string, unknown>)[key];
      if (entry === undefined) continue;
      state.visitedKeys++;
      // A null has to become the element's zero value, which the exact decoder knows.
      if (entry === null && !isTime) throw new Misfit();
      setOwn(result, key, entry === null ? null : (element(entry, state) ?? null));
    }
    return result;
  };
}

function keepUnless(read: Read, zero: unknown): Read {
  return (value, state) => {
    const decoded = read(value, state);
    return decoded === zero ? undefined : decoded;
  };
}

function keepUnlessEmpty(read: Read): Read {
  return (value, state) => {
    const decoded = read(value, state) as object | undefined;
    if (decoded === undefined) return undefined;
    for (const key in decoded) if (Object.hasOwn(decoded, key)) return decoded;
    return undefined;
  };
}

function attempt<T>(decode: (text: string) => T, text: string): T {
  try {
    return decode(text);
  } catch {
    return misfit();
  }
}

/** Go's zero time is the same as none. */
function nonZeroTime(text: string): string | undefined {
  return text.startsWith('0001-01-01T00:00:00') ? undefined : text;
}

function isCanonicalBase64(text: string): boolean {
  return (
    text.length % 4 === 0 &&
    /^[A-Za-z0-9+/]*={0,2}$/.test(text) &&
    (!text.endsWith('=') || Buffer.from(text, 'base64').toString('base64') === text)
  );
}

function misfit(): never {
  throw new Misfit();
}
