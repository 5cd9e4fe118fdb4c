/**
 * A small kind for tests: scalars, a keyed list with a default in its keys, a set, an atomic list, a map, nested structs, one
 * that holds more than it declares.
 */
import { deducedShape, type ListShape, type Shape, type StructField, type StructShape } from './shape.ts';

const text: Shape = { form: 'scalar', scalar: 'string' };
const count: Shape = { form: 'scalar', scalar: 'numeric' };

function struct(shapes: Readonly<Record<string, Shape>>, always: readonly string[] = [], rest?: Shape): StructShape {
  const fields: StructField[] = Object.entries(shapes)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, shape]) => ({
      name,
      element: `f:${name}`,
      shape,
      zero: always.includes(name) ? {} : undefined,
      omitsEmpty: false,
    }));
  const byName = new Map(fields.map((field) => [field.name, field]));
  return { form: 'struct', atomic: false, fields, byName, rest };
}

const port = struct({ port: count, protocol: text, target: text });
const ports: ListShape = {
  form: 'list',
  kind: 'keyed',
  keys: [
    { name: 'port', default: undefined },
    { name: 'protocol', default: 'TCP' },
  ],
  items: port,
};

const set: ListShape = { form: 'list', kind: 'set', keys: [], items: text };
const labels: Shape = { form: 'map', atomic: false, values: text };

export const thingShape: StructShape = struct(
  {
    apiVersion: text,
    kind: text,
    metadata: struct({
      name: text,
      labels,
      finalizers: set,
      resourceVersion: text,
      managedFields: { form: 'untyped' },
    }),
    spec: struct(
      {
        replicas: count,
        paused: { form: 'scalar', scalar: 'boolean' },
        image: text,
        ports,
        args: { form: 'list', kind: 'atomic', keys: [], items: text },
        selector: { form: 'map', atomic: true, values: text },
        strategy: struct({ type: text, limit: count }),
      },
      ['strategy'],
    ),
    status: struct({ ready: count }),
    open: struct({ count, ports }, [], deducedShape),
  },
  ['metadata', 'spec', 'status'],
);
