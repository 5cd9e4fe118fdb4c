/** Files within a volume: their modes, their paths, and what the downward API puts into them. */
import { type FieldError, type FieldPath, invalid, required } from '../../../apimachinery/field-error.ts';
import type { DownwardAPIVolumeFile, KeyToPath } from '../../gen/core-v1.ts';
import { validateFieldReference, validateResourceFieldReference } from './downward-validation.ts';
import { validateVolumeFilePath } from './paths.ts';

const fileModeMessage = 'must be a number between 0 and 0777 (octal), both inclusive';

export function validateFileMode(at: FieldPath, mode: number | undefined): FieldError[] {
  return mode != null && (mode < 0 || mode > 0o777) ? [invalid(at, mode, fileModeMessage)] : [];
}

export function validateKeyToPath(at: FieldPath, { key, path, mode }: KeyToPath): FieldError[] {
  return [
    ...(key ? [] : [required(at.child('key'))]),
    ...(path ? [] : [required(at.child('path'))]),
    ...validateVolumeFilePath(at.child('path'), path ?? ''),
    ...validateFileMode(at.child('mode'), mode),
  ];
}

const downwardVolumeFields = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];

/** Upstream blames the whole source, not the item, so that `at` is the source's. */
export function validateDownwardFile(at: FieldPath, file: DownwardAPIVolumeFile): FieldError[] {
  const errors = file.path ? [] : [required(at.child('path'))];
  errors.push(...validateVolumeFilePath(at.child('path'), file.path ?? ''));
  if (file.fieldRef) {
    errors.push(...validateFieldReference(at.child('fieldRef'), file.fieldRef, downwardVolumeFields));
    if (file.resourceFieldRef) {
      const message = 'fieldRef and resourceFieldRef can not be specified simultaneously';
      errors.push(invalid(at, 'resource', message));
    }
  } else if (file.resourceFieldRef) {
    errors.push(
      ...validateResourceFieldReference(at.child('resourceFieldRef'), file.resourceFieldRef, { inVolume: true }),
    );
  } else errors.push(required(at, 'one of fieldRef and resourceFieldRef is required'));
  return [...errors, ...validateFileMode(at.child('mode'), file.mode)];
}
