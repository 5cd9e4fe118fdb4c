/**
 * Strategic merge patch: a merge patch that knows the kinds. Lists that the kind tables mark with `patchStrategy: merge` are merged
 * element by element along `patchMergeKey` instead of being replaced, and directives in the patch say more:
 *
 *     { containers: [{ name: 'a', image: 'x' }] }               changes container a, keeps the others
 *     { containers: [{ name: 'a', $patch: 'delete' }] }         removes container a
 *     { $patch: 'replace', ... }                                replaces this object (or, within a list, the list)
 *     { $retainKeys: ['type'] }                                 drops all other keys of this object
 *     { '$deleteFromPrimitiveList/finalizers': ['x'] }          removes values from a list of scalars
 *     { '$setElementOrder/containers': [{ name: 'b' }, ...] }   puts the merged list in this order
 *
 * Nothing is changed in place. Order of merged lists is upstream's: elements of the patch in the patch's order, the others in
 * theirs, interleaved by where the original had them.
 */
import { goJson, goType, goValue } from '../go-text.ts';
import { setOwn } from '../json-text.ts';
import { badRequest, genericServerResponse, statusError } from '../status.ts';
import { isObject } from './merge-patch.ts';

const directive = '$patch';
const retainKeys = '$retainKeys';
const deleteFromList = '$deleteFromPrimitiveList';
const setElementOrder = '$setElementOrder';

type JsonObject = Readonly<Record<string, unknown>>;
type MutableObject = Record<string, unknown>;

/** What merging needs to know of a field: `FieldSchema` of the kind tables has this form. */
export interface PatchField {
  readonly patchStrategy?: string | undefined;
  readonly patchMergeKey?: string | undefined;
  readonly list?: boolean | undefined;
  /** The type of the field's value, of its elements for a list or map; undefined for scalars. */
  readonly ref?: PatchType | undefined;
}

/** What merging needs to know of a type: `TypeSchema` of the kind tables has this form. */
export interface PatchType {
  readonly name: string;
  readonly byName: ReadonlyMap<string, PatchField>;
}

/** Throws `StatusError`: 400 for a malformed patch, 422 for lists of lists, 500 for what does not fit the tables (as upstream). */
export function applyStrategicMergePatch(document: JsonObject, patch: JsonObject, type: PatchType): JsonObject {
  return mergeObjects(document, patch, type);
}

/** `type` is undefined inside values the tables know nothing of: there, lists are replaced. */
function mergeObjects(original: JsonObject, patch: JsonObject, type: PatchType | undefined): JsonObject {
  if (Object.hasOwn(patch, directive)) return replaceOrDelete(patch);
  const result = retained(original, patch);
  const rest = new Map(Object.entries(patch).filter(([key]) => key !== retainKeys));
  for (const [key, order] of [...rest]) {
    if (!key.startsWith(setElementOrder)) continue;
    rest.delete(key);
    mergeOrdered(result, rest, { field: fieldOfDirective(key, setElementOrder), order, type });
  }
  for (const [key, value] of rest) {
    if (key.startsWith(deleteFromList)) deleteValues(result, fieldOfDirective(key, deleteFromList), value);
    else mergeField(result, key, value, type);
  }
  return result;
}

function replaceOrDelete(patch: JsonObject): JsonObject {
  const kind = patch[directive];
  if (kind === 'delete') return {};
  if (kind !== 'replace') throw unknownPatchType(patch);
  const { [directive]: _, ...rest } = patch;
  return rest;
}

function mergeField(result: MutableObject, key: string, value: unknown, type: PatchType | undefined): void {
  if (value === undefined) return;
  if (value === null) {
    delete result[key];
    return;
  }
  const present = Object.hasOwn(result, key) ? result[key] : undefined;
  if (isObject(present) && isObject(value)) {
    const field = lookUp(type, key);
    setOwn(result, key, hasStrategy(field, 'replace') ? value : mergeObjects(present, value, field?.ref));
  } else if (Array.isArray(present) && Array.isArray(value)) {
    setOwn(result, key, mergeLists(present, value, lookUp(type, key)));
  } else {
    const plain = withoutDirectives(value);
    if (plain === undefined) delete result[key];
    else setOwn(result, key, plain);
  }
}

function mergeLists(original: readonly unknown[], patch: readonly unknown[], field: PatchField | undefined): unknown[] {
  if (!hasStrategy(field, 'merge')) return [...patch];
  if (original.length === 0 && patch.length === 0) return [];
  if (holdObjects([original, patch])) {
    return mergeObjectLists(original as readonly JsonObject[], patch as readonly JsonObject[], field!);
  }
  return interleave([...new Set([...original, ...patch])], patch, original, (item) => item);
}

function mergeObjectLists(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  field: PatchField,
): JsonObject[] {
  const key = field.patchMergeKey;
  if (key === undefined) throw plainError('cannot merge lists without merge key for struct');
  const changes = patch.filter((item) => !Object.hasOwn(item, directive));
  let base = original;
  for (const item of patch) {
    if (!Object.hasOwn(item, directive)) continue;
    if (item[directive] === 'replace') return changes.map((change) => withoutDirectives(change) as JsonObject);
    if (item[directive] === 'merge') throw plainError('merging lists cannot yet be specified in the patch');
    if (item[directive] !== 'delete') throw unknownPatchType(item);
    const value = keyOf(item, key);
    base = base.filter((other) => other[key] !== value);
  }
  const merged = [...base];
  for (const change of changes) {
    const value = keyOf(change, key);
    const index = merged.findIndex((item) => item[key] === value);
    if (index >= 0) merged[index] = mergeObjects(merged[index]!, change, field.ref);
    else merged.push(withoutDirectives(change) as JsonObject);
  }
  // A `$patch` inside a merged element can have taken its key away; such an element cannot be placed.
  return interleave(merged, changes, base, (item) => keyOf(item, key));
}

interface OrderDirective {
  readonly field: string;
  readonly order: unknown;
  readonly type: PatchType | undefined;
}

/** Merges one list and puts it in the order that the patch asks for. Takes the list's own entry out of `rest`. */
function mergeOrdered(result: MutableObject, rest: Map<string, unknown>, asked: OrderDirective): void {
  const { field: name, order, type } = asked;
  const field = lookUp(type, name);
  const original = Object.hasOwn(result, name) ? result[name] : undefined;
  const patch = rest.get(name) ?? undefined;
  if (!Array.isArray(order)) throw badOrderFormat();
  for (const list of [original, patch]) {
    if (list === undefined || Array.isArray(list)) continue;
    throw plainError(`expected a []interface {}, but received a ${goType(list)}`);
  }
  const patchList = patch as readonly unknown[] | undefined;
  const originalList = original as readonly unknown[] | undefined;
  if (rest.has(name) && patchList === undefined) return;
  if (!originalList && !patchList) return;
  const key = field?.patchMergeKey;
  const identify = (item: unknown) => (key === undefined ? item : keyOf(item as JsonObject, key));
  checkOrder(patchList ?? [], order, identify);
  rest.delete(name);
  const merged =
    originalList && patchList
      ? mergeLists(originalList, patchList, field)
      : (originalList ?? (withoutDirectives(patchList) as unknown[]));
  setOwn(result, name, interleave(merged, order, originalList ?? [], identify));
}

/** The patch's own elements must stand in the order that the patch declares. */
function checkOrder(patch: readonly unknown[], order: readonly unknown[], identify: (item: unknown) => unknown): void {
  const items = patch.filter((item) => !(isObject(item) && Object.hasOwn(item, directive)));
  if (items.length === 0 || order.length === 0) return;
  const positions = order.map(identify);
  let at = 0;
  for (const item of items) {
    at = positions.indexOf(identify(item), at) + 1;
    if (at > 0) continue;
    throw plainError(
      `The order in patch list:\n${goValue(patch)}\n doesn't match ${setElementOrder} list:\n${goValue(order)}\n`,
    );
  }
}

/**
 * Elements that the patch names, in its order, merged with those it does not name, in the original's order: of two heads the one
 * that the original had first comes first; where the original does not have both, the patch's goes first.
 *
 *     merged [a b c d], patch order [d b], original [a b c d]   ->   a d b c
 */
function interleave<T>(
  merged: readonly T[],
  patchOrder: readonly unknown[],
  originalOrder: readonly unknown[],
  identify: (item: T) => unknown,
): T[] {
  const ranks = (order: readonly unknown[]) => {
    const rank = new Map<unknown, number>();
    for (const [index, item] of order.entries()) {
      const identity = identify(item as T);
      if (!rank.has(identity)) rank.set(identity, index);
    }
    return (item: T) => rank.get(identify(item)) ?? -1;
  };
  const [inPatch, inOriginal] = [ranks(patchOrder), ranks(originalOrder)];
  const named = merged.filter((item) => inPatch(item) >= 0).sort((a, b) => inPatch(a) - inPatch(b));
  const others = merged.filter((item) => inPatch(item) < 0).sort((a, b) => inOriginal(a) - inOriginal(b));
  const result: T[] = [];
  let [i, j] = [0, 0];
  while (i < others.length && j < named.length) {
    const [left, right] = [inOriginal(others[i]!), inOriginal(named[j]!)];
    result.push(left >= 0 && right >= 0 && left < right ? others[i++]! : named[j++]!);
  }
  return [...result, ...others.slice(i), ...named.slice(j)];
}

function deleteValues(result: MutableObject, name: string, values: unknown): void {
  const list = Object.hasOwn(result, name) ? result[name] : undefined;
  if (values === null || !Array.isArray(list)) return;
  if (!Array.isArray(values)) throw badRequest('invalid patch format of primitive list');
  setOwn(
    result,
    name,
    list.filter((item) => !values.includes(item)),
  );
}

function retained(original: JsonObject, patch: JsonObject): MutableObject {
  const keep = patch[retainKeys];
  if (keep === undefined) return copyKeys(original, () => true);
  const wrong = () => badRequest('invalid patch format of retainKeys');
  if (!Array.isArray(keep)) throw wrong();
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || key === retainKeys || key.startsWith(deleteFromList) || key.startsWith(setElementOrder))
      continue;
    if (!keep.includes(key)) throw wrong();
  }
  return copyKeys(original, (key) => keep.includes(key));
}

function copyKeys(from: JsonObject, wanted: (key: string) => boolean): MutableObject {
  const copy: MutableObject = {};
  for (const key of Object.keys(from)) if (wanted(key)) setOwn(copy, key, from[key]);
  return copy;
}

/** A value of the patch that meets nothing to merge with: nulls and directives mean nothing there. Undefined: it was a directive itself. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, directive)) return undefined;
  const plain: MutableObject = {};
  for (const [key, field] of Object.entries(value)) {
    if (field === null || key === retainKeys || key.startsWith(deleteFromList) || key.startsWith(setElementOrder))
      continue;
    const kept = withoutDirectives(field);
    if (kept !== undefined) setOwn(plain, key, kept);
  }
  return plain;
}

/** `$setElementOrder/containers` -> `containers`. */
function fieldOfDirective(key: string, prefix: string): string {
  if (key.startsWith(`${prefix}/`)) return key.slice(prefix.length + 1);
  throw prefix === setElementOrder ? badOrderFormat() : badRequest('invalid patch format of primitive list');
}

function lookUp(type: PatchType | undefined, name: string): PatchField | undefined {
  const field = type?.byName.get(name);
  if (type && !field)
    throw plainError(`unable to find api field in struct ${type.name} for the json field ${goJson(name)}`);
  return field;
}

/** `merge,retainKeys` names two strategies. */
function hasStrategy(field: PatchField | undefined, strategy: string): boolean {
  return field?.patchStrategy?.split(',').includes(strategy) ?? false;
}

/** Whether the lists hold objects; refuses what is mixed and lists of lists. */
function holdObjects(lists: readonly (readonly unknown[])[]): boolean {
  const items = lists.flatMap((list) => [...list]);
  if (items.some((item) => Array.isArray(item))) throw genericServerResponse({ code: 422, method: '' });
  const objects = items.filter(isObject).length;
  if (objects !== 0 && objects !== items.length) {
    throw plainError(`list element types are not identical: ${goValue(lists)}`);
  }
  return objects > 0;
}

function keyOf(item: JsonObject, key: string): unknown {
  if (isObject(item) && Object.hasOwn(item, key)) return item[key];
  throw plainError(`map: ${goValue(item)} does not contain declared merge key: ${key}`);
}

function badOrderFormat(): Error {
  return badRequest('invalid patch format of setElementOrder list');
}

function unknownPatchType(patch: JsonObject): Error {
  return plainError(`unknown patch type: ${goValue(patch[directive])} in map: ${goValue(patch)}`);
}

/** Upstream returns these without a status of their own, which its server answers as 500 with the bare text. */
function plainError(message: string): Error {
  return statusError({ code: 500, reason: '', message });
}
