/**
 * Which part of an object's previous form a part of its new form is: fields by name, elements of a list of type `map` by their keys,
 * all other elements not at all. Two correlated parts are equal if all their parts are; the order of such a list does not count.
 */
import { setOwn } from '../json-text.ts';
import { isObject, jsonEqual } from '../patch/merge-patch.ts';
import { canonicalJson } from './canonical-json.ts';
import { additionalSchema } from './pruning.ts';
import type { StructuralSchema } from './schema.ts';

/** Stands for the previous form of what has none. */
export const uncorrelated: unique symbol = Symbol('uncorrelated');

/** Answers for one update; remembers what it has compared, so that deep objects are compared once. */
export class Correlation {
  readonly #equal = new Map<object, { readonly previous: unknown; readonly equal: boolean }>();
  readonly #byKeys = new Map<readonly unknown[], ReadonlyMap<string, unknown>>();

  field(previous: unknown, key: string): unknown {
    return isObject(previous) && Object.hasOwn(previous, key) ? previous[key] : uncorrelated;
  }

  element(schema: StructuralSchema, previous: unknown, element: unknown): unknown {
    if (!isKeyed(schema) || !Array.isArray(previous)) return uncorrelated;
    const keys = keysOf(element, schema.listMapKeys);
    if (keys === undefined) return uncorrelated;
    let byKeys = this.#byKeys.get(previous);
    if (!byKeys) {
      byKeys = indexByKeys(previous, schema.listMapKeys);
      this.#byKeys.set(previous, byKeys);
    }
    return byKeys.has(keys) ? byKeys.get(keys) : uncorrelated;
  }

  equal(schema: StructuralSchema, next: unknown, previous: unknown): boolean {
    if (typeof next !== 'object' || next === null) return next === previous;
    const known = this.#equal.get(next);
    if (known && known.previous === previous) return known.equal;
    const equal = Array.isArray(next)
      ? Array.isArray(previous) && this.#listsEqual(schema, next, previous)
      : isObject(previous) && this.#objectsEqual(schema, next as Readonly<Record<string, unknown>>, previous);
    this.#equal.set(next, { previous, equal });
    return equal;
  }

  #listsEqual(schema: StructuralSchema, next: readonly unknown[], previous: readonly unknown[]): boolean {
    if (next.length !== previous.length) return false;
    const { items } = schema;
    if (!isKeyed(schema) || !items) return jsonEqual(next, previous);
    return next.every((element) => {
      const counterpart = this.element(schema, previous, element);
      return counterpart !== uncorrelated && this.equal(items, element, counterpart);
    });
  }

  /** What no schema describes cannot be told to be the same. */
  #objectsEqual(
    schema: StructuralSchema,
    next: Readonly<Record<string, unknown>>,
    previous: Readonly<Record<string, unknown>>,
  ): boolean {
    const keys = Object.keys(next);
    if (keys.length !== Object.keys(previous).length) return false;
    return keys.every((key) => {
      const part = schema.properties.get(key) ?? additionalSchema(schema);
      return part !== undefined && Object.hasOwn(previous, key) && this.equal(part, next[key], previous[key]);
    });
  }
}

function isKeyed({ type, listType, listMapKeys }: StructuralSchema): boolean {
  return type === 'array' && listType === 'map' && listMapKeys.length > 0;
}

/** Of two elements with the same keys the first counts. */
function indexByKeys(items: readonly unknown[], names: readonly string[]): Map<string, unknown> {
  const index = new Map<string, unknown>();
  for (const item of items) {
    const keys = keysOf(item, names);
    if (keys !== undefined && !index.has(keys)) index.set(keys, item);
  }
  return index;
}

/** Undefined where a key is missing or no scalar. */
function keysOf(item: unknown, names: readonly string[]): string | undefined {
  if (!isObject(item)) return undefined;
  const keys: Record<string, unknown> = {};
  for (const name of names) {
    const value = Object.hasOwn(item, name) ? item[name] : undefined;
    if (value === undefined || typeof value === 'object') return undefined;
    setOwn(keys, name, value);
  }
  return canonicalJson(keys);
}
