/**
 * Sets of fields, in the very form of FieldsV1, so that nothing is parsed or encoded between an object's managedFields and the algebra:
 *
 *     { 'f:spec': { 'f:replicas': {}, 'f:template': { '.': {}, 'f:metadata': {} } } }
 *
 * holds `spec.replicas`, `spec.template` and `spec.template.metadata`, but not `spec`: a node without children is in the set, one with
 * children only when it has a `.`. Sets are immutable and share what they have in common. The empty set is undefined (its JSON, `{}`,
 * stands only at the root). Order of keys has no meaning, but is kept as upstream writes it.
 */
import { setOwn } from '../json-text.ts';
import { canonicalElement, compareElements, elementText } from './path-element.ts';

export interface FieldSet {
  readonly [element: string]: FieldSet;
}

type Node = Record<string, FieldSet>;

/** The one field that is nothing but itself. */
export const leaf: FieldSet = Object.freeze({});
const self = '.';

/** Whether the node itself is in the set, not only what is below it. */
export function isMember(node: FieldSet): boolean {
  if (Object.hasOwn(node, self)) return true;
  for (const _ in node) return false;
  return true;
}

/** The node with itself in the set. */
export function asMember(node: FieldSet | undefined): FieldSet {
  if (node === undefined) return leaf;
  return isMember(node) ? node : { [self]: leaf, ...node };
}

/** A set of one field, from the steps that lead to it. */
export function fieldSetOf(...elements: readonly string[]): FieldSet {
  let node = leaf;
  for (let i = elements.length - 1; i >= 0; i--) node = { [elements[i]!]: node };
  return node;
}

export function union(a: FieldSet | undefined, b: FieldSet | undefined): FieldSet | undefined {
  if (a === undefined || a === b) return b;
  if (b === undefined) return a;
  const member = isMember(a) || isMember(b);
  const result: Node = {};
  let changed = member !== isMember(a);
  for (const element of Object.keys(a)) {
    if (element === self) continue;
    const merged = union(a[element], b[element])!;
    if (merged !== a[element]) changed = true;
    result[element] = merged;
  }
  for (const element of Object.keys(b)) {
    if (element === self || result[element] !== undefined) continue;
    result[element] = b[element]!;
    changed = true;
  }
  return changed ? finished(result, member) : a;
}

export function difference(a: FieldSet | undefined, b: FieldSet | undefined): FieldSet | undefined {
  if (a === undefined || b === undefined) return a;
  const before = isMember(a);
  const member = before && !isMember(b);
  // What is taken away is mostly little, and what it is taken from may be a hundred thousand keys.
  let changes: Map<string, FieldSet | undefined> | undefined;
  for (const element in b) {
    const own = element === self ? undefined : a[element];
    const kept = difference(own, b[element]);
    if (kept === own) continue;
    changes ??= new Map();
    changes.set(element, kept);
  }
  if (!changes && member === before) return a;
  const result: Node = {};
  for (const element of Object.keys(a)) {
    const kept = changes?.has(element) ? changes.get(element) : a[element];
    if (element !== self && kept !== undefined) result[element] = kept;
  }
  return finished(result, member);
}

export function intersection(a: FieldSet | undefined, b: FieldSet | undefined): FieldSet | undefined {
  if (a === undefined || b === undefined) return undefined;
  const result: Node = {};
  for (const element of Object.keys(a)) {
    if (element === self) continue;
    const both = intersection(a[element], b[element]);
    if (both !== undefined) result[element] = both;
  }
  return finished(result, isMember(a) && isMember(b));
}

/** Takes away what is in `b` together with everything below it. */
export function without(a: FieldSet | undefined, b: FieldSet | undefined): FieldSet | undefined {
  if (a === undefined || b === undefined) return a;
  if (isMember(b)) return undefined;
  const result: Node = {};
  let changed = false;
  for (const element of Object.keys(a)) {
    if (element === self) continue;
    const below = b[element];
    const kept = below === undefined ? a[element] : without(a[element], below);
    if (kept !== a[element]) changed = true;
    if (kept !== undefined) result[element] = kept;
  }
  return changed ? finished(result, isMember(a)) : a;
}

/** Keeps the children whose step passes, whole. */
function onlyElements(set: FieldSet | undefined, keeps: (element: string) => boolean): FieldSet | undefined {
  if (set === undefined) return undefined;
  const elements = Object.keys(set);
  if (elements.every(keeps)) return set;
  const result: Node = {};
  for (const element of elements) if (keeps(element)) result[element] = set[element]!;
  return finished(result, false);
}

/** Every field of the set as a message prints it (`.spec.ports[port=80].name`): those of a node before those below it. */
export function pathsOf(set: FieldSet | undefined, prefix = ''): string[] {
  if (set === undefined) return [];
  const children = Object.keys(set).filter((element) => element !== self);
  const named = children.map((element) => [prefix + elementText(element), set[element]!] as const);
  return [
    ...named.filter(([, node]) => isMember(node)).map(([path]) => path),
    ...named.flatMap(([path, node]) => pathsOf(node, path)),
  ];
}

/** A set that came from outside, in its one spelling. Throws `Error` when it is none. */
export function parseFieldSet(value: unknown): FieldSet | undefined {
  if (value === undefined || value === null) return undefined;
  const node = parseNode(value);
  return Object.keys(node).length === 0 ? undefined : onlyElements(node, (element) => element !== self);
}

function parseNode(value: unknown): FieldSet {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('fields must be objects');
  const result: Node = {};
  let member = false;
  for (const [text, child] of Object.entries(value)) {
    if (text === self) {
      member = true;
      continue;
    }
    const element = canonicalElement(text);
    if (element !== undefined) setOwn(result, element, union(result[element], parseNode(child)));
  }
  return finished(result, member) ?? leaf;
}

/** A node of these children, in order; undefined when nothing is left of it. Takes `children` over. */
export function finished(children: Node, member: boolean): FieldSet | undefined {
  const elements = Object.keys(children);
  if (elements.length === 0) return member ? leaf : undefined;
  let sorted = true;
  for (let i = 1; i < elements.length && sorted; i++) sorted = compareElements(elements[i - 1]!, elements[i]!) < 0;
  if (sorted && !member) return children;
  if (!sorted) elements.sort(compareElements);
  const result: Node = member ? { [self]: leaf } : {};
  for (const element of elements) result[element] = children[element]!;
  return result;
}
