/**
 * What a write did to an object, as field sets: which fields it set (added or changed) and which it removed. Both objects are
 * walked together once along the shape; parts that are the same value cost nothing. A part that is new is in the set as a
 * whole: itself and all it holds. An empty list, map or struct counts as one field.
 */
import { setOwn } from '../json-text.ts';
import { isObject, jsonEqual } from '../patch/merge-patch.ts';
import { asMember, type FieldSet, finished, leaf, union } from './field-set.ts';
import {
  elementOrNone,
  isEmptyValue,
  type ListShape,
  type Shape,
  type StructField,
  type StructShape,
} from './shape.ts';

export interface Comparison {
  readonly set: FieldSet | undefined;
  readonly removed: FieldSet | undefined;
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** Objects of one kind and version in canonical form; compare a new object with `{}`, as upstream does. */
export function compareObjects(shape: Shape, before: JsonObject, after: JsonObject): Comparison {
  const walk = new ComparingWalk();
  // Most writes leave spec or status alone, and to see that they are equal takes less than to walk them along the table.
  const set = walk.compare(shape, before, after, jsonEqual);
  return { set, removed: walk.removed };
}

/** Whether two parts are seen to be equal before they are walked. */
type Passes = (a: unknown, b: unknown) => boolean;
const never: Passes = () => false;

type Children = Record<string, FieldSet>;

/** Gives what was set; what was removed below the last call is in `removed`. */
class ComparingWalk {
  removed: FieldSet | undefined;

  /** At least one side is there. */
  compare(shape: Shape, before: unknown, after: unknown, passes: Passes = never): FieldSet | undefined {
    this.removed = undefined;
    if (before === after) return undefined;
    if (before === undefined) return wholeOf(shape, after);
    if (after === undefined) {
      this.removed = wholeOf(shape, before);
      return undefined;
    }
    switch (shape.form) {
      case 'struct':
        if (shape.atomic || !isObject(before) || !isObject(after)) break;
        return shape.rest
          ? this.#open(shape, before, after, passes)
          : this.#fields(shape.fields, before, after, passes);
      case 'map':
        if (shape.atomic || !isObject(before) || !isObject(after)) break;
        return this.#entries(shape.values, before, after);
      case 'deduced':
        if (!isObject(before) || !isObject(after)) break;
        return this.#entries(shape, before, after);
      case 'list':
        if (shape.kind === 'atomic' || !Array.isArray(before) || !Array.isArray(after)) break;
        return this.#items(shape, before, after);
    }
    return jsonEqual(before, after) ? undefined : leaf;
  }

  #fields(fields: readonly StructField[], before: JsonObject, after: JsonObject, passes: Passes) {
    let set: Children | undefined;
    let removed: Children | undefined;
    for (const { name, element, shape, zero, omitsEmpty } of fields) {
      // A null that somebody wrote is a value.
      const a = before[name] === undefined ? zero : before[name];
      const b = after[name] === undefined ? zero : after[name];
      if (a === b || (omitsEmpty && (a === undefined ? isEmptyValue(b) : b === undefined && isEmptyValue(a)))) continue;
      if (passes(a, b)) continue;
      const node = this.compare(shape, a, b);
      if (node !== undefined) {
        set ??= {};
        set[element] = node;
      }
      if (this.removed !== undefined) {
        removed ??= {};
        removed[element] = this.removed;
      }
    }
    this.removed = removed;
    return set;
  }

  /** A struct that may hold what it does not declare. */
  #open(shape: StructShape, before: JsonObject, after: JsonObject, passes: Passes): FieldSet | undefined {
    const declared = this.#fields(shape.fields, before, after, passes);
    const { removed } = this;
    const others = this.#entries(shape.rest!, undeclared(shape, before), undeclared(shape, after));
    this.removed = union(removed, this.removed);
    return union(declared, others);
  }

  #entries(values: Shape, before: JsonObject, after: JsonObject): FieldSet | undefined {
    const set: Children = {};
    const removed: Children = {};
    const visit = (key: string) => {
      const a = own(before, key);
      const b = own(after, key);
      const node = this.compare(values, a, b);
      if (node !== undefined) set[`f:${key}`] = node;
      if (this.removed !== undefined) removed[`f:${key}`] = this.removed;
    };
    for (const key of Object.keys(after)) visit(key);
    for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) visit(key);
    this.removed = finished(removed, false);
    return finished(set, false);
  }

  #items(list: ListShape, before: readonly unknown[], after: readonly unknown[]): FieldSet | undefined {
    // Most writes leave most lists alone, and to say so is cheaper than to name all elements.
    if (jsonEqual(before, after)) return undefined;
    if (before.length === 0) return wholeItems(list, after);
    const old = byElement(list, before);
    const next = byElement(list, after);
    const set: Children = {};
    const removed: Children = {};
    const visit = (element: string, a: Occurrences | undefined, b: Occurrences | undefined) => {
      const repeated = (a?.length ?? 0) > 1 || (b?.length ?? 0) > 1;
      // What stands there several times has no parts: it is the same only as a whole.
      const node = repeated ? this.#repeated(a, b) : this.compare(list.items, a?.[0], b?.[0]);
      if (node !== undefined) set[element] = node;
      if (this.removed !== undefined) removed[element] = this.removed;
    };
    for (const [element, items] of next) visit(element, old.get(element), items);
    for (const [element, items] of old) if (!next.has(element)) visit(element, items, undefined);
    this.removed = finished(removed, false);
    return finished(set, false);
  }

  #repeated(before: Occurrences | undefined, after: Occurrences | undefined): FieldSet | undefined {
    this.removed = after === undefined ? leaf : undefined;
    return after === undefined || jsonEqual(before, after) ? undefined : leaf;
  }
}

type Occurrences = readonly unknown[];

/** Elements that are not as the list demands have no place in a field set. */
function byElement(list: ListShape, items: readonly unknown[]): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>();
  for (const item of items) {
    const element = elementOrNone(list, item);
    if (element === undefined) continue;
    const known = found.get(element);
    if (known) known.push(item);
    else found.set(element, [item]);
  }
  return found;
}

/** A value that is on one side only: itself and everything below. */
function wholeOf(shape: Shape, value: unknown): FieldSet {
  switch (shape.form) {
    case 'struct': {
      if (shape.atomic || !isObject(value)) return leaf;
      let children: Children | undefined;
      for (const { name, element, shape: part, zero, omitsEmpty } of shape.fields) {
        const field = value[name] === undefined ? zero : value[name];
        if (field === undefined || (omitsEmpty && isEmptyValue(field))) continue;
        children ??= { '.': leaf };
        children[element] = wholeOf(part, field);
      }
      const declared = children ?? leaf;
      return shape.rest ? union(declared, wholeMap(shape.rest, undeclared(shape, value)))! : declared;
    }
    case 'map':
      return shape.atomic || !isObject(value) ? leaf : wholeMap(shape.values, value);
    case 'deduced':
      return isObject(value) ? wholeMap(shape, value) : leaf;
    case 'list':
      return shape.kind === 'atomic' || !Array.isArray(value) ? leaf : asMember(wholeItems(shape, value));
    default:
      return leaf;
  }
}

/** All elements of a list, but not the list itself. */
function wholeItems(list: ListShape, items: readonly unknown[]): FieldSet | undefined {
  const children: Children = {};
  for (const item of items) {
    const element = elementOrNone(list, item);
    if (element === undefined) continue;
    children[element] = children[element] === undefined ? wholeOf(list.items, item) : leaf;
  }
  return finished(children, false);
}

function wholeMap(values: Shape, value: JsonObject): FieldSet {
  const children: Children = { '.': leaf };
  let last: string | undefined;
  let sorted = true;
  for (const key in value) {
    children[`f:${key}`] = wholeOf(values, value[key]);
    if (last !== undefined && key < last) sorted = false;
    last = key;
  }
  if (last === undefined) return leaf;
  if (sorted) return children;
  delete children['.'];
  return asMember(finished(children, true));
}

function undeclared({ byName }: StructShape, value: JsonObject): JsonObject {
  const rest: Record<string, unknown> = {};
  for (const key of Object.keys(value)) if (!byName.has(key)) setOwn(rest, key, value[key]);
  return rest;
}

function own(value: JsonObject, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}
