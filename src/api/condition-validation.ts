/** Conditions of the common form (meta/v1 `Condition`) in a status: one a type, each complete. */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  required,
  tooLong,
} from '../apimachinery/field-error.ts';
import type { Condition } from '../apimachinery/gen/meta-v1.ts';
import { byteLength, regexMessage } from '../apimachinery/names.ts';
import { validateNonNegative, validateQualifiedName } from './validation.ts';

const reasonFormat = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const reasonPattern = new RegExp(`^${reasonFormat}$`);
const longest = { reason: 1024, message: 32 * 1024 } as const;
const statuses = ['False', 'True', 'Unknown'];

export function validateConditions(at: FieldPath, conditions: readonly Condition[]): FieldError[] {
  const types = new Set<string>();
  return conditions.flatMap((condition, index) => {
    const here = at.index(index);
    const { type = '', status, observedGeneration, lastTransitionTime, reason = '', message = '' } = condition;
    const errors = validateQualifiedName(here.child('type'), type);
    if (types.has(type)) errors.push(duplicate(here.child('type'), type));
    types.add(type);
    if (!statuses.includes(status)) errors.push(notSupported(here.child('status'), status ?? '', statuses));
    errors.push(...validateNonNegative(here.child('observedGeneration'), observedGeneration));
    if (!lastTransitionTime) errors.push(required(here.child('lastTransitionTime'), 'must be set'));
    errors.push(...validateReason(here.child('reason'), reason));
    if (byteLength(message) > longest.message) errors.push(tooLong(here.child('message'), longest.message));
    return errors;
  });
}

function validateReason(at: FieldPath, reason: string): FieldError[] {
  if (reason === '') return [required(at, 'must be set')];
  const errors: FieldError[] = [];
  if (!reasonPattern.test(reason)) {
    const rule =
      "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";
    errors.push(
      invalid(
        at,
        reason,
        regexMessage(rule, reasonFormat, 'my_name', 'MY_NAME', 'MyName', 'ReasonA,ReasonB', 'ReasonA:ReasonB'),
      ),
    );
  }
  return byteLength(reason) > longest.reason ? [...errors, tooLong(at, longest.reason)] : errors;
}
