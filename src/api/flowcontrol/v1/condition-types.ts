/** Conditions in the statuses of flow control: each has a type, and no two the same. */
import { duplicate, type FieldError, path, required } from '../../../apimachinery/field-error.ts';

export function validateConditionTypes(
  status: { readonly conditions?: readonly { readonly type?: string | undefined }[] | undefined } | undefined,
): FieldError[] {
  const types = new Set<string>();
  return (status?.conditions ?? []).flatMap(({ type = '' }, index) => {
    const at = path('status', 'conditions').index(index).child('type');
    const errors = types.has(type) ? [duplicate(at, type)] : [];
    types.add(type);
    return type === '' ? [...errors, required(at)] : errors;
  });
}
