/** ConfigMaps: texts and bytes by name, for Pods to read. */
import { type FieldError, forbidden, invalid, path, tooLong } from '../../../apimachinery/field-error.ts';
import { byteLength, configMapKey } from '../../../apimachinery/names.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { semanticallyEqual } from '../../equality.ts';
import { type ConfigMap, configMaps } from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { entriesOf, refused } from '../../validation.ts';
import { base64Length, largestSecretBytes } from './byte-sizes.ts';

export const configMapBehaviour: KindBehaviour<ConfigMap> = {
  resource: configMaps,
  validate,
  validateUpdate: (configMap, previous) => [
    ...validateImmutability(configMap, previous, ['data', 'binaryData']),
    ...validate(configMap),
  ],
  columns: [
    nameColumn,
    text('Data', ({ data, binaryData }) => entriesOf(data).length + entriesOf(binaryData).length),
    ageColumn,
  ],
};

function validate({ data, binaryData }: ConfigMap): FieldError[] {
  const errors: FieldError[] = [];
  let size = 0;
  for (const [key, value] of entriesOf(data)) {
    const at = path('data').key(key);
    errors.push(...refused(at, key, configMapKey(key)));
    if (Object.hasOwn(binaryData ?? {}, key)) {
      errors.push(invalid(at, key, 'duplicate of key present in binaryData'));
    }
    size += byteLength(value);
  }
  for (const [key, value] of entriesOf(binaryData)) {
    errors.push(...refused(path('binaryData').key(key), key, configMapKey(key)));
    size += base64Length(value);
  }
  // Of the whole object; upstream writes its nameless path so.
  return size > largestSecretBytes ? [...errors, tooLong(path('[]'), largestSecretBytes)] : errors;
}

/** What was declared immutable once stays, the declaration included. */
export function validateImmutability<T extends { readonly immutable?: boolean | undefined }>(
  next: T,
  previous: T,
  fields: readonly (keyof T & string)[],
): FieldError[] {
  if (!previous.immutable) return [];
  const message = 'field is immutable when `immutable` is set';
  const errors = next.immutable ? [] : [forbidden(path('immutable'), message)];
  for (const field of fields) {
    if (!semanticallyEqual(next[field], previous[field])) errors.push(forbidden(path(field), message));
  }
  return errors;
}
