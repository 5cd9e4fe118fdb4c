import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type PublicationOptions, publishObject, publishSchema } from './publication.ts';
import { type JsonSchemaProps, parseStructuralSchema } from './schema.ts';

const objectFields = { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { $ref: '#/m' } };
const published = (schema: JsonSchemaProps, dialect: PublicationOptions['dialect']) =>
  publishSchema(parseStructuralSchema(schema), { dialect, objectFields });

const text: JsonSchemaProps = { type: 'string' };

describe('a published schema', () => {
  it('says everything in version 3', () => {
    const schema: JsonSchemaProps = {
      type: 'object',
      description: 'A part.',
      required: ['a'],
      properties: {
        a: { type: 'integer', minimum: 0, default: 0, nullable: true },
        b: { type: 'array', items: text, 'x-kubernetes-list-type': 'set', maxItems: 3 },
        c: { type: 'object', additionalProperties: text },
        d: { type: 'object', additionalProperties: true, 'x-kubernetes-preserve-unknown-fields': true },
      },
      anyOf: [{ required: ['b'] }],
      'x-kubernetes-validations': [{ rule: 'true' }],
    };
    assert.deepEqual(published(schema, 'v3'), schema);
  });

  it('spells out a number or text in version 3', () => {
    const either = [{ type: 'integer' }, { type: 'string' }];
    assert.deepEqual(published({ 'x-kubernetes-int-or-string': true }, 'v3'), {
      'x-kubernetes-int-or-string': true,
      anyOf: either,
    });
    assert.deepEqual(published({ 'x-kubernetes-int-or-string': true, anyOf: [{ pattern: 'a' }] }, 'v3'), {
      'x-kubernetes-int-or-string': true,
      anyOf: [{ pattern: 'a' }],
      allOf: [{ anyOf: either }],
    });
    assert.deepEqual(published({ 'x-kubernetes-int-or-string': true }, 'v2'), { 'x-kubernetes-int-or-string': true });
  });

  it('forbids nothing in version 2 that is allowed', () => {
    const schema: JsonSchemaProps = {
      type: 'object',
      required: ['a', 'b'],
      properties: {
        a: { type: 'object', nullable: true, properties: { x: text } },
        b: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { x: text } },
        c: { type: 'array', items: { type: 'array', nullable: true, items: text } },
        d: { type: 'array', 'x-kubernetes-preserve-unknown-fields': true, items: text },
        e: { type: 'object', required: ['x'], additionalProperties: { type: 'string', nullable: true } },
      },
      oneOf: [{ required: ['c'] }],
      not: { required: ['d'] },
    };
    assert.deepEqual(published(schema, 'v2'), {
      type: 'object',
      required: ['b'],
      properties: {
        a: {},
        b: { 'x-kubernetes-preserve-unknown-fields': true },
        c: { type: 'array', items: {} },
        d: { 'x-kubernetes-preserve-unknown-fields': true },
        e: { type: 'object', additionalProperties: {} },
      },
    });
  });

  it('completes embedded objects', () => {
    const embedded: JsonSchemaProps = {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: { x: text },
    };
    const whole = { ...embedded, properties: { x: text, ...objectFields }, required: ['kind', 'apiVersion'] };
    assert.deepEqual(published(embedded, 'v3'), whole);
    assert.deepEqual(published(embedded, 'v2'), whole);
    const free = { ...embedded, 'x-kubernetes-preserve-unknown-fields': true } as JsonSchemaProps;
    assert.deepEqual(published(free, 'v2').properties, undefined);
  });

  it('of a whole object has what every object has, if it says anything', () => {
    const schema = parseStructuralSchema({ type: 'object', properties: { spec: text, metadata: { type: 'object' } } });
    assert.deepEqual(publishObject(schema, { dialect: 'v2', objectFields }), {
      type: 'object',
      properties: { spec: text, ...objectFields },
    });
    const free = parseStructuralSchema({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true });
    assert.deepEqual(publishObject(free, { dialect: 'v2', objectFields }), { type: 'object' });
    assert.deepEqual(publishObject(undefined, { dialect: 'v3', objectFields }), { type: 'object' });
  });
});
