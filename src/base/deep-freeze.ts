/** Data that many hold: frozen all the way down, and where two versions of it say the same, the same in memory. */

/** The root is frozen last: a frozen value is frozen throughout, and freezing again costs nothing. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) for (const item of value) deepFreeze(item);
  else for (const key in value) deepFreeze(value[key]);
  return Object.freeze(value);
}

type Fields = Record<string, unknown>;

/**
 * Of two versions of an object one keeps only what changed, and whoever compares them passes over the rest.
 *
 *     shareEqualParts({ a: { x: 1 }, b: { y: 2 } }, before)   with before { a: { x: 1 }, b: { y: 3 } }
 *     gives the first, whose `a` now is that of `before`
 *
 * Returns `before` where both are equal as JSON, else `next`, whose equal parts are replaced in place by those of `before`. `before` must be frozen.
 * Whatever of `next` is frozen already is left as it is: it is somebody else's, and shared.
 */
export function shareEqualParts<T>(next: T, before: unknown): T {
  return share(next, before) as T;
}

function share(next: unknown, before: unknown): unknown {
  if (next === before) return before;
  if (typeof next !== 'object' || typeof before !== 'object' || next === null || before === null) return next;
  if (Object.isFrozen(next)) return next;
  if (Array.isArray(next)) return Array.isArray(before) ? shareItems(next, before) : next;
  return Array.isArray(before) ? next : shareFields(next as Fields, before as Fields);
}

function shareItems(next: unknown[], before: readonly unknown[]): readonly unknown[] {
  let equal = next.length === before.length;
  const both = Math.min(next.length, before.length);
  for (let i = 0; i < both; i++) {
    if (next[i] === before[i]) continue;
    next[i] = share(next[i], before[i]);
    if (next[i] !== before[i]) equal = false;
  }
  return equal ? before : next;
}

function shareFields(next: Fields, before: Fields): Fields {
  let equal = true;
  let count = 0;
  for (const key in next) {
    const value = next[key];
    count++;
    if (value === before[key]) continue;
    // What every object has without owning it (`__proto__`) is not to be shared.
    if (typeof value !== 'object' || !Object.hasOwn(before, key)) {
      equal = false;
      continue;
    }
    const shared = share(value, before[key]);
    if (shared !== before[key]) equal = false;
    else if (key !== '__proto__') next[key] = shared;
  }
  if (equal) for (const _ in before) count--;
  return equal && count === 0 ? before : next;
}
