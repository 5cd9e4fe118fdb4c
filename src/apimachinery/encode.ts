/**
 * Canonical JSON: what upstream's API server writes for the same object. `kind`, `apiVersion` and `metadata` come first, then the
 * fields in table order, map keys sorted. A zero value is left out where Go's tags say so; a struct that is no pointer is always
 * written (`"status":{}`), and what is never left out but not there is null. It writes what the tables know and nothing else.
 *
 * The text is put together field by field, without making the value first that `JSON.stringify` would write: half of a write's encoding.
 */
import { jsonText } from './exact-json.ts';
import { FieldWalk } from './field-walk.ts';
import type { FieldSchema, SchemaRegistry, TypeSchema } from './schema.ts';

/** Gives the text of a value that is there. */
type Write = (value: unknown) => string;

/** A member of an object, to be written by whoever puts the object's text together. */
export interface WritableMember {
  readonly name: string;
  /** `"name":` */
  readonly label: string;
  readonly value: unknown;
  text(): string;
}

interface FieldWriter {
  readonly name: string;
  /** `"name":` */
  readonly label: string;
  readonly write: Write;
  /** Whether a value is as good as none. */
  readonly isEmpty: (value: unknown) => boolean;
  /** Gives what is written for an empty value; absent where the field is left out then. */
  readonly empty: (() => string) | undefined;
}

/** Encoders compiled per type on first use; one instance serves one registry. */
export class TableEncoder {
  readonly #registry: SchemaRegistry;
  readonly #structs = new Map<string, FieldWalk<FieldWriter>>();
  /**
   * Texts of free-form values that nobody can change any more. Objects of one making share the field sets of their owners, which are half
   * of their text.
   */
  readonly #freeForms = new WeakMap<object, string>();

  constructor(registry: SchemaRegistry) {
    this.#registry = registry;
  }

  /** The JSON text of a value of that type. */
  encode(value: object, typeId: string): string {
    return this.#writerOf(this.#registry.type(typeId))(value);
  }

  /** The members of a value, in the order in which they are written; those that are left out are not among them. */
  members(value: object, typeId: string): WritableMember[] {
    const fields = value as Readonly<Record<string, unknown>>;
    const members: WritableMember[] = [];
    for (const { field } of this.#writers(this.#registry.type(typeId)).of(value)) {
      const { name, label, write, empty } = field;
      const given = fields[name];
      const isEmpty = given === undefined || given === null || field.isEmpty(given);
      if (isEmpty && empty === undefined) continue;
      members.push({ name, label, value: given, text: () => (isEmpty ? empty!() : write(given)) });
    }
    return members;
  }

  #writerOf(type: TypeSchema): Write {
    if (type.jsonList) return plainText;
    if (type.jsonOneOf) return this.#oneOf(type);
    return (value) => this.#struct(type, value as Record<string, unknown>);
  }

  #writers(type: TypeSchema): FieldWalk<FieldWriter> {
    let writers = this.#structs.get(type.id);
    if (!writers) {
      writers = new FieldWalk(
        type.fields.map((field) => this.#fieldWriter(type, field)),
        ({ empty }) => empty !== undefined,
      );
      this.#structs.set(type.id, writers);
    }
    return writers;
  }

  #struct(type: TypeSchema, value: Readonly<Record<string, unknown>>): string {
    let text = '';
    for (const { field } of this.#writers(type).of(value)) {
      const given = value[field.name];
      const isEmpty = given === undefined || given === null || field.isEmpty(given);
      if (isEmpty && field.empty === undefined) continue;
      text += (text === '' ? '{' : ',') + field.label + (isEmpty ? field.empty!() : field.write(given));
    }
    return text === '' ? '{}' : `${text}}`;
  }

  #fieldWriter(type: TypeSchema, field: FieldSchema): FieldWriter {
    const element = field.ref ? this.#writerOf(field.ref) : this.#scalar(field);
    const write: Write = field.map
      ? (value) => mapText(value as Readonly<Record<string, unknown>>, element)
      : field.list
        ? (value) => listText(value as readonly unknown[], element)
        : element;
    return {
      name: field.name,
      label: `${JSON.stringify(field.name)}:`,
      write,
      isEmpty: emptinessOf(field),
      empty: this.#emptyOf(type, field),
    };
  }

  #scalar({ scalar }: FieldSchema): Write {
    return scalar === 'json' || scalar === 'rawExtension' ? (value) => this.#freeForm(value) : scalarText;
  }

  #freeForm(value: unknown): string {
    if (typeof value !== 'object' || value === null || !Object.isFrozen(value)) return plainText(value);
    let text = this.#freeForms.get(value);
    if (text === undefined) {
      text = plainText(value);
      this.#freeForms.set(value, text);
    }
    return text;
  }

  /** Omission by Go's rules; the list of a list kind is never null. */
  #emptyOf(type: TypeSchema, field: FieldSchema): (() => string) | undefined {
    const { ref } = field;
    const isStruct = !field.pointer && !field.list && !field.map && field.scalar !== 'bytes' && !ref?.jsonList;
    const isOmitted = field.omit === 'zero' || field.omit === 'both';
    if (isStruct && ref && !ref.jsonOneOf) return isOmitted ? undefined : () => this.#struct(ref, {});
    const zero = plainText(zeroValues[field.scalar!] ?? null);
    if (isStruct && structScalars.has(field.scalar ?? '')) return isOmitted ? undefined : () => zero;
    if (field.omit !== 'never') return undefined;
    if (isStruct && !ref) return () => zero;
    if (field.list && field.name === 'items' && type.byName.get('metadata')?.ref?.id === 'meta/v1.ListMeta')
      return () => '[]';
    return () => 'null';
  }

  #oneOf(type: TypeSchema): Write {
    const members = type.jsonOneOf!.map((name) => type.byName.get(name)!);
    const ref = members.find((member) => member.ref)!.ref!;
    const write: Write = (value) =>
      typeof value === 'object' && value !== null
        ? this.#struct(ref, value as Record<string, unknown>)
        : plainText(value);
    return (value) => (Array.isArray(value) ? listText(value, write) : write(value));
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

const zeroValues: Readonly<Record<string, unknown>> = {
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

/** Sorted as Go sorts: by the bytes of the keys, numbers among them no exception. */
function mapText(value: Readonly<Record<string, unknown>>, element: Write): string {
  const keys = Object.keys(value);
  for (let i = 1; i < keys.length; i++) {
    if (keys[i - 1]! > keys[i]!) {
      keys.sort();
      break;
    }
  }
  let text = '';
  for (const key of keys) {
    const entry = value[key];
    if (entry === undefined) continue;
    text += `${text === '' ? '{' : ','}${stringText(key)}:${entry === null ? 'null' : element(entry)}`;
  }
  return text === '' ? '{}' : `${text}}`;
}

function listText(items: readonly unknown[], element: Write): string {
  let text = '[';
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (i > 0) text += ',';
    text += item === undefined || item === null ? 'null' : element(item);
  }
  return `${text}]`;
}

function scalarText(value: unknown): string {
  if (typeof value === 'string') return stringText(value);
  return typeof value === 'boolean' ? (value ? 'true' : 'false') : plainText(value);
}

/** Strings that JSON writes as they are, Go's escapes included: nearly all that objects hold. */
const plainString = /^[ !#-%'-;=?-[\]-~]*$/;

function stringText(value: string): string {
  return plainString.test(value) ? `"${value}"` : plainText(value);
}

function plainText(value: unknown): string {
  return goText(jsonText(value));
}

/** Go escapes these in every string, and they occur nowhere else in JSON. */
function goText(json: string): string {
  if (!/[<>&\u2028\u2029]/.test(json)) return json;
  return json.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
