/**
 * Equality as upstream's registries mean it: absent, `null`, an empty text, list or map are one and the same, the order of keys is
 * of no account. An empty struct equals an absent one here too, which only makes updates that change nothing more common.
 */
export function semanticallyEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const compound = typeof a === 'object' && a !== null && typeof b === 'object' && b !== null;
  if (!compound || Array.isArray(a) !== Array.isArray(b)) return isNothing(a) && isNothing(b);
  if (Array.isArray(a)) {
    const other = b as readonly unknown[];
    return a.length === other.length && a.every((item, index) => semanticallyEqual(item, other[index]));
  }
  const left = a as Readonly<Record<string, unknown>>;
  const right = b as Readonly<Record<string, unknown>>;
  if (isNothing(left) || isNothing(right)) return isNothing(left) && isNothing(right);
  for (const key of Object.keys(left)) if (!semanticallyEqual(left[key], own(right, key))) return false;
  for (const key of Object.keys(right)) if (!Object.hasOwn(left, key) && !isNothing(right[key])) return false;
  return true;
}

function own(record: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (typeof value !== 'object') return false;
  for (const _ in value) return false;
  return true;
}
