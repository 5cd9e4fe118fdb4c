/**
 * What server-side apply sees in a custom resource: which lists are maps or sets and which values are one field. Where unknown fields are
 * preserved, all below is deduced from the values: objects are granular, lists are one field.
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

/** The shape of whole objects of a schema; `metadata` is the shape of every object's metadata. */
export function objectShape(schema: StructuralSchema | undefined, metadata: Shape): Shape {
  return schema && !schema.preserveUnknownFields ? structShape(schema, metadata, true) : deducedShape;
}

function schemaShape(schema: StructuralSchema, metadata: Shape): Shape {
  if (schema.preserveUnknownFields) return deducedShape;
  if (schema.type === 'array') return listShape(schema, metadata);
  if (schema.type !== 'object') return scalars[schema.type] ?? { form: 'scalar', scalar: 'untyped' };
  if (schema.properties.size > 0 || schema.embeddedResource)
    return structShape(schema, metadata, schema.embeddedResource);
  const additional = additionalSchema(schema);
  const values = additional ? schemaShape(additional, metadata) : deducedShape;
  return { form: 'map', atomic: schema.mapType === 'atomic', values };
}

function structShape(schema: StructuralSchema, metadata: Shape, isObject: boolean): StructShape {
  const shapes = new Map([...schema.properties].map(([name, part]) => [name, schemaShape(part, metadata)]));
  if (isObject) {
    shapes.set('apiVersion', text);
    shapes.set('kind', text);
    shapes.set('metadata', metadata);
  }
  const fields = [...shapes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, shape]): StructField => ({ name, element: `f:${name}`, shape, zero: undefined, omitsEmpty: false }));
  const byName = new Map(fields.map((field) => [field.name, field]));
  return { form: 'struct', atomic: schema.mapType === 'atomic', fields, byName };
}

function listShape({ items, listType, listMapKeys }: StructuralSchema, metadata: Shape): ListShape {
  const shape = items ? schemaShape(items, metadata) : deducedShape;
  if (listType === 'set') return { form: 'list', kind: 'set', keys: [], items: shape };
  if (listType !== 'map') return { form: 'list', kind: 'atomic', keys: [], items: shape };
  const keys = [...listMapKeys].sort().map((name) => ({ name, default: items?.properties.get(name)?.default }));
  return { form: 'list', kind: 'keyed', keys, items: shape };
}
