/** Parameters that a class hands to its driver, and the driver's name. */
import { type FieldError, type FieldPath, invalid, required, tooLong } from '../../../apimachinery/field-error.ts';
import { byteLength } from '../../../apimachinery/names.ts';
import { entriesOf, validateQualifiedName } from '../../validation.ts';

const mostParameters = 512;
const mostBytes = 256 * 1024;

export function validateParameters(
  at: FieldPath,
  parameters: Readonly<Record<string, string>> | undefined,
  options: { readonly mayBeEmpty: boolean },
): FieldError[] {
  const entries = entriesOf(parameters);
  if (entries.length > mostParameters) return [tooLong(at, mostParameters)];
  const errors = entries.filter(([key]) => key === '').map(([key]) => invalid(at, key, 'field can not be empty.'));
  const size = entries.reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0);
  if (size > mostBytes) errors.push(tooLong(at, mostBytes));
  if (!options.mayBeEmpty && entries.length === 0) {
    errors.push(required(at, 'must contain at least one key/value pair'));
  }
  return errors;
}

export function validateDriver(at: FieldPath, driver: string | undefined): FieldError[] {
  return driver ? validateQualifiedName(at, driver.toLowerCase()) : [required(at)];
}
