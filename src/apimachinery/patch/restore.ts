/**
 * What upstream says of a strategically merged object that no longer fits its type. It restores typed objects from maps field by
 * field, in the type's order, and stops at the first that does not fit: `cannot restore slice from map`.
 */
import type { FieldSchema, TypeSchema } from '../schema.ts';
import { isObject } from './merge-patch.ts';

/** Undefined: nothing is wrong with the shape. Contents (times, quantities, base64) are the decoder's matter. */
export function restoreProblem(value: unknown, type: TypeSchema): string | undefined {
  if (!isObject(value)) return `cannot restore struct from: ${kindOf(value)}`;
  for (const field of type.fields) {
    const entry = value[field.name];
    const problem = entry === undefined || entry === null ? undefined : fieldProblem(entry, field);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function fieldProblem(value: unknown, field: FieldSchema): string | undefined {
  if (field.map) {
    if (!isObject(value)) return `cannot restore map from ${kindOf(value)}`;
    return first(Object.values(value), field);
  }
  if (!field.list) return elementProblem(value, field);
  if (!Array.isArray(value)) return `cannot restore slice from ${kindOf(value)}`;
  return first(value, field);
}

function first(values: readonly unknown[], field: FieldSchema): string | undefined {
  for (const value of values) {
    const problem = value === null || value === undefined ? undefined : elementProblem(value, field);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function elementProblem(value: unknown, { ref, scalar, named }: FieldSchema): string | undefined {
  if (ref) return ref.jsonList || ref.jsonOneOf ? undefined : restoreProblem(value, ref);
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
