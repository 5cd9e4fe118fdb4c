import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorText, path } from '../field-error.ts';
import { type JsonSchemaProps, parseStructuralSchema } from './schema.ts';
import { structuralErrors } from './structural.ts';

interface Case {
  readonly name: string;
  readonly schema: JsonSchemaProps;
  readonly errors: readonly string[];
}

const object: JsonSchemaProps = { type: 'object' };
const ofField = (field: JsonSchemaProps): JsonSchemaProps => ({ type: 'object', properties: { a: field } });
const metadataDetail =
  'must not specify anything other than name and generateName, but metadata is implicitly specified';

const cases: readonly Case[] = [
  { name: 'an object', schema: object, errors: [] },
  {
    name: 'types are named everywhere',
    schema: {
      properties: {
        a: {},
        b: { type: 'array', items: {} },
        c: { type: 'array' },
        d: { type: 'object', additionalProperties: {} },
      },
    },
    errors: [
      's.properties[a].type: Required value: must not be empty for specified object fields',
      's.properties[b].items.type: Required value: must not be empty for specified array items',
      's.properties[c].items: Required value: must be specified',
      's.properties[d].additionalProperties.type: Required value: must not be empty for specified object fields',
      's.type: Required value: must not be empty at the root',
    ],
  },
  {
    name: 'the root is an object, and no map',
    schema: { type: 'array', items: object, additionalProperties: object },
    errors: [
      's.additionalProperties: Forbidden: must not be used at the root',
      's.type: Invalid value: "array": must be object at the root',
    ],
  },
  {
    name: 'a type may be missing where anything or a number or text may stand',
    schema: {
      type: 'object',
      properties: { a: { 'x-kubernetes-preserve-unknown-fields': true }, b: { 'x-kubernetes-int-or-string': true } },
    },
    errors: [],
  },
  {
    name: 'a number or text is nothing else',
    schema: ofField({
      'x-kubernetes-int-or-string': true,
      'x-kubernetes-preserve-unknown-fields': true,
      'x-kubernetes-embedded-resource': true,
    }),
    errors: [
      's.properties[a].type: Required value: must be object if x-kubernetes-embedded-resource is true',
      's.properties[a].x-kubernetes-embedded-resource: Invalid value: true: must be false if x-kubernetes-int-or-string is true',
      's.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true',
    ],
  },
  {
    name: 'its types may be spelt out in two ways',
    schema: {
      type: 'object',
      properties: {
        a: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
        b: {
          'x-kubernetes-int-or-string': true,
          allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { pattern: '^a' }],
        },
      },
    },
    errors: [],
  },
  {
    name: 'and in no other',
    schema: ofField({ 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'string' }, { type: 'integer' }] }),
    errors: [
      's.properties[a].anyOf[0].type: Forbidden: must be empty to be structural',
      's.properties[a].anyOf[1].type: Forbidden: must be empty to be structural',
    ],
  },
  {
    name: 'an embedded object is an object with something in it',
    schema: ofField({ type: 'string', 'x-kubernetes-embedded-resource': true, additionalProperties: object }),
    errors: [
      's.properties[a].additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set',
      's.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      's.properties[a].type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
    ],
  },
  {
    name: 'what every object has may be restricted in its names only',
    schema: {
      type: 'object',
      properties: {
        apiVersion: { type: 'integer' },
        kind: object,
        metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 3 }, labels: object } },
      },
    },
    errors: [
      's.properties[apiVersion].type: Invalid value: "integer": must be string',
      's.properties[kind].type: Invalid value: "object": must be string',
      `s.properties[metadata]: Forbidden: ${metadataDetail}`,
    ],
  },
  {
    name: 'and in these freely',
    schema: {
      type: 'object',
      properties: {
        apiVersion: { type: 'string' },
        metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 3 } } },
      },
    },
    errors: [],
  },
  {
    name: 'not even a description of metadata is ours',
    schema: { type: 'object', properties: { metadata: { type: 'object', description: 'x' } } },
    errors: [`s.properties[metadata]: Forbidden: ${metadataDetail}`],
  },
  {
    name: 'alternatives add no structure',
    schema: {
      type: 'object',
      properties: { a: { type: 'string' }, list: { type: 'array', items: { type: 'string' } } },
      not: {
        type: 'object',
        title: 'x',
        description: 'x',
        default: 'x',
        nullable: true,
        additionalProperties: object,
        'x-kubernetes-preserve-unknown-fields': true,
        'x-kubernetes-embedded-resource': true,
        'x-kubernetes-int-or-string': true,
        'x-kubernetes-list-map-keys': ['x'],
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-map-type': 'atomic',
        'x-kubernetes-validations': [{ rule: 'true' }],
      },
      oneOf: [{ properties: { list: { items: { type: 'string' } } } }],
    },
    errors: [
      's.not.additionalProperties: Forbidden: must be undefined to be structural',
      's.not.default: Forbidden: must be undefined to be structural',
      's.not.description: Forbidden: must be empty to be structural',
      's.not.nullable: Forbidden: must be false to be structural',
      's.not.title: Forbidden: must be empty to be structural',
      's.not.type: Forbidden: must be empty to be structural',
      's.not.x-kubernetes-embedded-resource: Forbidden: must be false to be structural',
      's.not.x-kubernetes-int-or-string: Forbidden: must be false to be structural',
      's.not.x-kubernetes-list-map-keys: Forbidden: must be empty to be structural',
      's.not.x-kubernetes-list-type: Forbidden: must be undefined to be structural',
      's.not.x-kubernetes-map-type: Forbidden: must be undefined to be structural',
      's.not.x-kubernetes-preserve-unknown-fields: Forbidden: must be false to be structural',
      's.not.x-kubernetes-validations: Forbidden: must be empty to be structural',
      's.oneOf[0].properties[list].items.type: Forbidden: must be empty to be structural',
    ],
  },
  {
    name: 'what alternatives restrict is part of the structure',
    schema: {
      type: 'object',
      properties: { a: { type: 'string' } },
      anyOf: [
        { properties: { a: { minLength: 1 }, b: { minLength: 1 } } },
        { properties: { a: { items: {} }, metadata: {} } },
      ],
    },
    errors: [
      's.anyOf[1].properties[metadata]: Forbidden: must not be specified in a nested context',
      's.properties[a].items: Required value: because it is defined in s.anyOf[1].properties[a].items',
      's.properties[b]: Required value: because it is defined in s.anyOf[0].properties[b]',
      's.properties[metadata]: Required value: because it is defined in s.anyOf[1].properties[metadata]',
    ],
  },
  {
    name: 'patterns are regular expressions',
    schema: ofField({ type: 'string', pattern: '(', allOf: [{ pattern: '[' }] }),
    errors: [
      's.properties[a].allOf[0].pattern: Invalid value: "[": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ]: `[`',
      's.properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ): `(`',
    ],
  },
];

describe('structural schemas', () => {
  for (const { name, schema, errors } of cases)
    it(name, () => {
      assert.deepEqual(structuralErrors(parseStructuralSchema(schema), path('s')).map(errorText), errors);
    });

  it('may be deep', () => {
    let schema: JsonSchemaProps = { type: 'string' };
    for (let i = 0; i < 480; i++) schema = { type: 'object', properties: { a: schema } };
    assert.deepEqual(structuralErrors(parseStructuralSchema(schema), path('s')), []);
  });
});
