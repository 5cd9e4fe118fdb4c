/**
 * What a schema says of a value, as far as expressions are concerned: its CEL type, and how large it can be, from which the cost of
 * an expression is estimated before it ever runs.
 *
 * Worked example: `{type: array, maxItems: 5, items: {type: string, maxLength: 10}}` is a `list(string)` of at most 5 elements, each
 * of at most 40 (a character is up to four bytes), and takes at least 2 bytes of a request.
 */
import {
  boolType,
  type CelResult,
  CelType,
  doubleType,
  intType,
  listOf,
  mapOf,
  objectType,
  type SizeRange,
  stringType,
} from '../index.ts';
import { isReserved } from './identifiers.ts';

/** The largest request that the API accepts, which bounds everything that declares no bound. */
export const maxRequestSizeBytes: number = 3 * 1024 * 1024;

export interface DeclaredType {
  readonly type: CelType;
  /** Of an object: by the spelling of their names in expressions. */
  readonly fields?: ReadonlyMap<string, DeclaredType>;
  /** Of a map. */
  readonly key?: DeclaredType;
  /** Elements of a list, values of a map. */
  readonly element?: DeclaredType;
  /** Elements, entries, characters or bytes; 0 for what has no size. */
  readonly maxElements: number;
  /** The shortest JSON that it can be, in bytes. */
  readonly minSerializedSize: number;
}

/** Reads JSON as a value of `type`. */
export type Adapt = (json: unknown, type: CelType) => CelResult;

/** A type that holds no others. */
export function declaredScalar(type: CelType, minSerializedSize: number, maxElements = 0): DeclaredType {
  return { type, minSerializedSize, maxElements };
}

/** The same, read by a reader of its own. */
export function readBy(declared: DeclaredType, adapt: Adapt): DeclaredType {
  const { kind, name, parameters, field } = declared.type;
  const details = { parameters, ...(field ? { field } : {}) };
  const type: CelType = new CelType(kind, name, { ...details, adapt: (json) => adapt(json, type) });
  return { ...declared, type };
}

export const declaredBool: DeclaredType = declaredScalar(boolType, 4);
export const declaredInt: DeclaredType = declaredScalar(intType, 1);
export const declaredDouble: DeclaredType = declaredScalar(doubleType, 1);
/** A text of which nothing is known. */
export const declaredString: DeclaredType = declaredScalar(stringType, 2, maxRequestSizeBytes - 2);

const mapKey: DeclaredType = declaredScalar(stringType, 2);

export function declaredList(element: DeclaredType, maxElements: number): DeclaredType {
  return { type: listOf(element.type), element, maxElements, minSerializedSize: 2 };
}

export function declaredMap(element: DeclaredType, maxElements: number): DeclaredType {
  return { type: mapOf(stringType, element.type), key: mapKey, element, maxElements, minSerializedSize: 2 };
}

export interface DeclaredFields {
  readonly fields: ReadonlyMap<string, DeclaredType>;
  readonly minSerializedSize?: number;
}

/** `name` is the type's in messages, and unique: types of objects are the same if their names are. */
export function declaredObject(name: string, { fields, minSerializedSize = 2 }: DeclaredFields): DeclaredType {
  const field = (spelling: string) => {
    const found = fields.get(spelling) ?? (isReserved(spelling) ? fields.get(`__${spelling}__`) : undefined);
    return found && { type: found.type };
  };
  return { type: objectType(name, { field }), fields, maxElements: 0, minSerializedSize };
}

/** How many elements a list can have, each at least so large, in the largest request. */
export function mostItems(element: DeclaredType): number {
  return Math.floor((maxRequestSizeBytes - 2) / (element.minSerializedSize + 1));
}

/** How many entries a map can have, the shortest key being two quotes, a colon and so on. */
export function mostEntries(element: DeclaredType): number {
  return Math.floor((maxRequestSizeBytes - 2) / (element.minSerializedSize + 6));
}

/**
 * The size of what stands at a path of an expression's estimate: steps are spellings of fields, `@items`, `@values`, `@keys`.
 * Undefined where the declaration does not reach.
 */
export function declaredSize(root: DeclaredType, steps: readonly string[]): SizeRange | undefined {
  let found: DeclaredType | undefined = root;
  for (const step of steps) {
    found = declaredPart(found, step);
    if (!found) return undefined;
  }
  return { min: 0, max: found.maxElements };
}

/** What one such step leads to. */
export function declaredPart(declared: DeclaredType, step: string): DeclaredType | undefined {
  if (step === '@items' || step === '@values') return declared.element;
  return step === '@keys' ? declared.key : declared.fields?.get(step);
}
