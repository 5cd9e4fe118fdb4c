/**
 * Canonical JSON: what upstream's API server writes for the same object. `kind`, `apiVersion` and `metadata` come first, then the
 * fields in table order, map keys sorted. A zero value is left out where Go's tags say so; a struct that is no pointer is always
 * written (`"status":{}`), and what is never left out but not there is null. It writes what the tables know and nothing else.
 */
import { jsonText } from './exact-json.ts';
import { FieldWalk } from './field-walk.ts';
import { setOwn } from './json-text.ts';
import type { FieldSchema, SchemaRegistry, TypeSchema } from './schema.ts';

type Write = (value: unknown) => unknown;

interface FieldWriter {
  readonly name: string;
  readonly write: Write;
  /** Whether a value is as good as none. */
  readonly isEmpty: (value: unknown) => boolean;
  /** Gives what is written for an empty value; absent where the field is left out then. */
  readonly empty: (() => unknown) | undefined;
}

/** Encoders compiled per type on first use; one instance serves one registry. */
export class TableEncoder {
  readonly #registry: SchemaRegistry;
  readonly #structs = new Map<string, FieldWalk<FieldWriter>>();

  constructor(registry: SchemaRegistry) {
    this.#registry = registry;
  }

  /** The JSON text of a value of that type. */
  encode(value: object, typeId: string): string {
    return goText(jsonText(this.canonicalForm(value, typeId)));
  }

  /** The same as a value: `JSON.stringify` of it is canonical. Shares strings and free-form data with the input, nothing else. */
  canonicalForm(value: object, typeId: string): unknown {
    return this.#writerOf(this.#registry.type(typeId))(value);
  }

  #writerOf(type: TypeSchema): Write {
    if (type.jsonList) return (value) => value;
    if (type.jsonOneOf) return this.#oneOf(type);
    return (value) => this.#struct(type, value as Record<string, unknown>);
  }

  #struct(type: TypeSchema, value: Readonly<Record<string, unknown>>): unknown {
    let writers = this.#structs.get(type.id);
    if (!writers) {
      writers = new FieldWalk(
        type.fields.map((field) => this.#fieldWriter(type, field)),
        ({ empty }) => empty !== undefined,
      );
      this.#structs.set(type.id, writers);
    }
    const result: Record<string, unknown> = {};
    for (const { field } of writers.of(value)) {
      const { name, write, isEmpty, empty } = field;
      const given = value[name];
      const written = given === undefined || given === null || isEmpty(given) ? empty?.() : write(given);
      if (written !== undefined) result[name] = written;
    }
    return result;
  }

  #fieldWriter(type: TypeSchema, field: FieldSchema): FieldWriter {
    const element = field.ref ? this.#writerOf(field.ref) : (value: unknown) => value;
    const write: Write = field.map
      ? (value) => writeMap(value as Readonly<Record<string, unknown>>, element)
      : field.list && field.ref
        ? (value) => (value as readonly unknown[]).map(element)
        : element;
    return { name: field.name, write, isEmpty: emptinessOf(field), empty: this.#emptyOf(type, field) };
  }

  /** Omission by Go's rules; the list of a list kind is never null. */
  #emptyOf(type: TypeSchema, field: FieldSchema): (() => unknown) | undefined {
    const { ref } = field;
    const isStruct = !field.pointer && !field.list && !field.map && field.scalar !== 'bytes' && !ref?.jsonList;
    if (isStruct && ref && !ref.jsonOneOf)
      return field.omit === 'zero' || field.omit === 'both' ? undefined : () => this.#struct(ref, {});
    if (isStruct && structScalars.has(field.scalar ?? '')) {
      return field.omit === 'zero' || field.omit === 'both' ? undefined : () => zeroText[field.scalar!] ?? null;
    }
    if (field.omit !== 'never') return undefined;
    if (isStruct && !ref) return () => zeroText[field.scalar!] ?? null;
    if (field.list && field.name === 'items' && type.byName.get('metadata')?.ref?.id === 'meta/v1.ListMeta')
      return () => [];
    return () => null;
  }

  #oneOf(type: TypeSchema): Write {
    const members = type.jsonOneOf!.map((name) => type.byName.get(name)!);
    const ref = members.find((member) => member.ref)!.ref!;
    const write: Write = (value) => this.#struct(ref, value as Readonly<Record<string, unknown>>);
    return (value) => {
      if (Array.isArray(value))
        return value.map((item) => (typeof item === 'object' && item !== null ? write(item) : item));
      return typeof value === 'object' && value !== null ? write(value) : value;
    };
  }
}

/** Types that are structs in Go, so that `omitempty` does not leave them out. */
const structScalars: ReadonlySet<string> = new Set([
  'time',
  'microTime',
  'duration',
  'quantity',
  'intOrString',
  'rawExtension',
  'json',
]);

const zeroText: Readonly<Record<string, unknown>> = {
  string: '',
  bool: false,
  int32: 0,
  int64: 0,
  float64: 0,
  intOrString: 0,
  quantity: '0',
  duration: '0s',
};

function emptinessOf(field: FieldSchema): (value: unknown) => boolean {
  if (field.list || field.ref?.jsonList) return (value) => (value as readonly unknown[]).length === 0;
  if (field.map) return (value) => hasNoKeys(value as object);
  if (field.pointer || field.ref) return () => false;
  if (field.scalar === 'string' || field.scalar === 'bytes') return (value) => value === '';
  if (field.scalar === 'bool') return (value) => value === false;
  if (field.scalar === 'int32' || field.scalar === 'int64' || field.scalar === 'float64') return (value) => value === 0;
  return () => false;
}

function hasNoKeys(value: object): boolean {
  for (const key in value) if (Object.hasOwn(value, key)) return false;
  return true;
}

function writeMap(value: Readonly<Record<string, unknown>>, element: Write): unknown {
  const keys = Object.keys(value);
  for (let i = 1; i < keys.length; i++) {
    if (keys[i - 1]! > keys[i]!) {
      keys.sort();
      break;
    }
  }
  const result: Record<string, unknown> = {};
  for (const key of keys) if (value[key] !== undefined) setOwn(result, key, element(value[key]));
  return result;
}

/** Go escapes these in every string, and they occur nowhere else in JSON. */
function goText(json: string): string {
  if (!/[<>&\u2028\u2029]/.test(json)) return json;
  return json.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
