import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldSet } from './field-set.ts';
import { reconciledFields } from './schema-change.ts';
import { thingShape } from './shape.fixture.ts';
import type { Shape } from './shape.ts';

const atomicStruct: Shape = { form: 'struct', atomic: true, fields: [], byName: new Map(), rest: undefined };
const cases: { name: string; shape?: Shape; fields: FieldSet; expected?: FieldSet }[] = [
  {
    name: 'a list that has become one field',
    fields: { 'f:spec': { 'f:args': { 'v:"a"': {}, 'v:"b"': {} }, 'f:image': {} } },
    expected: { 'f:spec': { 'f:args': {}, 'f:image': {} } },
  },
  {
    name: 'a map that has become one field',
    fields: { 'f:spec': { '.': {}, 'f:selector': { '.': {}, 'f:a': {} } } },
    expected: { 'f:spec': { '.': {}, 'f:selector': {} } },
  },
  {
    name: 'a struct within the elements of a list',
    shape: { form: 'list', kind: 'set', keys: [], items: atomicStruct },
    fields: { 'k:{"a":1}': { '.': {}, 'f:a': {} }, 'k:{"a":2}': { '.': {} } },
    expected: { 'k:{"a":1}': {}, 'k:{"a":2}': { '.': {} } },
  },
  { name: 'one field that has become many', fields: { 'f:spec': { 'f:ports': {} }, 'f:metadata': { 'f:labels': {} } } },
  { name: 'fields that are no more', fields: { 'f:spec': { 'f:gone': { 'f:a': { 'f:b': {} } } } } },
  { name: 'steps that do not fit the type', fields: { 'f:spec': { 'k:{"a":1}': { 'f:a': {} } } } },
  {
    name: 'a whole map of anything',
    shape: { form: 'map', atomic: true, values: { form: 'deduced' } },
    fields: { 'f:a': { 'f:b': {} } },
  },
];

for (const { name, shape = thingShape, fields, expected = fields } of cases) {
  test(`${name}: ${expected === fields ? 'nothing changes' : 'whoever had a part has it'}`, () => {
    const reconciled = reconciledFields(shape, fields);
    assert.deepEqual(reconciled, expected);
    assert.equal(reconciledFields(shape, reconciled), reconciled);
    if (expected === fields) assert.equal(reconciled, fields);
  });
}
