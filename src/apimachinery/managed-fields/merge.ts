/**
 * Merging an applied configuration into an object, and taking fields out of one. What the configuration says wins, what it does not speak of
 * stays; elements of lists with keys are merged one by one. Nothing is changed in place.
 *
 * Order of a merged list: elements of both keep the order of the configuration, those of the object alone stay where they stood
 * before or after these.
 */
import { setOwn } from '../json-text.ts';
import { isObject } from '../patch/merge-patch.ts';
import { type FieldSet, finished, isMember } from './field-set.ts';
import { elementOf, elementOrNone, type ListShape, type Shape, shapeOfField } from './shape.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The configuration must be free of errors. `undefined` on a side means that nothing is there. */
export function mergeConfiguration(shape: Shape, live: unknown, config: unknown): unknown {
  if (config === undefined) return live;
  if (live === undefined && !isObject(config)) return config;
  switch (shape.form) {
    case 'struct':
      if (shape.atomic) return config;
      return mergeMaps(live, config, (key) => shapeOfField(shape, key));
    case 'map':
      if (shape.atomic) return config;
      return mergeMaps(live, config, () => shape.values);
    case 'deduced':
      return isObject(config) && (live === undefined || isObject(live)) ? mergeMaps(live, config, () => shape) : config;
    case 'list':
      if (shape.kind === 'atomic' || !Array.isArray(live)) return config;
      return mergeLists(shape, live, config);
    default:
      return config;
  }
}

function mergeMaps(live: unknown, config: unknown, shapeOf: (key: string) => Shape | undefined): unknown {
  // An explicit null says nothing about what is in the object.
  if (config === null) return isObject(live) && Object.keys(live).length > 0 ? live : config;
  if (!isObject(config)) return config;
  const before = isObject(live) ? live : {};
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(before)) setOwn(result, key, before[key]);
  for (const key of Object.keys(config)) {
    const shape = shapeOf(key);
    if (!shape) continue;
    const value = mergeConfiguration(shape, Object.hasOwn(before, key) ? before[key] : undefined, config[key]);
    if (value !== undefined) setOwn(result, key, value);
  }
  return result;
}

function mergeLists(list: ListShape, live: readonly unknown[], config: unknown): unknown {
  if (!Array.isArray(config)) return live.length > 0 ? live : config;
  const left = live.map((item) => ({ item, element: elementOrNone(list, item) }));
  const right = config.map((item: unknown) => ({ item, element: elementOf(list, item) }));
  const wanted = new Set(right.map(({ element }) => element));
  const counts = new Map<string, number>();
  for (const { element } of left) if (element !== undefined) counts.set(element, (counts.get(element) ?? 0) + 1);
  const standing = new Map(left.map(({ element, item }) => [element, item]));
  // What stands there several times is not merged but replaced.
  const merged = (element: string, item: unknown) =>
    mergeConfiguration(list.items, counts.get(element) === 1 ? standing.get(element) : undefined, item);
  return interleave(left, right, { wanted, shared: right.filter(({ element }) => counts.has(element)), merged });
}

interface Placed {
  readonly item: unknown;
  readonly element: string | undefined;
}

interface Interleaving {
  readonly wanted: ReadonlySet<string | undefined>;
  /** Elements of both, in the order they shall have. */
  readonly shared: readonly Placed[];
  merged(element: string, item: unknown): unknown;
}

function interleave(left: readonly Placed[], right: readonly Placed[], { wanted, shared, merged }: Interleaving) {
  const result: unknown[] = [];
  const placed = new Set<string | undefined>();
  let next = 0;
  let l = 0;
  let r = 0;
  const take = () => {
    const { element, item } = right[r++]!;
    placed.add(element);
    result.push(merged(element!, item));
    if (shared[next]?.element === element) next++;
  };
  while (l < left.length || r < right.length) {
    const standing = left[l];
    if (standing && !wanted.has(standing.element)) {
      result.push(standing.item);
      l++;
    } else if (standing && r < right.length && standing.element === right[r]!.element) {
      take();
      l++;
    } else if (standing && r < right.length && next < shared.length && shared[next]!.element !== standing.element) {
      // Its place is where the configuration has it.
      l++;
    } else {
      if (standing && placed.has(standing.element)) l++;
      if (r < right.length) take();
    }
  }
  return result;
}

/** The value without the fields of the set. What is emptied by it stays, empty, unless it is in the set itself. */
export function removeFields(shape: Shape, value: unknown, set: FieldSet | undefined): unknown {
  if (set === undefined) return value;
  switch (shape.form) {
    case 'struct':
      return shape.atomic || !isObject(value) ? value : removeKeys(value, set, (key) => shapeOfField(shape, key));
    case 'map':
      return shape.atomic || !isObject(value) ? value : removeKeys(value, set, () => shape.values);
    case 'deduced':
      return isObject(value) ? removeKeys(value, set, () => shape) : value;
    case 'list': {
      if (shape.kind === 'atomic' || !Array.isArray(value)) return value;
      return value.flatMap((item: unknown) => {
        const element = elementOrNone(shape, item);
        const node = element === undefined ? undefined : set[element];
        if (node === undefined) return [item];
        return isMember(node) ? [] : [removeFields(shape.items, item, node)];
      });
    }
    default:
      return value;
  }
}

function removeKeys(value: JsonObject, set: FieldSet, shapeOf: (key: string) => Shape | undefined): JsonObject {
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const node = set[`f:${key}`];
    if (node !== undefined && isMember(node)) continue;
    const shape = node === undefined ? undefined : shapeOf(key);
    setOwn(result, key, shape ? removeFields(shape, value[key], node) : value[key]);
  }
  return result;
}

/** The set with the structs' fields in it that only their parts vouch for: whoever has `a.b` has the struct `a` too. */
export function withStructFields(shape: Shape, set: FieldSet | undefined): FieldSet | undefined {
  if (set === undefined) return undefined;
  const children: Record<string, FieldSet> = {};
  for (const element of Object.keys(set)) {
    if (element === '.') continue;
    const node = set[element]!;
    const name = element.slice(2);
    const field = element[0] === 'f' && shape.form === 'struct' ? shape.byName.get(name) : undefined;
    const below = field?.shape ?? partShape(shape);
    const inner = (below && withStructFields(below, node)) ?? node;
    children[element] = field && !isMember(inner) ? { '.': {}, ...inner } : inner;
  }
  return finished(children, isMember(set));
}

function partShape(shape: Shape): Shape | undefined {
  if (shape.form === 'map') return shape.values;
  if (shape.form === 'struct') return shape.rest;
  if (shape.form === 'list') return shape.items;
  return shape.form === 'deduced' ? shape : undefined;
}
