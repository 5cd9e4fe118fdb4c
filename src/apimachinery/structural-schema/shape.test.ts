import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configurationErrors, fieldsOf } from '../managed-fields/configuration.ts';
import { deducedShape, type Shape } from '../managed-fields/shape.ts';
import { parseStructuralSchema } from './schema.ts';
import { objectShape } from './shape.ts';

const schema = parseStructuralSchema({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer' },
        port: { 'x-kubernetes-int-or-string': true },
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'protocol'],
          items: {
            type: 'object',
            properties: {
              port: { type: 'integer' },
              protocol: { type: 'string', default: 'TCP' },
              name: { type: 'string' },
            },
          },
        },
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        list: { type: 'array', items: { type: 'string' } },
        whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: { type: 'string' } },
        map: { type: 'object', additionalProperties: { type: 'string' } },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
});
const shape = objectShape(schema, deducedShape);

test('fields of a custom resource are what its schema makes them', () => {
  const spec = {
    size: 1,
    port: 'http',
    ports: [{ port: 80, name: 'a' }],
    set: ['x'],
    list: ['x'],
    whole: { a: 'b' },
    map: { a: 'b' },
    free: { a: { b: [1] } },
  };
  assert.deepEqual(configurationErrors(shape, { kind: 'A', spec }), []);
  assert.deepEqual(fieldsOf(shape, { spec }), {
    'f:spec': {
      'f:size': {},
      'f:port': {},
      'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {}, 'f:name': {} } },
      'f:set': { 'v:"x"': {} },
      'f:list': {},
      'f:whole': {},
      'f:map': { 'f:a': {} },
      'f:free': { 'f:a': { '.': {}, 'f:b': {} } },
    },
  });
});

test('what the schema does not know cannot be applied', () => {
  assert.deepEqual(configurationErrors(shape, { spec: { colour: 'red' } }), [
    '.spec.colour: field not declared in schema',
  ]);
  assert.deepEqual(objectShape(undefined, deducedShape), deducedShape);
});

test('where unknown fields are preserved, what is declared keeps its type', () => {
  const list = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };
  const item = { type: 'object', properties: { name: { type: 'string' } } };
  const template = { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } };
  const preserving = parseStructuralSchema({
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        'x-kubernetes-preserve-unknown-fields': true,
        properties: { foo: { type: 'string' }, list: { ...list, items: item }, template },
      },
      plain: item,
    },
  });
  const metadata: Shape = { form: 'struct', atomic: false, fields: [], byName: new Map(), rest: undefined };
  const open = objectShape(preserving, metadata);
  const spec = { foo: 'a', list: [{ name: 'x', more: 1 }], other: { a: [1] }, template: { kind: 'A', more: {} } };
  assert.deepEqual(configurationErrors(open, { spec }), []);
  assert.deepEqual(fieldsOf(open, { spec }), {
    'f:spec': {
      'f:foo': {},
      'f:list': { 'k:{"name":"x"}': { '.': {}, 'f:more': {}, 'f:name': {} } },
      'f:other': { '.': {}, 'f:a': {} },
      'f:template': { 'f:kind': {}, 'f:more': {} },
    },
  });
  const wrong = { spec: { foo: 1, list: [{}], template: { metadata: { colour: 'red' } } }, plain: { more: 1 } };
  assert.deepEqual(configurationErrors(open, wrong), [
    '.spec.foo: expected string, got &value.valueUnstructured{Value:1}',
    `.spec.list: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)`,
    '.spec.template.metadata.colour: field not declared in schema',
    '.plain.more: field not declared in schema',
  ]);
});
