/**
 * What a schema puts into an object: first nulls go where null may not stand and no default waits, then defaults come where nothing
 * or such a null stands. A default brings its own parts, which are defaulted in turn; nothing is made for an object that is absent.
 */
import { setOwn } from '../json-text.ts';
import { draft } from '../meta.ts';
import { additionalSchema } from './pruning.ts';
import type { StructuralSchema } from './schema.ts';

/** In place. Elements of lists stay even if they are null: what follows them would move. */
export function dropNulls(value: unknown, schema: StructuralSchema | undefined): void {
  if (typeof value !== 'object' || value === null || !schema) return;
  if (Array.isArray(value)) {
    for (const item of value) dropNulls(item, schema.items);
    return;
  }
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object)) {
    const part = partSchema(schema, key);
    if (part && object[key] === null && !part.nullable && part.default === undefined) delete object[key];
    else dropNulls(object[key], part);
  }
}

/** In place. Defaults are copied: no two objects share one. */
export function applyDefaults(value: unknown, schema: StructuralSchema | undefined): void {
  if (typeof value !== 'object' || value === null || !schema) return;
  if (Array.isArray(value)) defaultItems(value, schema.items);
  else defaultObject(value as Record<string, unknown>, schema);
}

function defaultItems(items: unknown[], schema: StructuralSchema | undefined): void {
  if (!schema) return;
  for (const [index, item] of items.entries()) {
    if (lacks(item, schema)) items[index] = draft(schema.default);
    applyDefaults(items[index], schema);
  }
}

function defaultObject(object: Record<string, unknown>, schema: StructuralSchema): void {
  for (const [name, property] of schema.properties) {
    const found = Object.hasOwn(object, name);
    if (property.default !== undefined && (!found || lacks(object[name], property)))
      setOwn(object, name, draft(property.default));
    if (found || property.default !== undefined) applyDefaults(object[name], property);
  }
  const additional = additionalSchema(schema);
  if (!additional) return;
  for (const key of Object.keys(object)) {
    if (schema.properties.has(key)) continue;
    if (lacks(object[key], additional)) setOwn(object, key, draft(additional.default));
    applyDefaults(object[key], additional);
  }
}

/** Null, where null may not stand and a default may. */
function lacks(value: unknown, schema: StructuralSchema): boolean {
  return value === null && !schema.nullable && schema.default !== undefined;
}

function partSchema(schema: StructuralSchema, key: string): StructuralSchema | undefined {
  return schema.properties.get(key) ?? additionalSchema(schema);
}
