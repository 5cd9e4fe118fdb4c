/**
 * The two senses of "unset" that defaulting knows. A field that upstream declares as a pointer is unset when absent; any other is
 * unset when it has its zero value too. Filling never changes what is set, which makes every default idempotent.
 */

/** Gives a field its default when it is absent. */
export function fillAbsent<T extends object, K extends keyof T>(object: T, field: K, value: NonNullable<T[K]>): void {
  if (object[field] === undefined || object[field] === null) object[field] = value;
}

/** Gives a field its default when it is absent, `''`, `0` or an empty list or map. */
export function fillEmpty<T extends object, K extends keyof T>(object: T, field: K, value: NonNullable<T[K]>): void {
  if (isEmpty(object[field])) object[field] = value;
}

/** Absent, `''`, `0`, `false`, or a list or map without entries. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0 || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/**
 * The part of an object that upstream declares as a struct, which is there even when nobody wrote it: made where it is missing, so
 * that whatever follows can rely on it.
 */
export function partOf<T extends object, K extends keyof T>(object: T, field: K): NonNullable<T[K]> {
  const present = object[field];
  if (present !== undefined && present !== null) return present;
  const made = {} as NonNullable<T[K]>;
  object[field] = made;
  return made;
}
