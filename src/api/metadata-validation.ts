/** Parts of ObjectMeta that also stand where no object does: in templates. */
import { type FieldError, type FieldPath, tooLong } from '../apimachinery/field-error.ts';
import { byteLength, qualifiedName } from '../apimachinery/names.ts';
import { entriesOf, refused } from './validation.ts';

const mostAnnotationBytes = 256 * 1024;

export function validateAnnotations(
  at: FieldPath,
  annotations: Readonly<Record<string, string>> | undefined,
): FieldError[] {
  const errors = entriesOf(annotations).flatMap(([key]) => refused(at, key, qualifiedName(key.toLowerCase())));
  const size = entriesOf(annotations).reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0);
  return size > mostAnnotationBytes ? [...errors, tooLong(at, mostAnnotationBytes)] : errors;
}
