import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../testing/properties.fixture.ts';
import { draft } from '../meta.ts';
import { anyJson, anySchema } from './arbitrary-schema.fixture.ts';
import { type PruneOptions, prune } from './pruning.ts';
import { type JsonSchemaProps, parseStructuralSchema } from './schema.ts';

interface Case {
  readonly name: string;
  readonly schema: JsonSchemaProps;
  readonly value: unknown;
  readonly pruned: unknown;
  readonly unknown: readonly string[];
  readonly options?: PruneOptions;
}

const text: JsonSchemaProps = { type: 'string' };

const cases: readonly Case[] = [
  {
    name: 'unknown fields go, their paths sorted',
    schema: {
      type: 'object',
      properties: { spec: { type: 'object', properties: { list: { type: 'array', items: { type: 'object' } } } } },
    },
    value: { z: 1, spec: { list: [{ b: 1, a: 2 }, 'x'], extra: {} } },
    pruned: { spec: { list: [{}, 'x'] } },
    unknown: ['spec.extra', 'spec.list[0].a', 'spec.list[0].b', 'z'],
  },
  {
    name: 'an object keeps its own three fields whole',
    schema: { type: 'object', properties: { spec: { type: 'object' } } },
    value: { apiVersion: 'v1', kind: 'A', metadata: { anything: 1 }, spec: { metadata: {} }, status: {} },
    pruned: { apiVersion: 'v1', kind: 'A', metadata: { anything: 1 }, spec: {} },
    unknown: ['spec.metadata', 'status'],
    options: { isObject: true },
  },
  {
    name: 'preserved parts are pruned where a schema speaks again',
    schema: {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      properties: {
        strict: { type: 'object', properties: { a: text } },
        list: { type: 'array', items: { type: 'object', properties: { a: text } } },
      },
    },
    value: { any: { deep: 1 }, strict: { a: '', b: '' }, list: [{ a: '', b: '' }] },
    pruned: { any: { deep: 1 }, strict: { a: '' }, list: [{ a: '' }] },
    unknown: ['list[0].b', 'strict.b'],
  },
  {
    name: 'of a preserved list the elements are preserved too',
    schema: {
      type: 'array',
      'x-kubernetes-preserve-unknown-fields': true,
      items: { type: 'object', properties: { a: { type: 'object' } } },
    },
    value: [{ a: { b: 1 }, c: 1 }],
    pruned: [{ a: {}, c: 1 }],
    unknown: ['[0].a.b'],
  },
  {
    name: 'values of a map follow their schema, and where any may stand nothing below is known',
    schema: {
      type: 'object',
      properties: {
        map: { type: 'object', additionalProperties: { type: 'object', properties: { a: text } } },
        any: { type: 'object', additionalProperties: true },
      },
    },
    value: { map: { x: { a: '', b: '' } }, any: { x: { a: '' }, y: 1 } },
    pruned: { map: { x: { a: '' } }, any: { x: {}, y: 1 } },
    unknown: ['any.x.a', 'map.x.b'],
  },
  {
    name: 'an embedded object keeps what every object has',
    schema: {
      type: 'object',
      properties: {
        template: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } },
      },
    },
    value: { template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { b: 1 }, other: 1 } },
    pruned: { template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: {} } },
    unknown: ['template.other', 'template.spec.b'],
  },
  {
    name: 'a field named __proto__ is a field',
    schema: { type: 'object', properties: { a: text } },
    value: JSON.parse('{"a":"","__proto__":{"b":1}}'),
    pruned: { a: '' },
    unknown: ['__proto__'],
  },
];

describe('pruning', () => {
  for (const { name, schema, value, pruned, unknown, options } of cases) {
    it(name, () => {
      const object = draft(value);
      assert.deepEqual(prune(object, parseStructuralSchema(schema), options), unknown);
      assert.deepEqual(object, pruned);
    });
  }

  it('knows nothing without a schema', () => {
    const object = { metadata: {}, spec: { a: 1 } };
    assert.deepEqual(prune(object, undefined, { isObject: true }), ['spec']);
    assert.deepEqual(object, { metadata: {} });
  });

  it('twice is once, and invents nothing', () => {
    fc.assert(
      fc.property(anySchema, anyJson, fc.boolean(), (props, value, isObject) => {
        const schema = parseStructuralSchema(props);
        const once = draft(value);
        prune(once, schema, { isObject });
        const twice = draft(once);
        assert.deepEqual(prune(twice, schema, { isObject }), []);
        assert.equal(JSON.stringify(twice), JSON.stringify(once));
      }),
    );
  });
});
