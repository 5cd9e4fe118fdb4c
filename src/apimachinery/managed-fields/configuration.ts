/**
 * An applied configuration: plain JSON as a client sent it, judged by the shape of its kind (unknown fields, wrong types, elements without
 * keys or given twice are errors in upstream's words) and read as the set of fields it speaks of. Structs and lists are not among
 * these fields, elements of lists, keys of maps and what is explicitly null or empty are.
 */

import { jsonText } from '../exact-json.ts';
import { goType, goValue } from '../go-text.ts';
import { isObject } from '../patch/merge-patch.ts';
import { asMember, type FieldSet, finished, leaf } from './field-set.ts';
import { elementText } from './path-element.ts';
import {
  elementOf,
  elementOrNone,
  type ListShape,
  type ScalarKind,
  type Shape,
  type StructShape,
  shapeOfField,
} from './shape.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Everything in the value that does not fit, each with its path. */
export function configurationErrors(shape: Shape, value: unknown, path = ''): string[] {
  const problem = (message: string) => [path === '' ? message : `${path}: ${message}`];
  if (value === null || value === undefined) return [];
  switch (shape.form) {
    case 'scalar': {
      const message = scalarError(shape.scalar, value);
      return message === undefined ? [] : problem(message);
    }
    case 'struct':
    case 'map': {
      if (!isObject(value)) return problem(`expected map, got &{${goValue(value)}}`);
      return Object.entries(value).flatMap(([key, field]) => {
        const below = shape.form === 'map' ? shape.values : shapeOfField(shape, key);
        if (below) return configurationErrors(below, field, `${path}.${key}`);
        return [`${path}.${key}: field not declared in schema`];
      });
    }
    case 'list':
      if (!Array.isArray(value)) return problem(`expected list, got &{${goValue(value)}}`);
      return itemErrors(shape, value, path);
    default:
      return [];
  }
}

/** The errors of a configuration as one message, undefined when it fits. */
export function configurationProblem(shape: Shape, value: unknown): string | undefined {
  const errors = configurationErrors(shape, value);
  if (errors.length <= 1) return errors[0];
  return ['errors:', ...errors.map((error) => `  ${error}`)].join('\n');
}

function itemErrors(list: ListShape, items: readonly unknown[], path: string): string[] {
  const errors: string[] = [];
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    let element = `i:${index}`;
    if (list.kind !== 'atomic') {
      try {
        element = elementOf(list, item);
      } catch (error) {
        return [...errors, `${path}: element ${index}: ${(error as Error).message}`];
      }
      if (seen.has(element)) errors.push(`${path}: duplicate entries for key ${elementText(element)}`);
      seen.add(element);
    }
    errors.push(...configurationErrors(list.items, item, path + elementText(element)));
  }
  return errors;
}

function scalarError(kind: ScalarKind, value: unknown): string | undefined {
  const type = typeof value;
  switch (kind) {
    case 'numeric':
      return type === 'number' || type === 'bigint'
        ? undefined
        : `expected numeric (int or float), got ${goType(value)}`;
    case 'string':
      return type === 'string' ? undefined : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`;
    case 'boolean':
      return type === 'boolean' ? undefined : `expected boolean, got &{${goValue(value)}}`;
    default:
      return type === 'object' ? `expected any scalar, got &{${goValue(value)}}` : undefined;
  }
}

/** The fields that a configuration without errors speaks of. */
export function fieldsOf(shape: Shape, value: unknown): FieldSet | undefined {
  switch (shape.form) {
    case 'struct':
      if (shape.atomic) return leaf;
      return isObject(value) ? fieldsOfStruct(shape, value) : undefined;
    case 'map':
      if (shape.atomic) return leaf;
      return isObject(value) ? fieldsOfEntries(shape.values, value) : undefined;
    case 'deduced':
      return isObject(value) ? fieldsOfEntries(shape, value) : leaf;
    case 'list':
      if (shape.kind === 'atomic') return leaf;
      return Array.isArray(value) ? fieldsOfItems(shape, value) : undefined;
    default:
      return leaf;
  }
}

function fieldsOfStruct(struct: StructShape, value: JsonObject): FieldSet | undefined {
  const children: Record<string, FieldSet> = {};
  for (const key of Object.keys(value)) {
    const field = value[key];
    const shape = shapeOfField(struct, key);
    if (field === undefined || !shape) continue;
    const node = isNothing(field) ? leaf : fieldsOf(shape, field);
    // What is not declared is said by being there, as a key of a map is.
    if (!struct.byName.has(key)) children[`f:${key}`] = asMember(node);
    else if (node !== undefined) children[`f:${key}`] = node;
  }
  return finished(children, false);
}

function fieldsOfEntries(values: Shape, value: JsonObject): FieldSet | undefined {
  const children: Record<string, FieldSet> = {};
  for (const key of Object.keys(value)) children[`f:${key}`] = asMember(fieldsOf(values, value[key]));
  return finished(children, false);
}

function fieldsOfItems(list: ListShape, items: readonly unknown[]): FieldSet | undefined {
  const children: Record<string, FieldSet> = {};
  for (const item of items) {
    const element = elementOrNone(list, item);
    if (element === undefined) continue;
    // What is there several times (in a live object) has no parts.
    children[element] = children[element] === undefined ? asMember(fieldsOf(list.items, item)) : leaf;
  }
  return finished(children, false);
}

/** Null or an empty object: said, though there is nothing in it to own. */
function isNothing(value: unknown): boolean {
  return value === null || (isObject(value) && Object.keys(value).length === 0);
}

/** Go's `%#v`. */
function goSyntax(value: unknown): string {
  if (value === null) return 'interface {}(nil)';
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isObject(value)) return jsonText(value);
  const keys = Object.keys(value).sort();
  return `map[string]interface {}{${keys.map((key) => `${JSON.stringify(key)}:${goSyntax(value[key])}`).join(', ')}}`;
}
