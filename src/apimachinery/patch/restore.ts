/**
 * What upstream says of a strategically merged object that no longer fits its type. It restores typed objects from maps field by
 * field, in the type's order, and stops at the first that does not fit: `cannot restore slice from map`. What the merged object shares
 * with the one it was made of fits, for that one is an object of the type.
 */
import type { FieldSchema, TypeSchema } from '../schema.ts';
import { isObject } from './merge-patch.ts';

/**
 * Undefined: nothing is wrong with the shape. Contents (times, quantities, base64) are the decoder's matter. `before`: what stood in this
 * place, of the same type, if anything did.
 */
export function restoreProblem(value: unknown, type: TypeSchema, before?: unknown): string | undefined {
  if (!isObject(value)) return `cannot restore struct from: ${kindOf(value)}`;
  if (value === before) return undefined;
  const standing = isObject(before) ? before : {};
  let problem: string | undefined;
  let position = Number.POSITIVE_INFINITY;
  // A type has many more fields than a value, so the value's own are looked at, and the first of the type is told of.
  for (const name in value) {
    const entry = value[name];
    const field = type.byName.get(name);
    if (!field || entry === undefined || entry === null) continue;
    const found = fieldProblem(entry, field, standing[name]);
    if (found === undefined || type.fields.indexOf(field) >= position) continue;
    problem = found;
    position = type.fields.indexOf(field);
  }
  return problem;
}

function fieldProblem(value: unknown, field: FieldSchema, before: unknown): string | undefined {
  if (value === before) return undefined;
  if (field.map) {
    if (!isObject(value)) return `cannot restore map from ${kindOf(value)}`;
    return first(Object.values(value), field, []);
  }
  if (!field.list) return elementProblem(value, field, before);
  if (!Array.isArray(value)) return `cannot restore slice from ${kindOf(value)}`;
  return first(value, field, Array.isArray(before) ? before : []);
}

/** Elements that stand where they stood are mostly what they were. */
function first(values: readonly unknown[], field: FieldSchema, before: readonly unknown[]): string | undefined {
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    const problem = value === null || value === undefined ? undefined : elementProblem(value, field, before[i]);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function elementProblem(value: unknown, { ref, scalar, named }: FieldSchema, before: unknown): string | undefined {
  if (ref) return ref.jsonList || ref.jsonOneOf ? undefined : restoreProblem(value, ref, before);
  switch (scalar) {
    case 'string':
      if (typeof value === 'string') return undefined;
      // To Go a number can be converted to text, but JSON knows no such conversion.
      return kindOf(value) === 'int64' ? `cannot convert int64 to ${named ?? 'string'}` : 'unrecognized type: string';
    case 'bool':
      return typeof value === 'boolean' ? undefined : 'unrecognized type: bool';
    case 'int32':
    case 'int64':
      if (typeof value !== 'number') return `unrecognized type: ${scalar}`;
      return Number.isInteger(value) ? undefined : `cannot convert float64 to ${scalar}`;
    case 'float64':
      return typeof value === 'number' ? undefined : 'unrecognized type: float64';
    case 'bytes':
      return typeof value === 'string' || Array.isArray(value)
        ? undefined
        : `cannot restore slice from ${kindOf(value)}`;
    default:
      return undefined;
  }
}

/** As Go's reflection names it. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'slice';
  if (isObject(value)) return 'map';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
