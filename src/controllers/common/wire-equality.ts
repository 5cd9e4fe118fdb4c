/**
 * Equality of API values as the wire sees them: a field that is absent equals one that is undefined, an empty list or an empty map,
 * for encoding drops all of them. Key order does not matter, order within lists does.
 */
export function equalOnWire(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isEmpty(a) && isEmpty(b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => equalOnWire(item, b[index]));
  }
  const left = a as Readonly<Record<string, unknown>>;
  const right = b as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(left)) if (!equalOnWire(left[key], right[key])) return false;
  for (const key of Object.keys(right)) if (!(key in left) && !isEmpty(right[key])) return false;
  return true;
}

/** An empty struct stays different from an absent one, as a pointer's presence can mean something (`emptyDir: {}`). */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

/** Equality of statuses: counts that are 0 are left out on the wire, so 0 and absent are the same at the top level. */
export function sameStatus(a: object | undefined, b: object | undefined): boolean {
  return equalOnWire(withoutZeros(a), withoutZeros(b));
}

function withoutZeros(status: object | undefined): unknown {
  return Object.fromEntries(Object.entries(status ?? {}).filter(([, value]) => value !== 0 && value !== ''));
}
