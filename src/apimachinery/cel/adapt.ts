/**
 * Reads JSON as values of a declared type, no deeper than an expression looks. Objects and lists stay the parsed JSON they are;
 * an element or field is read when it is asked for. What is a CEL value already stays as it is.
 */

import { isInt64, isUint64 } from './integers.ts';
import { CelType, dynType, listType, mapType } from './types.ts';
import {
  CelDuration,
  CelError,
  CelList,
  CelMap,
  type CelMapKey,
  CelOpaque,
  CelOptional,
  type CelResult,
  CelTimestamp,
  CelUint,
  type CelValue,
} from './values.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The value of `json`, which is declared to be of `type`; `undefined` reads as null. */
export function adapt(json: unknown, type: CelType): CelResult {
  if (type.adapt) return type.adapt(json);
  switch (typeof json) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return json;
    case 'number':
      return adaptNumber(json, type);
    case 'object':
      break;
    default:
      return null;
  }
  if (json === null) return null;
  if (Array.isArray(json)) return new JsonList(json, type.kind === 'list' ? type : undefined);
  if (isCelValue(json)) return json;
  if (type.kind === 'object') return new JsonFields(json as JsonObject, type);
  return new JsonMap(json as JsonObject, type.kind === 'map' ? type : undefined);
}

/** JSON has one kind of number: declared types decide, and else whether there is a fraction. */
function adaptNumber(json: number, { kind }: CelType): CelValue {
  if (kind === 'double' || !Number.isInteger(json)) return json;
  const integer = BigInt(json);
  if (kind === 'uint' && isUint64(integer)) return new CelUint(integer);
  return isInt64(integer) ? integer : json;
}

function isCelValue(value: object): value is CelValue & object {
  return (
    value instanceof CelMap ||
    value instanceof CelList ||
    value instanceof CelOpaque ||
    value instanceof CelTimestamp ||
    value instanceof CelDuration ||
    value instanceof CelUint ||
    value instanceof CelOptional ||
    value instanceof CelType ||
    value instanceof CelError ||
    value instanceof Uint8Array
  );
}

export class JsonList extends CelList {
  readonly #json: readonly unknown[];
  readonly #element: CelType;
  override readonly type: CelType;

  constructor(json: readonly unknown[], type: CelType | undefined) {
    super();
    this.#json = json;
    this.type = type ?? listType;
    this.#element = this.type.parameters[0] ?? dynType;
  }

  get size(): number {
    return this.#json.length;
  }

  at(index: number): CelResult {
    return adapt(this.#json[index], this.#element);
  }
}

/** A JSON object whose keys are data. */
export class JsonMap extends CelMap {
  readonly #json: JsonObject;
  readonly #value: CelType;
  override readonly type: CelType;

  constructor(json: JsonObject, type: CelType | undefined) {
    super();
    this.#json = json;
    this.type = type ?? mapType;
    this.#value = this.type.parameters[1] ?? dynType;
  }

  get size(): number {
    return Object.keys(this.#json).length;
  }

  get(key: CelValue): CelResult | undefined {
    return this.has(key) ? adapt(this.#json[key as string], this.#value) : undefined;
  }

  has(key: CelValue): boolean {
    return typeof key === 'string' && Object.hasOwn(this.#json, key);
  }

  keys(): Iterable<CelMapKey> {
    return Object.keys(this.#json);
  }
}

/** A JSON object whose fields are declared: others are not there, as far as expressions can tell. */
class JsonFields extends CelMap {
  readonly #json: JsonObject;
  override readonly type: CelType;

  constructor(json: JsonObject, type: CelType) {
    super();
    this.#json = json;
    this.type = type;
  }

  get size(): number {
    return Object.keys(this.#json).length;
  }

  get(key: CelValue): CelResult | undefined {
    if (typeof key !== 'string') return undefined;
    const field = this.type.field?.(key);
    if (field === undefined) return undefined;
    const property = field.property ?? key;
    return Object.hasOwn(this.#json, property) ? adapt(this.#json[property], field.type) : undefined;
  }

  has(key: CelValue): boolean {
    if (typeof key !== 'string') return false;
    const field = this.type.field?.(key);
    return field !== undefined && Object.hasOwn(this.#json, field.property ?? key);
  }

  keys(): Iterable<CelMapKey> {
    return Object.keys(this.#json);
  }
}
