/**
 * What `x-kubernetes-list-type` promises of lists: a set holds nothing twice, a map no two elements with the same keys. The first
 * repetition of a value is reported, at the index where it stands.
 */
import { duplicate, type FieldError, type FieldPath, invalid, path } from '../field-error.ts';
import { setOwn } from '../json-text.ts';
import { canonicalJson, sortedJson } from './canonical-json.ts';
import { additionalSchema } from './pruning.ts';
import type { StructuralSchema } from './schema.ts';

/** The repetitions in all lists of an object. */
export function validateListTypes(value: unknown, schema: StructuralSchema, at: FieldPath = path()): FieldError[] {
  const errors: FieldError[] = [];
  visit(value, schema, at, errors);
  return errors;
}

function visit(value: unknown, schema: StructuralSchema, at: FieldPath, errors: FieldError[]): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (schema.listType === 'set') errors.push(...repeatedItems(value, at));
    else if (schema.listType === 'map') errors.push(...repeatedKeys(value, schema.listMapKeys, at));
    if (!schema.items) return;
    for (const [index, item] of value.entries()) {
      if (typeof item === 'object') visit(item, schema.items, at.index(index), errors);
    }
    return;
  }
  const additional = additionalSchema(schema);
  for (const [key, part] of Object.entries(value)) {
    if (typeof part !== 'object') continue;
    if (additional) visit(part, additional, at.key(key), errors);
    const property = schema.properties.get(key);
    if (property) visit(part, property, at.child(key), errors);
  }
}

function repeatedItems(items: readonly unknown[], at: FieldPath): FieldError[] {
  return repetitions(items).map((index) => duplicate(at.index(index), sortedJson(items[index])));
}

function repeatedKeys(items: readonly unknown[], names: readonly string[], at: FieldPath): FieldError[] {
  for (const [index, item] of items.entries()) {
    if (typeof item !== 'object' || Array.isArray(item))
      return [invalid(at.index(index), sortedJson(item), 'must be an object for an array of list-type map')];
  }
  const keys = items.map((item) => keysOf(item as Readonly<Record<string, unknown>> | null, names));
  return repetitions(keys).map((index) => duplicate(at.index(index), sortedJson(keys[index])));
}

/** The key fields of an element, as far as it has them; null has none. */
function keysOf(item: Readonly<Record<string, unknown>> | null, names: readonly string[]): Record<string, unknown> {
  const keys: Record<string, unknown> = {};
  for (const name of names) {
    if (item !== null && Object.hasOwn(item, name)) setOwn(keys, name, item[name]);
  }
  return keys;
}

/** Where a value stands for the second time. */
function repetitions(values: readonly unknown[]): number[] {
  if (values.length <= 1) return [];
  const times = new Map<string, number>();
  return values.flatMap((value, index) => {
    const text = canonicalJson(value);
    const seen = times.get(text) ?? 0;
    times.set(text, seen + 1);
    return seen === 1 ? [index] : [];
  });
}
