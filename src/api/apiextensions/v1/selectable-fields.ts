/** Fields of custom resources that lists can be selected by: few, each a scalar of the schema, each once. */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  required,
  tooMany,
} from '../../../apimachinery/field-error.ts';
import { resolveFieldPath } from '../../../apimachinery/structural-schema/field-path.ts';
import type { StructuralSchema } from '../../../apimachinery/structural-schema/schema.ts';
import type { SelectableField } from '../../gen/apiextensions-v1.ts';

export const mostSelectableFields = 8;

const selectableTypes: ReadonlySet<string> = new Set(['string', 'boolean', 'integer']);

/** `allowsMany` where a stored definition had as many. */
export function validateSelectableFields(
  fields: readonly SelectableField[],
  schema: StructuralSchema,
  { at, allowsMany }: { readonly at: FieldPath; readonly allowsMany: boolean },
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, { jsonPath }] of fields.entries()) {
    const here = at.index(index).child('jsonPath');
    if (!jsonPath) errors.push(required(here));
    else errors.push(...checkPath(jsonPath, schema, { at: here, seen }));
  }
  return seen.size > mostSelectableFields && !allowsMany
    ? [...errors, tooMany(at, seen.size, mostSelectableFields)]
    : errors;
}

function checkPath(
  jsonPath: string,
  schema: StructuralSchema,
  { at, seen }: { readonly at: FieldPath; readonly seen: Set<string> },
): FieldError[] {
  const errors: FieldError[] = [];
  try {
    const found = resolveFieldPath(jsonPath, schema, { brackets: false });
    if (found.steps[0] === 'metadata') errors.push(invalid(at, jsonPath, 'must not point to fields in metadata'));
    if (!selectableTypes.has(found.schema.type)) {
      const detail =
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
      errors.push(invalid(at, jsonPath, detail));
    }
    const path = found.path.toString();
    if (seen.has(path)) errors.push(duplicate(at, jsonPath));
    seen.add(path);
  } catch (error) {
    errors.push(invalid(at, jsonPath, `is an invalid path: ${(error as Error).message}`));
  }
  return errors;
}
