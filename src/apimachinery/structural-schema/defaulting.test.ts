import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../testing/properties.fixture.ts';
import { draft } from '../meta.ts';
import { anyJson, anySchema } from './arbitrary-schema.fixture.ts';
import { applyDefaults, dropNulls } from './defaulting.ts';
import { prune } from './pruning.ts';
import { type JsonSchemaProps, parseStructuralSchema, type StructuralSchema } from './schema.ts';
import { SchemaValidator } from './validator.ts';

interface Case {
  readonly name: string;
  readonly schema: JsonSchemaProps;
  readonly value: unknown;
  readonly filled: unknown;
}

const cases: readonly Case[] = [
  {
    name: 'fills what is absent, in maps and lists too',
    schema: {
      type: 'object',
      properties: {
        size: { type: 'integer', default: 3 },
        list: { type: 'array', items: { type: 'object', properties: { a: { type: 'string', default: 'x' } } } },
        map: {
          type: 'object',
          additionalProperties: { type: 'object', properties: { a: { type: 'string', default: 'y' } } },
        },
      },
    },
    value: { list: [{}, { a: 'own' }], map: { k: {} } },
    filled: { list: [{ a: 'x' }, { a: 'own' }], map: { k: { a: 'y' } }, size: 3 },
  },
  {
    name: 'fills the parts of a default, but makes no parent',
    schema: {
      type: 'object',
      properties: {
        made: { type: 'object', default: {}, properties: { a: { type: 'integer', default: 1 } } },
        absent: { type: 'object', properties: { a: { type: 'integer', default: 1 } } },
      },
    },
    value: {},
    filled: { made: { a: 1 } },
  },
  {
    name: 'takes null for absent where it may not stand, and keeps it where it may',
    schema: {
      type: 'object',
      properties: {
        dropped: { type: 'string' },
        filled: { type: 'string', default: 'x' },
        kept: { type: 'string', nullable: true, default: 'x' },
        map: { type: 'object', additionalProperties: { type: 'string' } },
        list: { type: 'array', items: { type: 'string' } },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
    value: { dropped: null, filled: null, kept: null, map: { a: null, b: 'b' }, list: [null], free: { a: null } },
    filled: { filled: 'x', kept: null, map: { b: 'b' }, list: [null], free: { a: null } },
  },
  {
    name: 'fills nulls in lists and maps of what has a default',
    schema: {
      type: 'object',
      properties: {
        list: { type: 'array', items: { type: 'integer', default: 5 } },
        map: { type: 'object', additionalProperties: { type: 'integer', default: 6 } },
      },
    },
    value: { list: [null, 1], map: { a: null } },
    filled: { list: [5, 1], map: { a: 6 } },
  },
];

function fill(value: unknown, schema: StructuralSchema): unknown {
  const object = draft(value);
  dropNulls(object, schema);
  applyDefaults(object, schema);
  return object;
}

describe('defaulting', () => {
  for (const { name, schema, value, filled } of cases)
    it(name, () => assert.deepEqual(fill(value, parseStructuralSchema(schema)), filled));

  it('copies its defaults', () => {
    const schema = parseStructuralSchema({ type: 'object', properties: { a: { type: 'object', default: { b: [] } } } });
    const [first, second] = [fill({}, schema), fill({}, schema)] as { a: { b: unknown[] } }[];
    first!.a.b.push(1);
    assert.deepEqual(second, { a: { b: [] } });
  });

  it('twice is once', () => {
    fc.assert(
      fc.property(anySchema, anyJson, (props, value) => {
        const schema = parseStructuralSchema(props);
        const once = fill(value, schema);
        assert.equal(JSON.stringify(fill(once, schema)), JSON.stringify(once));
      }),
    );
  });

  it('an object that was pruned, filled and judged is judged the same when it comes back', () => {
    fc.assert(
      fc.property(anySchema, anyJson, (props, value) => {
        const schema = parseStructuralSchema(props);
        const admit = (given: unknown) => {
          const object = draft(given);
          prune(object, schema);
          return fill(object, schema);
        };
        const validator = new SchemaValidator(schema);
        // A default that the schema itself would prune, which no definition may have, is gone after the first return.
        const once = admit(admit(value));
        assert.deepEqual(validator.validate(admit(once)), validator.validate(once));
      }),
      {
        examples: [
          [
            {
              type: 'object',
              properties: { p: { type: 'object', properties: {}, required: ['a'], default: { a: 1 } } },
            } as never,
            {},
          ],
        ],
      },
    );
  });
});
