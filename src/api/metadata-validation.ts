/** Parts of ObjectMeta that also stand where no object of its own does: in templates, in objects inside others. */
import { type FieldError, type FieldPath, forbidden, tooLong } from '../apimachinery/field-error.ts';
import { validateLabels } from '../apimachinery/labels.ts';
import type { ObjectMeta } from '../apimachinery/meta.ts';
import { byteLength, dns1123Label, nameIsPathSegment, qualifiedName } from '../apimachinery/names.ts';
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

/** Metadata of an object inside another: its name, and whether it has one, is nobody's rule, and its references are not followed. */
export function validateEmbeddedMetadata(metadata: ObjectMeta, at: FieldPath): FieldError[] {
  const { name, generateName, namespace, labels, annotations } = metadata;
  return [
    ...(generateName ? refused(at.child('generateName'), generateName, nameIsPathSegment(generateName, true)) : []),
    ...(name ? refused(at.child('name'), name, nameIsPathSegment(name, false)) : []),
    ...(namespace ? refused(at.child('namespace'), namespace, dns1123Label(namespace)) : []),
    ...validateLabels(labels, at.child('labels')),
    ...validateAnnotations(at.child('annotations'), annotations),
  ];
}

/** Metadata for objects yet to be made, each of which gets a name and a life of its own: labels and annotations, and nothing else. */
export function validateTemplateMetadata(at: FieldPath, metadata: ObjectMeta | undefined): FieldError[] {
  const { annotations, labels, ...others } = metadata ?? {};
  return [
    ...validateAnnotations(at.child('annotations'), annotations),
    ...validateLabels(labels, at.child('labels')),
    ...Object.entries(others)
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([field]) => forbidden(at.child(field), 'cannot be set')),
  ];
}
