/** Rules for paths within volumes: relative, and never out of the place they are meant to stay in. */
import { type FieldError, type FieldPath, invalid } from '../../../apimachinery/field-error.ts';

export function validateNoBacksteps(at: FieldPath, path: string): FieldError[] {
  return path.split('/').includes('..') ? [invalid(at, path, "must not contain '..'")] : [];
}

/** Relative, without steps back. */
export function validateDescendingPath(at: FieldPath, path: string): FieldError[] {
  const absolute = path.startsWith('/') ? [invalid(at, path, 'must be a relative path')] : [];
  return [...absolute, ...validateNoBacksteps(at, path)];
}

/** As above, and not one of the names that atomic updates of a volume use for themselves. */
export function validateVolumeFilePath(at: FieldPath, path: string): FieldError[] {
  const reserved =
    path.startsWith('..') && !path.startsWith('../') ? [invalid(at, path, "must not start with '..'")] : [];
  return [...validateDescendingPath(at, path), ...reserved];
}
