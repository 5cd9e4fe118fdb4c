import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../testing/properties.fixture.ts';
import { errorText, path } from '../field-error.ts';
import { anyJson, anySchema } from './arbitrary-schema.fixture.ts';
import { type JsonSchemaProps, parseStructuralSchema } from './schema.ts';
import { SchemaValidator, type ValidateOptions } from './validator.ts';

/** The errors of `value` as the field `a` of an object. */
function errorsOf(schema: JsonSchemaProps, value: unknown, options?: ValidateOptions): string[] {
  const validator = new SchemaValidator(parseStructuralSchema({ type: 'object', properties: { a: schema } }));
  return validator.validate({ a: value }, options).map(errorText);
}

interface Case {
  readonly name: string;
  readonly schema: JsonSchemaProps;
  readonly good: readonly unknown[];
  readonly bad: readonly (readonly [value: unknown, ...errors: string[]])[];
}

const text: JsonSchemaProps = { type: 'string' };
const wrongType = (expected: string, found: string) =>
  `a: Invalid value: "${found}": a in body must be of type ${expected}: "${found}"`;
const unplaced = (sentence: string) => `<nil>: Invalid value: "": ${sentence}`;
const outOfRange = unplaced('Checked value must be of type integer (default format) in a');

const types: readonly Case[] = [
  {
    name: 'string',
    schema: text,
    good: ['', 'x'],
    bad: [
      [1, wrongType('string', 'integer')],
      [1.5, wrongType('string', 'number')],
      [true, wrongType('string', 'boolean')],
      [[], wrongType('string', 'array')],
      [{}, wrongType('string', 'object')],
      [null, wrongType('string', 'null')],
    ],
  },
  {
    name: 'integer',
    schema: { type: 'integer' },
    good: [0, -5, 2 ** 40],
    bad: [
      ['1', wrongType('integer', 'string')],
      [1.5, wrongType('integer', 'number'), outOfRange],
      [1e30, wrongType('integer', 'number'), outOfRange],
    ],
  },
  {
    name: 'int32',
    schema: { type: 'integer', format: 'int32' },
    good: [2 ** 31 - 1, -(2 ** 31)],
    bad: [
      [2 ** 31, unplaced('Checked value must be of type integer with format int32 in a')],
      [true, wrongType('int32', '')],
      ['1', wrongType('integer', 'string')],
    ],
  },
  { name: 'number', schema: { type: 'number' }, good: [0, 1.5, 1e300], bad: [['1', wrongType('number', 'string')]] },
  {
    name: 'float',
    schema: { type: 'number', format: 'float' },
    good: [1.5],
    bad: [[1e300, unplaced('Checked value must be of type number with format float in a')]],
  },
  { name: 'boolean', schema: { type: 'boolean' }, good: [true], bad: [[0, wrongType('boolean', 'integer')]] },
  {
    name: 'nullable',
    schema: { type: 'string', nullable: true },
    good: [null, ''],
    bad: [[{}, wrongType('string', 'object')]],
  },
  {
    name: 'int or string',
    schema: { 'x-kubernetes-int-or-string': true },
    good: [1, '50%'],
    bad: [
      [true, wrongType('integer,string', 'boolean')],
      [1.5, wrongType('integer,string', 'number')],
    ],
  },
  {
    name: 'anything where unknown fields are preserved',
    schema: { 'x-kubernetes-preserve-unknown-fields': true },
    good: [null, 1, 'a', [], {}],
    bad: [],
  },
];

const values: readonly Case[] = [
  {
    name: 'lengths count characters',
    schema: { type: 'string', minLength: 2, maxLength: 3 },
    good: ['ab', '🐚🐚🐚'],
    bad: [
      ['a', 'a: Invalid value: "a": a in body should be at least 2 chars long'],
      ['abcd', 'a: Too long: may not be more than 3 bytes'],
    ],
  },
  {
    name: 'patterns',
    schema: { type: 'string', pattern: '^(foo|bar)$' },
    good: ['foo'],
    bad: [['baz', 'a: Invalid value: "baz": a in body should match \'^(foo|bar)$\'']],
  },
  {
    name: 'enumerations',
    schema: { type: 'string', enum: ['x', 'y'], nullable: true },
    good: ['x'],
    bad: [
      ['z', 'a: Unsupported value: "z": supported values: "x", "y"'],
      [null, 'a: Unsupported value: null: supported values: "x", "y"'],
    ],
  },
  {
    name: 'enumerations of anything',
    schema: { enum: [1, { b: [], a: 1 }] },
    good: [1, { a: 1, b: [] }],
    bad: [[{ a: 2 }, 'a: Unsupported value: {"a":2}: supported values: "1", "{\\"a\\":1,\\"b\\":[]}"']],
  },
  {
    name: 'bounds',
    schema: { type: 'integer', minimum: 1, maximum: 10, exclusiveMaximum: true, multipleOf: 3 },
    good: [3, 9],
    bad: [
      [0, 'a: Invalid value: 0: a in body should be greater than or equal to 1'],
      [12, 'a: Invalid value: 12: a in body should be less than 10'],
      [4, 'a: Invalid value: 4: a in body should be a multiple of 3'],
    ],
  },
  {
    name: 'bounds of fractions: of a whole number only the whole part counts',
    schema: { type: 'number', minimum: 0.5, exclusiveMinimum: true, maximum: 1000000.5, multipleOf: 0.5 },
    good: [1.5],
    bad: [
      [
        0.25,
        'a: Invalid value: 0.25: a in body should be a multiple of 0.5',
        'a: Invalid value: 0.25: a in body should be greater than 0.5',
      ],
      [1000001.5, 'a: Invalid value: 1.0000015e+06: a in body should be less than or equal to 1.0000005e+06'],
      [1, 'a: Invalid value: 0: factor MultipleOf declared for a must be positive: 0'],
    ],
  },
  {
    name: 'bounds that are no integers',
    schema: { type: 'integer', maximum: 5.5 },
    good: [],
    bad: [
      [
        6,
        unplaced('Maximum boundary value must be of type integer (default format) in a'),
        'a: Invalid value: 6: a in body should be less than or equal to 5.5',
      ],
    ],
  },
  {
    name: 'lists',
    schema: { type: 'array', items: text, minItems: 1, maxItems: 2, uniqueItems: true },
    good: [['x', 'y']],
    bad: [
      [[], 'a: Invalid value: 0: a in body should have at least 1 items'],
      [['x', 'y', 'z'], 'a: Too many: 3: must have at most 2 items'],
      [['x', 'x'], `a: Invalid value: "": a in body shouldn't contain duplicates`],
      [['x', 1], 'a[1]: Invalid value: "integer": a[1] in body must be of type string: "integer"'],
      [{}, wrongType('array', 'object')],
    ],
  },
  {
    name: 'objects',
    schema: { type: 'object', properties: { b: text }, required: ['b', 'c'], minProperties: 1, maxProperties: 2 },
    good: [
      { b: '', c: 0 },
      { b: '', c: null },
    ],
    bad: [
      [
        {},
        'a: Invalid value: 0: a in body should have at least 1 properties',
        'a.b: Required value',
        'a.c: Required value',
      ],
      [{ b: '', c: 1, d: 1 }, 'a: Too many: 3: must have at most 2 items'],
      [[], wrongType('object', 'array')],
    ],
  },
  {
    name: 'maps',
    schema: { type: 'object', additionalProperties: text },
    good: [{ x: '' }],
    bad: [[{ 'x.y': 1 }, 'a.x.y: Invalid value: "integer": a.x.y in body must be of type string: "integer"']],
  },
  {
    name: 'closed objects',
    schema: { type: 'object', properties: { b: text }, additionalProperties: false },
    good: [{ b: '' }],
    bad: [[{ c: 1 }, 'a: Invalid value: "c": a.c in body is a forbidden property']],
  },
];

const alternatives: readonly Case[] = [
  {
    name: 'anyOf explains the closest alternative',
    schema: {
      type: 'object',
      properties: { b: text, c: text },
      anyOf: [{ required: ['b'] }, { required: ['c'], properties: { b: { minLength: 2 }, c: { minLength: 2 } } }],
    },
    good: [{ b: 'x' }, { c: 'xx' }],
    bad: [
      [{}, unplaced('"a" must validate at least one schema (anyOf)'), 'a.b: Required value'],
      [
        { c: 'x' },
        unplaced('"a" must validate at least one schema (anyOf)'),
        'a.c: Invalid value: "x": a.c in body should be at least 2 chars long',
      ],
    ],
  },
  {
    name: 'oneOf counts',
    schema: { type: 'object', oneOf: [{ required: ['b'] }, { required: ['c'] }] },
    good: [{ b: 1 }, { c: 1 }],
    bad: [
      [{}, unplaced('"a" must validate one and only one schema (oneOf). Found none valid'), 'a.b: Required value'],
      [{ b: 1, c: 1 }, unplaced('"a" must validate one and only one schema (oneOf). Found 2 valid alternatives')],
    ],
  },
  {
    name: 'allOf says which failed',
    schema: { type: 'string', allOf: [{ minLength: 2 }, { maxLength: 3 }] },
    good: ['ab'],
    bad: [
      [
        'a',
        'a: Invalid value: "a": a in body should be at least 2 chars long',
        unplaced('"a" must validate all the schemas (allOf)'),
      ],
    ],
  },
  {
    name: 'allOf of which none holds',
    schema: { type: 'string', allOf: [{ minLength: 2 }] },
    good: ['ab'],
    bad: [
      [
        'a',
        'a: Invalid value: "a": a in body should be at least 2 chars long',
        unplaced('"a" must validate all the schemas (allOf). None validated'),
      ],
    ],
  },
  {
    name: 'not',
    schema: { type: 'string', not: { enum: ['x'] } },
    good: ['y'],
    bad: [['x', unplaced('"a" must not validate the schema (not)')]],
  },
];

describe('validation by schema', () => {
  for (const { name, schema, good, bad } of [...types, ...values, ...alternatives]) {
    it(name, () => {
      for (const value of good) assert.deepEqual(errorsOf(schema, value), [], JSON.stringify(value));
      for (const [value, ...errors] of bad) assert.deepEqual(errorsOf(schema, value), errors, JSON.stringify(value));
    });
  }

  it('finds all errors of an object at once, each once', () => {
    const schema = parseStructuralSchema({
      type: 'object',
      required: ['spec'],
      properties: { a: { type: 'integer', allOf: [{ minimum: 3 }], minimum: 3 }, b: text },
    });
    assert.deepEqual(new SchemaValidator(schema).validate({ a: 1, b: 2 }).map(errorText), [
      'a: Invalid value: 1: a in body should be greater than or equal to 3',
      '<nil>: Invalid value: "": "a" must validate all the schemas (allOf). None validated',
      'b: Invalid value: "integer": b in body must be of type string: "integer"',
      'spec: Required value',
    ]);
  });

  it('takes a place to start from', () => {
    const validator = new SchemaValidator(parseStructuralSchema({ type: 'object', properties: { a: text } }));
    assert.deepEqual(validator.validate({ a: 1 }, { at: path('status') }).map(errorText), [
      'status.a: Invalid value: "integer": a in body must be of type string: "integer"',
    ]);
    assert.deepEqual(validator.validate([], { at: path('status') }).map(errorText), [
      'status: Invalid value: "array":  in body must be of type object: "array"',
    ]);
  });

  it('throws for no JSON at all, and an update is judged no harder than a new object', () => {
    fc.assert(
      fc.property(anySchema, anyJson, anyJson, (props, value, previous) => {
        const validator = new SchemaValidator(parseStructuralSchema(props));
        const created = new Set(validator.validate(value).map(errorText));
        const updated = validator.validate(value, { previous }).map(errorText);
        assert.deepEqual(
          updated.filter((error) => !created.has(error)),
          [],
        );
      }),
    );
  });
});

describe('validation of an update', () => {
  const bad = { type: 'string', maxLength: 1 };
  const schema = parseStructuralSchema({
    type: 'object',
    properties: {
      kind: { type: 'string', maxLength: 1 },
      a: bad,
      b: bad,
      object: { type: 'object', properties: { a: bad, n: { type: 'integer' } }, required: ['c'] },
      atomic: { type: 'array', items: bad },
      map: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        items: { type: 'object', properties: { name: text, a: bad } },
      },
      all: { type: 'object', properties: { a: text }, allOf: [{ properties: { a: { maxLength: 1 } } }] },
      free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, required: ['x'] },
    },
  });
  const errorsOfUpdate = (previous: unknown, next: unknown) =>
    new SchemaValidator(schema).validate(next, { previous }).map(({ field }) => field);

  it('lets pass what was wrong before and is the same', () => {
    assert.deepEqual(errorsOfUpdate({ a: 'long', b: 'x' }, { a: 'long', b: 'y' }), []);
    assert.deepEqual(errorsOfUpdate({ a: 'long' }, { a: 'long too' }), ['a']);
    assert.deepEqual(errorsOfUpdate({ a: 'long' }, { b: 'long' }), ['b']);
  });

  it('judges an object anew when any part of it changed, but its unchanged parts not', () => {
    const object = { a: 'long', n: 1 };
    assert.deepEqual(errorsOfUpdate({ object }, { object, a: 'x' }), []);
    assert.deepEqual(errorsOfUpdate({ object }, { object: { ...object, n: 2 } }), ['object.c']);
  });

  it('finds elements of a map by their keys, wherever they stand', () => {
    const map = [
      { name: 'x', a: 'long' },
      { name: 'y', a: 'z' },
    ];
    assert.deepEqual(errorsOfUpdate({ map }, { map: [{ name: 'new' }, map[1], map[0]] }), []);
    assert.deepEqual(errorsOfUpdate({ map }, { map: [{ name: 'z', a: 'long' }] }), ['map[0].a']);
  });

  it('takes other lists as one value', () => {
    assert.deepEqual(errorsOfUpdate({ atomic: ['long'] }, { atomic: ['long'], a: 'x' }), []);
    assert.deepEqual(errorsOfUpdate({ atomic: ['long'] }, { atomic: ['long', 'x'] }), ['atomic[0]']);
  });

  it('does not look for the past inside allOf', () => {
    assert.deepEqual(errorsOfUpdate({ all: { a: 'long', b: 1 } }, { all: { a: 'long', b: 2 } }), ['all.a', '<nil>']);
  });

  it('cannot tell that parts without a schema are the same', () => {
    assert.deepEqual(errorsOfUpdate({ free: { y: 1 } }, { free: { y: 1 }, a: 'x' }), ['free.x']);
  });

  it('judges the kind always', () => {
    assert.deepEqual(errorsOfUpdate({ kind: 'Long', a: 'x' }, { kind: 'Long', a: 'y' }), ['kind']);
  });
});
