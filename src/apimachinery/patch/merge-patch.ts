/**
 * JSON Merge Patch (RFC 7386): objects are merged, `null` removes, everything else replaces. Nothing is changed in place; what the
 * patch does not touch is shared with the original.
 *
 *     applyMergePatch({ a: 1, b: { c: 2, d: 3 } }, { b: { c: null } })   // { a: 1, b: { d: 3 } }
 */
import { setOwn } from '../json-text.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The result for any JSON value and any patch. A server refuses a patch that is no object before it comes here. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const base = isObject(target) ? target : {};
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(base)) if (!Object.hasOwn(patch, key)) setOwn(result, key, base[key]);
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null || value === undefined) continue;
    setOwn(result, key, applyMergePatch(Object.hasOwn(base, key) ? base[key] : undefined, value));
  }
  return inOrderOf(base, result);
}

/**
 * The smallest patch that makes `from` into `to`, or undefined where nothing differs. A value that is `null` in `to` cannot be
 * expressed and comes out as absent; the API has none.
 */
export function createMergePatch(from: JsonObject, to: JsonObject): JsonObject | undefined {
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(from)) {
    if (from[key] !== undefined && (!Object.hasOwn(to, key) || to[key] === undefined)) setOwn(patch, key, null);
  }
  for (const key of Object.keys(to)) {
    const [before, after] = [Object.hasOwn(from, key) ? from[key] : undefined, to[key]];
    if (after === undefined || jsonEqual(before, after)) continue;
    if (isObject(before) && isObject(after)) setOwn(patch, key, createMergePatch(before, after) ?? {});
    else setOwn(patch, key, after);
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Equality of JSON values: order of keys does not count, undefined is as absent. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (a[i] !== b[i] && !jsonEqual(a[i], b[i])) return false;
    return true;
  }
  return !Array.isArray(b) && fieldsEqual(a as JsonObject, b as JsonObject);
}

/** Runs several times on every write, so it makes nothing. As many keys on both sides, and all of one side's on the other. */
function fieldsEqual(a: JsonObject, b: JsonObject): boolean {
  let left = 0;
  for (const key in a) {
    const value = a[key];
    if (value === undefined) continue;
    left++;
    const other = b[key];
    if (value === other) continue;
    // What is no value of its own but every object's (`__proto__`) can be told apart from all but an object.
    if (typeof value !== 'object' || !Object.hasOwn(b, key) || !jsonEqual(value, other)) return false;
  }
  for (const key in b) if (b[key] !== undefined) left--;
  return left === 0;
}

/** Equality of two objects in all fields but these. */
export function equalBut(ignored: ReadonlySet<string>, a: object, b: object): boolean {
  const [left, right] = [a as JsonObject, b as JsonObject];
  for (const key in left) {
    if (ignored.has(key)) continue;
    if (!jsonEqual(left[key], Object.hasOwn(right, key) ? right[key] : undefined)) return false;
  }
  for (const key in right) {
    if (!ignored.has(key) && right[key] !== undefined && !Object.hasOwn(left, key)) return false;
  }
  return true;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Keys keep the original's order, new ones follow: canonical JSON stays canonical. */
function inOrderOf(base: JsonObject, result: JsonObject): JsonObject {
  const ordered: Record<string, unknown> = {};
  for (const key of Object.keys(base)) if (Object.hasOwn(result, key)) setOwn(ordered, key, result[key]);
  for (const key of Object.keys(result)) if (!Object.hasOwn(ordered, key)) setOwn(ordered, key, result[key]);
  return ordered;
}
