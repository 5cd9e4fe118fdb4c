/**
 * What server-side apply sees in a custom resource: which lists are maps or sets and which values are one field. Where unknown fields are
 * preserved, and in all below, objects may hold more than they declare; that is deduced from the values: objects are granular, lists are
 * one field. What is declared there keeps its type.
 */
import {
  deducedShape,
  type ListShape,
  type Shape,
  type StructField,
  type StructShape,
} from '../managed-fields/shape.ts';
import { additionalSchema } from './pruning.ts';
import type { StructuralSchema } from './schema.ts';

const text: Shape = { form: 'scalar', scalar: 'string' };
const scalars: Readonly<Record<string, Shape>> = {
  string: text,
  integer: { form: 'scalar', scalar: 'numeric' },
  number: { form: 'scalar', scalar: 'numeric' },
  boolean: { form: 'scalar', scalar: 'boolean' },
};

interface Surroundings {
  /** The shape of every object's metadata: what is preserved around it is nothing to it. */
  readonly metadata: Shape;
  /** Whether unknown fields are preserved here. */
  readonly preserves: boolean;
}

/** The shape of whole objects of a schema; `metadata` is the shape of every object's metadata. */
export function objectShape(schema: StructuralSchema | undefined, metadata: Shape): Shape {
  return schema ? structShape(schema, within(schema, { metadata, preserves: false }), true) : deducedShape;
}

/** What a schema preserves is preserved in all its parts. */
function within(schema: StructuralSchema, around: Surroundings): Surroundings {
  return schema.preserveUnknownFields ? { ...around, preserves: true } : around;
}

function schemaShape(schema: StructuralSchema, around: Surroundings): Shape {
  const here = within(schema, around);
  if (schema.type === 'array') return listShape(schema, here);
  if (schema.type !== 'object' && schema.type !== '') return scalars[schema.type]!;
  if (schema.properties.size > 0 || schema.embeddedResource) return structShape(schema, here, schema.embeddedResource);
  if (schema.type === '') return deducedShape;
  const additional = additionalSchema(schema);
  const values = additional ? schemaShape(additional, here) : deducedShape;
  return { form: 'map', atomic: schema.mapType === 'atomic', values };
}

function structShape(schema: StructuralSchema, here: Surroundings, isObject: boolean): StructShape {
  const shapes = new Map([...schema.properties].map(([name, part]) => [name, schemaShape(part, here)]));
  if (isObject) {
    shapes.set('apiVersion', text);
    shapes.set('kind', text);
    shapes.set('metadata', here.metadata);
  }
  const fields = [...shapes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, shape]): StructField => ({ name, element: `f:${name}`, shape, zero: undefined, omitsEmpty: false }));
  const byName = new Map(fields.map((field) => [field.name, field]));
  const rest = here.preserves ? deducedShape : undefined;
  return { form: 'struct', atomic: schema.mapType === 'atomic', fields, byName, rest };
}

function listShape({ items, listType, listMapKeys }: StructuralSchema, here: Surroundings): ListShape {
  const shape = items ? schemaShape(items, here) : deducedShape;
  if (listType === 'set') return { form: 'list', kind: 'set', keys: [], items: shape };
  if (listType !== 'map') return { form: 'list', kind: 'atomic', keys: [], items: shape };
  const keys = [...listMapKeys].sort().map((name) => ({ name, default: items?.properties.get(name)?.default }));
  return { form: 'list', kind: 'keyed', keys, items: shape };
}
