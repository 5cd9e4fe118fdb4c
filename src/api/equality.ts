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
    if (a.length !== other.length) return false;
    for (let i = 0; i < a.length; i++) if (!semanticallyEqual(a[i], other[i])) return false;
    return true;
  }
  return fieldsEqual(a as Fields, b as Fields);
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsEqual(left: Fields, right: Fields): boolean {
  let leftIsEmpty = true;
  let rightIsEmpty = true;
  for (const key in left) {
    leftIsEmpty = false;
    const value = left[key];
    const other = right[key];
    if (value !== other && !semanticallyEqual(value, isInherited(other) ? undefined : other)) return false;
  }
  for (const key in right) {
    rightIsEmpty = false;
    const value = left[key];
    if ((value === undefined || isInherited(value)) && !isNothing(right[key])) return false;
  }
  return leftIsEmpty === rightIsEmpty;
}

/** What every object answers to `constructor` or `__proto__` where it has no such field of its own. */
function isInherited(value: unknown): boolean {
  return typeof value === 'function' || value === Object.prototype;
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (typeof value !== 'object') return false;
  for (const _ in value) return false;
  return true;
}
