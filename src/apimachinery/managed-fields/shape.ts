/**
 * What server-side apply sees in a type: which values are one field (scalars, atomic lists, maps and structs) and which are many (structs,
 * granular maps, lists with keys, sets). Derived from the kind tables as upstream derives it from its OpenAPI: a list that says nothing
 * is atomic, a map and a struct are granular; a field may overrule its type. Kinds without a table have the deduced shape: maps are
 * granular, lists atomic. Made on first use, since types contain themselves.
 */
import type { FieldSchema, SchemaRegistry, TypeSchema } from '../schema.ts';
import { keyElement, valueElement } from './path-element.ts';

/** What a scalar may be in an applied configuration. */
export type ScalarKind = 'numeric' | 'string' | 'boolean' | 'untyped';

export interface StructField {
  readonly name: string;
  readonly element: string;
  readonly shape: Shape;
  /** What a struct that is there holds when it does not say: Go structs always have their parts that are no pointers. */
  readonly zero: unknown;
  /** Whether an empty value (no elements, an empty text, 0, false) is as none. */
  readonly omitsEmpty: boolean;
}

export interface StructShape {
  readonly form: 'struct';
  readonly atomic: boolean;
  /** In the order of their steps. */
  readonly fields: readonly StructField[];
  readonly byName: ReadonlyMap<string, StructField>;
  /** Of fields that are not declared; undefined where there are none but these. */
  readonly rest: Shape | undefined;
}

export interface MapShape {
  readonly form: 'map';
  readonly atomic: boolean;
  readonly values: Shape;
}

export interface ListShape {
  readonly form: 'list';
  /** `keyed` and `set` lists are many fields, one per element. */
  readonly kind: 'atomic' | 'keyed' | 'set';
  readonly keys: readonly ListKey[];
  readonly items: Shape;
}

export interface ListKey {
  readonly name: string;
  readonly default: unknown;
}

export type Shape =
  | { readonly form: 'scalar'; readonly scalar: ScalarKind }
  /** Whatever it is, it is one field. */
  | { readonly form: 'untyped' }
  /** Whatever it is: an object is granular, all else one field. */
  | { readonly form: 'deduced' }
  | StructShape
  | MapShape
  | ListShape;

export const deducedShape: Shape = { form: 'deduced' };
const untypedShape: Shape = { form: 'untyped' };

/** What stands under a key of a struct; undefined for what it cannot have. */
export function shapeOfField({ byName, rest }: StructShape, name: string): Shape | undefined {
  return byName.get(name)?.shape ?? rest;
}

/** The shapes of a registry's types; two look-ups give the same shape. */
export class Shapes {
  readonly #registry: SchemaRegistry;
  readonly #structs = new Map<string, Shape>();

  constructor(registry: SchemaRegistry) {
    this.#registry = registry;
  }

  of(typeId: string): Shape {
    return this.#type(this.#registry.type(typeId), undefined);
  }

  #type(type: TypeSchema, atomicity: boolean | undefined): Shape {
    if (type.jsonOneOf) return untypedShape;
    if (type.jsonList) return { form: 'list', kind: 'atomic', keys: [], items: { form: 'scalar', scalar: 'string' } };
    const atomic = atomicity ?? type.atomic;
    const key = `${type.id} ${atomic}`;
    let shape = this.#structs.get(key);
    if (!shape) {
      shape = new LazyStruct(type, atomic, (field) => this.#field(field));
      this.#structs.set(key, shape);
    }
    return shape;
  }

  #field(field: FieldSchema): Shape {
    const atomicity = field.atomic ? true : field.granular ? false : undefined;
    if (field.list) return this.#list(field);
    const element = field.ref ? this.#type(field.ref, field.map ? undefined : atomicity) : scalarShape(field);
    if (!field.map) return element;
    return { form: 'map', atomic: field.mapType === 'atomic', values: element };
  }

  #list(field: FieldSchema): Shape {
    const items = field.ref ? this.#type(field.ref, undefined) : scalarShape(field);
    const strategy = field.patchStrategy?.startsWith('merge');
    const keys =
      field.listType === undefined
        ? strategy && field.patchMergeKey
          ? [field.patchMergeKey]
          : []
        : (field.listMapKeys ?? []);
    const kind =
      keys.length > 0 ? 'keyed' : field.listType === 'set' || (!field.listType && strategy) ? 'set' : 'atomic';
    if (field.listType === 'atomic') return { form: 'list', kind: 'atomic', keys: [], items };
    const sorted = [...keys].sort().map((name) => ({ name, default: keyDefault(field.ref?.byName.get(name)) }));
    return { form: 'list', kind, keys: sorted, items };
  }
}

/** A required scalar that is left out is what Go makes of it: an empty text, 0. */
function keyDefault(field: FieldSchema | undefined): unknown {
  return field && (field.default ?? zeroOf(field));
}

class LazyStruct implements StructShape {
  readonly form = 'struct';
  readonly atomic: boolean;
  readonly rest = undefined;
  readonly #type: TypeSchema;
  readonly #shapeOf: (field: FieldSchema) => Shape;
  #fields: readonly StructField[] | undefined;
  #byName: ReadonlyMap<string, StructField> | undefined;

  constructor(type: TypeSchema, atomic: boolean, shapeOf: (field: FieldSchema) => Shape) {
    this.atomic = atomic;
    this.#type = type;
    this.#shapeOf = shapeOf;
  }

  get fields(): readonly StructField[] {
    this.#fields ??= this.#type.fields
      .map((field) => ({
        name: field.name,
        element: `f:${field.name}`,
        shape: this.#shapeOf(field),
        zero: zeroOf(field),
        omitsEmpty: omitsEmpty(field),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    return this.#fields;
  }

  get byName(): ReadonlyMap<string, StructField> {
    this.#byName ??= new Map(this.fields.map((field) => [field.name, field]));
    return this.#byName;
  }
}

/** What stands in the place of an element: what it has in common with its like in another version of the list. Throws `Error`. */
export function elementOf(list: ListShape, item: unknown): string {
  if (list.kind === 'set') {
    if (item === null || item === undefined)
      throw new Error("associative list without keys has an element that's an explicit null");
    if (Array.isArray(item)) throw new Error('not supported: associative list with lists as elements');
    if (typeof item === 'object') throw new Error("associative list without keys has an element that's a map type");
    return valueElement(item);
  }
  if (item === null || item === undefined) throw new Error('associative list with keys may not have a null element');
  if (typeof item !== 'object' || Array.isArray(item))
    throw new Error('associative list with keys may not have non-map elements');
  const keys: [string, unknown][] = [];
  for (const { name, default: fallback } of list.keys) {
    const given = (item as Readonly<Record<string, unknown>>)[name];
    // A key that is explicitly null is one.
    const value = given === undefined ? fallback : given;
    if (value !== undefined) keys.push([name, value]);
  }
  if (keys.length > 0) return keyElement(keys);
  const names = list.keys.map(({ name }) => `"${name}"`).join(' ');
  throw new Error(
    `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
  );
}

/** The same for objects that may hold anything: what the list does not allow has no place in a field set. */
export function elementOrNone(list: ListShape, item: unknown): string | undefined {
  try {
    return elementOf(list, item);
  } catch {
    return undefined;
  }
}

function scalarShape(field: FieldSchema): Shape {
  switch (field.scalar) {
    case 'int32':
    case 'int64':
    case 'float64':
      return { form: 'scalar', scalar: 'numeric' };
    case 'string':
    case 'bytes':
      return { form: 'scalar', scalar: 'string' };
    case 'bool':
      return { form: 'scalar', scalar: 'boolean' };
    case 'rawExtension':
    case 'json':
      return untypedShape;
    default:
      return { form: 'scalar', scalar: 'untyped' };
  }
}

/** Undefined where Go's JSON leaves out what is not set. */
function zeroOf(field: FieldSchema): unknown {
  const { ref } = field;
  const left = field.omit === 'zero' || field.omit === 'both';
  if (field.pointer || left) return undefined;
  if (ref && !field.list && !field.map && !ref.jsonList) return ref.jsonOneOf ? undefined : emptyStruct;
  if (field.omit !== 'never') return undefined;
  if (field.list || ref?.jsonList) return emptyList;
  if (field.map) return emptyStruct;
  if (field.scalar === 'string' || field.scalar === 'bytes') return '';
  if (field.scalar === 'bool') return false;
  return field.scalar?.startsWith('int') || field.scalar === 'float64' ? 0 : undefined;
}

function omitsEmpty(field: FieldSchema): boolean {
  if (field.pointer || (field.omit !== 'empty' && field.omit !== 'both')) return false;
  return field.list === true || field.map === true || field.ref === undefined || field.ref.jsonList !== undefined;
}

/** What Go's `omitempty` leaves out. */
export function isEmptyValue(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === '' || value === 0 || value === false;
  for (const _ in value) return false;
  return true;
}

const emptyStruct: Readonly<Record<string, unknown>> = Object.freeze({});
const emptyList: readonly unknown[] = Object.freeze([]);
