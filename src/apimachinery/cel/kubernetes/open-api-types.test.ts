import assert from 'node:assert/strict';
import { test } from 'node:test';
import { baseEnvironment } from '../library/environment.ts';
import { type OpenApiSchema, resourceTypeOf } from './open-api-types.ts';

const text = { type: 'string' };
const reference = (name: string): OpenApiSchema => ({ $ref: `#/components/schemas/${name}` });

function problemOf(expression: string, schema: OpenApiSchema, parts: Readonly<Record<string, OpenApiSchema>> = {}) {
  const lookup = (asked: string) => parts[asked.slice('#/components/schemas/'.length)];
  const object = resourceTypeOf(schema, 'Thing', lookup);
  assert.ok(object);
  const compiled = baseEnvironment('stored').extend({ variables: { object } }).compile(expression);
  return compiled.program ? undefined : compiled.text.split('\n')[0];
}

const unknown = (field: string, at: number) => `ERROR: <input>:1:${at}: undefined field '${field}'`;

test('a resource has its kind and a little metadata, whatever its schema says', () => {
  const schema = { type: 'object', properties: { metadata: { type: 'object' } } };
  assert.equal(problemOf('object.kind + object.apiVersion + object.metadata.name', schema), undefined);
  assert.equal(problemOf('object.metadata.labels', schema), unknown('labels', 16));
});

test('what is open is not there: lists and maps of anything, values without a type, names without a spelling', () => {
  const open: object = { 'x-kubernetes-preserve-unknown-fields': true };
  const properties = {
    list: { type: 'array', items: open },
    lists: { type: 'array', items: { type: 'array' } },
    map: { type: 'object', additionalProperties: open },
    object: { type: 'object', additionalProperties: true },
    'a b': text,
    'a-b': text,
  };
  const schema = { type: 'object', properties };
  for (const field of ['list', 'lists', 'map']) assert.equal(problemOf(`object.${field}`, schema), unknown(field, 7));
  assert.equal(problemOf('object.object == object.object && object.a__dash__b == ""', schema), undefined);
});

test('a type that holds itself is known once', () => {
  const node = { type: 'object', properties: { name: text, next: { allOf: [reference('Node')] } } };
  const schema = { type: 'object', properties: { first: reference('Node'), other: reference('Missing') } };
  assert.equal(problemOf('object.first.name', schema, { Node: node }), undefined);
  assert.equal(problemOf('object.first.next.name', schema, { Node: node }), unknown('name', 18));
  assert.equal(problemOf('object.other.anything', schema, { Node: node }), undefined);
});

test('a document whose parts unfold without end costs no more than what is asked of it', () => {
  const twice = (name: string) => ({ type: 'object', properties: { a: reference(name), b: reference(name) } });
  const levels = Array.from({ length: 60 }, (_, level) => [`L${level}`, twice(`L${level + 1}`)] as const);
  const parts = { ...Object.fromEntries(levels), L60: { type: 'object', properties: { leaf: text } } };
  const path = Array.from({ length: 60 }, (_, level) => (level % 2 ? 'a' : 'b')).join('.');
  const schema = { type: 'object', properties: { root: reference('L0') } };
  assert.equal(problemOf(`object.root.${path}.leaf == ""`, schema, parts), undefined);
});
