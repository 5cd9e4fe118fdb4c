/**
 * JSON as values under a structural schema, read where an expression touches it. A text with a format is a timestamp, a duration or
 * bytes; a list of type `set` or `map` compares without regard to order and adds without repeating; a property that is null is not
 * there. JSON that the schema does not allow becomes an error where it is touched, for rules may run on an object that is invalid.
 */

import { isDeepStrictEqual } from 'node:util';
import { goType } from '../../go-text.ts';
import { formatCheck } from '../../structural-schema/formats.ts';
import type { StructuralSchema } from '../../structural-schema/schema.ts';
import { adapt, JsonList, JsonMap } from '../adapt.ts';
import {
  CelDuration,
  CelError,
  CelList,
  CelMap,
  type CelMapKey,
  type CelResult,
  CelTimestamp,
  type CelType,
  CelUint,
  type CelValue,
  isCelError,
} from '../index.ts';
import { equal } from '../operators.ts';
import { parseTimestamp } from '../times.ts';
import type { DeclaredType } from './declared-type.ts';
import { durationNanos } from './duration-text.ts';
import { escapeIdentifier, unescapeIdentifier } from './identifiers.ts';

/** Reads JSON that is not null. */
export type SchemaReader = (json: unknown, type: CelType) => CelResult;

export const nullFault: CelError = new CelError('invalid data, got null for schema with nullable=false');

export const readIntOrString: SchemaReader = (json) => {
  if (typeof json === 'string') return json;
  if (isWhole(json)) return BigInt(json);
  return new CelError('invalid data, expected XIntOrString value to be either a string or integer');
};

export const readBoolean: SchemaReader = (json) =>
  typeof json === 'boolean' ? json : new CelError(`invalid data, expected bool, got ${goType(json)}`);

export const readNumber: SchemaReader = (json) =>
  typeof json === 'number' || typeof json === 'bigint'
    ? Number(json)
    : new CelError(`invalid data, expected float, got ${goType(json)}`);

export const readInteger: SchemaReader = (json) =>
  isWhole(json) ? BigInt(json) : new CelError(`invalid data, expected int, got ${goType(json)}`);

/** What a double cannot hold comes as a bigint. */
function isWhole(json: unknown): json is number | bigint {
  return typeof json === 'bigint' || Number.isInteger(json);
}

export function readText(format: string): SchemaReader {
  const read = textReaders.get(format) ?? ((text: string) => text);
  return (json) =>
    typeof json === 'string' ? read(json) : new CelError(`invalid data, expected string, got ${goType(json)}`);
}

const textReaders: ReadonlyMap<string, (text: string) => CelResult> = new Map<string, (text: string) => CelResult>([
  [
    'duration',
    (text: string) => {
      const nanos = durationNanos(text);
      if (nanos !== undefined) return new CelDuration(nanos);
      return new CelError(`Invalid duration ${text}: unable to parse ${text} as duration`);
    },
  ],
  [
    'date',
    (text: string) =>
      formatCheck('date')!(text)
        ? timestamp(`${text}T00:00:00Z`)!
        : new CelError(`Invalid date formatted string ${text}`),
  ],
  ['date-time', (text: string) => timestamp(text) ?? new CelError(`Invalid date-time formatted string ${text}`)],
  ['byte', (text: string) => new Uint8Array(Buffer.from(text, 'base64'))],
]);

/** RFC 3339; without a zone it is UTC, and an empty text is the start of 1970. */
function timestamp(text: string): CelTimestamp | CelError | undefined {
  if (text === '') return new CelTimestamp(0, 0);
  return parseTimestamp(/(?:Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
}

/** An object whose keys are data. */
export const readMap: SchemaReader = (json, type) => (isObject(json) ? new JsonMap(json, type) : wrongObject());

export function readObject(fields: ReadonlyMap<string, DeclaredType>): SchemaReader {
  return (json, type) => (isObject(json) ? new SchemaObject(json, type, fields) : wrongObject());
}

const wrongObject = () => new CelError('invalid data, expected a map for the provided schema with type=object');

type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (json: unknown): json is JsonObject =>
  typeof json === 'object' && json !== null && !Array.isArray(json);

/** Fields by the spelling of their names in expressions. */
class SchemaObject extends CelMap {
  override readonly type: CelType;
  readonly #json: JsonObject;
  readonly #fields: ReadonlyMap<string, DeclaredType>;

  constructor(json: JsonObject, type: CelType, fields: ReadonlyMap<string, DeclaredType>) {
    super();
    this.#json = json;
    this.type = type;
    this.#fields = fields;
  }

  /** Counts fields that expressions cannot see, too. */
  get size(): number {
    return Object.keys(this.#json).length;
  }

  get(key: CelValue): CelResult | undefined {
    if (typeof key !== 'string') return undefined;
    const field = this.#fields.get(key) ?? this.#fields.get(`__${key}__`);
    const property = field && unescapeIdentifier(this.#fields.has(key) ? key : `__${key}__`);
    if (field === undefined || property === undefined || !Object.hasOwn(this.#json, property)) return undefined;
    const json = this.#json[property];
    return json === null || json === undefined ? undefined : adapt(json, field.type);
  }

  has(key: CelValue): boolean {
    return this.get(key) !== undefined;
  }

  *keys(): Iterable<CelMapKey> {
    for (const property of Object.keys(this.#json)) {
      const spelling = escapeIdentifier(property);
      if (spelling !== undefined && this.#fields.has(spelling)) yield spelling;
    }
  }

  /** Fields that are declared compare by their types, others as JSON. */
  override equals(other: CelMap): CelResult {
    if (other.size !== this.size) return false;
    for (const property of Object.keys(this.#json)) {
      const spelling = escapeIdentifier(property);
      if (spelling === undefined || !this.#fields.has(spelling)) {
        if (!(other instanceof SchemaObject)) return false;
        if (!isDeepStrictEqual(this.#json[property], other.#json[property])) return false;
        continue;
      }
      const [one, another] = [this.get(spelling), other.get(spelling)];
      if (one === undefined || another === undefined) {
        if (one !== another) return false;
        continue;
      }
      if (isCelError(one)) return one;
      if (isCelError(another)) return another;
      const same = equal(one, another);
      if (same !== true) return same;
    }
    return true;
  }
}

export function readListOf(schema: StructuralSchema): SchemaReader {
  return (json, type) => {
    if (!Array.isArray(json)) {
      return new CelError('invalid data, expected an array for the provided schema with type=array');
    }
    const list = new JsonList(json, type);
    if (schema.listType === 'set') return new KeyedList(list, 'set', scalarKey);
    if (schema.listType === 'map') return new KeyedList(list, 'map', keyBy(schema.listMapKeys));
    return list;
  };
}

type KeyOf = (element: CelValue) => string | undefined;

/** A list in which no two elements have the same key: the element itself in a set, some of its fields in a map. */
class KeyedList extends CelList {
  override readonly type: CelType;
  readonly #list: CelList;
  readonly #kind: 'set' | 'map';
  readonly #keyOf: KeyOf;

  constructor(list: CelList, kind: 'set' | 'map', keyOf: KeyOf) {
    super();
    this.type = list.type;
    this.#list = list;
    this.#kind = kind;
    this.#keyOf = keyOf;
  }

  get size(): number {
    return this.#list.size;
  }

  at(index: number): CelResult {
    return this.#list.at(index);
  }

  #key(element: CelResult): string | undefined {
    return isCelError(element) ? undefined : this.#keyOf(element);
  }

  /** The same elements in any order. */
  override equals(other: CelList): CelResult {
    if (other.size !== this.size) return false;
    const own = new Map<string | undefined, CelResult>();
    for (let i = 0; i < this.size; i++) own.set(this.#key(this.at(i)), this.at(i));
    for (let i = 0; i < other.size; i++) {
      const element = other.at(i);
      if (isCelError(element)) return element;
      const found = own.get(this.#key(element));
      if (found === undefined) return false;
      if (this.#kind === 'set') continue;
      if (isCelError(found)) return found;
      const same = equal(found, element);
      if (same !== true) return same;
    }
    return true;
  }

  /** Without repeating: of a set, what is there already is left out; of a map, it takes the place of the element it replaces. */
  override concat(other: CelList): CelResult {
    const elements: CelResult[] = [];
    const places = new Map<string | undefined, number>();
    for (const list of [this, other]) {
      for (let i = 0; i < list.size; i++) {
        const element = list.at(i);
        const key = this.#key(element);
        const place = list === this ? undefined : places.get(key);
        if (place === undefined) {
          places.set(key, elements.length);
          elements.push(element);
        } else if (this.#kind === 'map') elements[place] = element;
      }
    }
    return new KeyedList(new ResultList(elements, this.type), this.#kind, this.#keyOf);
  }
}

/** A list of what was read already. */
class ResultList extends CelList {
  override readonly type: CelType;
  readonly #elements: readonly CelResult[];
  constructor(elements: readonly CelResult[], type: CelType) {
    super();
    this.#elements = elements;
    this.type = type;
  }
  get size(): number {
    return this.#elements.length;
  }
  at(index: number): CelResult {
    return this.#elements[index]!;
  }
}

/** One text for equal values of one type. */
const scalarKey: KeyOf = (element) => {
  if (element instanceof CelUint) return `uint ${element.value}`;
  if (element instanceof CelTimestamp) return `timestamp ${element.seconds}.${element.nanos}`;
  if (element instanceof CelDuration) return `duration ${element.nanos}`;
  if (element instanceof Uint8Array) return `bytes ${Buffer.from(element).toString('base64')}`;
  if (element instanceof CelList || element instanceof CelMap) return undefined;
  return `${typeof element} ${String(element)}`;
};

function keyBy(names: readonly string[]): KeyOf {
  const spellings = names.map((name) => escapeIdentifier(name) ?? name);
  return (element) => {
    if (!(element instanceof CelMap)) return undefined;
    const parts = spellings.map((spelling) => {
      const part = element.get(spelling);
      return part === undefined || isCelError(part) ? '' : (scalarKey(part) ?? '');
    });
    return JSON.stringify(parts);
  };
}
