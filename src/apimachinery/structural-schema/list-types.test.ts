import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorText } from '../field-error.ts';
import { validateListTypes } from './list-types.ts';
import { parseStructuralSchema } from './schema.ts';

const schema = parseStructuralSchema({
  type: 'object',
  properties: {
    set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
    ports: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
      items: {
        type: 'object',
        properties: { tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } } },
      },
    },
    byName: {
      type: 'object',
      additionalProperties: { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
    },
    free: { type: 'array', items: { type: 'string' } },
  },
});

const textsOf = (value: unknown) => validateListTypes(value, schema).map(errorText);

test('a repeated value is reported once, where it stands again', () => {
  assert.deepEqual(textsOf({ set: ['a', 'b', 'a', 'a', 1, '1'], free: ['a', 'a'] }), ['set[2]: Duplicate value: "a"']);
  assert.deepEqual(
    textsOf({
      set: [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    }),
    ['set[1]: Duplicate value: {"a":1,"b":2}'],
  );
});

test('elements of a map differ in their keys', () => {
  assert.deepEqual(
    textsOf({
      ports: [
        { port: 1, protocol: 'TCP', tags: ['x', 'x'] },
        { port: 1, protocol: 'UDP' },
        { port: 1, protocol: 'TCP', other: 2 },
        { port: 2 },
        { port: 2 },
      ],
      byName: { k: [{ name: 'a' }, { name: 'b' }, { name: 'a' }, {}, null] },
    }),
    [
      'ports[2]: Duplicate value: {"port":1,"protocol":"TCP"}',
      'ports[4]: Duplicate value: {"port":2}',
      'ports[0].tags[1]: Duplicate value: "x"',
      'byName[k][2]: Duplicate value: {"name":"a"}',
      'byName[k][4]: Duplicate value: {}',
    ],
  );
});

test('elements of a map are objects', () => {
  assert.deepEqual(textsOf({ ports: [{}, 1, 2] }), [
    'ports[1]: Invalid value: 1: must be an object for an array of list-type map',
  ]);
});

test('values of another type are not looked at', () => {
  for (const value of [null, 1, 'a', [], { set: 'a', ports: {}, byName: [] }]) assert.deepEqual(textsOf(value), []);
});
