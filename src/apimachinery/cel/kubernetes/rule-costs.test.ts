import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JsonSchemaProps, parseStructuralSchema } from '../../structural-schema/schema.ts';
import { compileRules } from './rule-compilation.ts';
import { objectCostBudget, SchemaRules } from './rules.ts';
import { declaredTypeOf } from './schema-types.ts';

const string: JsonSchemaProps = { type: 'string' };
const integer: JsonSchemaProps = { type: 'integer' };

interface Table {
  readonly properties: Readonly<Record<string, JsonSchemaProps>>;
  readonly value: unknown;
  /** A rule, what it may cost at most under the schema, and what it costs on the value: upstream's figures. */
  readonly rules: readonly (readonly [string, number, number])[];
}

const listOf = (items: JsonSchemaProps): JsonSchemaProps => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'atomic',
});
const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] };

const tables: readonly Table[] = [
  {
    properties: { a: integer, b: integer, c: { type: 'number' } },
    value: { a: 5, b: 5, c: 10 },
    rules: [
      ['self.a == self.b', 4, 5],
      ['type(self.a) == int', 4, 4],
      ['double(self.a) < self.c', 6, 6],
      ['5 < int(10.0)', 2, 1],
    ],
  },
  {
    properties: { text: string },
    value: { text: 'Rook takes 👑' },
    rules: [
      ["self.text.startsWith('Rook')", 3, 4],
      ["self.text.matches('^[^0-9]*$')", 943721, 8],
      ['size(self.text) == 12', 4, 4],
      ["self.text.charAt(3) == 'k'", 4, 4],
      ["self.text.indexOf('o') == 1", 314576, 4],
    ],
  },
  {
    properties: {
      bytes: { ...string, format: 'byte' },
      span: { ...string, format: 'duration' },
      day: { ...string, format: 'date' },
    },
    value: { bytes: 'QUI=', span: '1h2m3s4ms', day: '1997-07-16' },
    rules: [
      ["self.bytes == b'AB'", 3, 3],
      ["self.span == duration('1h2m') + duration('3s4ms')", 6, 4],
      ['self.span.getHours() == 1', 4, 4],
      ['self.day.getDate() == 16', 4, 4],
      ['type(self.day) == google.protobuf.Timestamp', 4, 4],
    ],
  },
  {
    properties: { word: { ...string, enum: ['Pending', 'Available', 'Bound', 'Released', 'Failed'] } },
    value: { word: 'Pending' },
    rules: [
      ["self.word == 'Pending'", 3, 3],
      ["self.word in ['Pending', 'Available']", 14, 2],
    ],
  },
  {
    properties: { list: listOf(integer), list2: listOf(integer) },
    value: { list: [1, 2, 3], list2: [1, 2, 3] },
    rules: [
      ['1 in self.list', 1572865, 5],
      ['self.list2[0] in self.list', 1572868, 8],
      ['self.list + [4, 5] == [1, 2, 3, 4, 5]', 24, 4],
      ['has(self.list) && has(self.list2)', 2, 2],
    ],
  },
  {
    properties: {
      objs: listOf({ type: 'array', items: { type: 'object', properties: { k: string, v: string } }, ...keyed }),
    },
    value: {
      objs: [
        [
          { k: 'a', v: '1' },
          { k: 'b', v: '2' },
        ],
        [
          { k: 'b', v: '2' },
          { k: 'a', v: '1' },
        ],
        [
          { k: 'b', v: '3' },
          { k: 'a', v: '1' },
        ],
      ],
    },
    rules: [
      ['self.objs[0] == self.objs[1]', 104864, 7],
      ['self.objs[0] + self.objs[2] == self.objs[2]', 104868, 11],
      ['self.objs[0] == [self.objs[0][1], self.objs[0][0]]', 22, 22],
    ],
  },
  {
    properties: {
      list: { type: 'array', items: { type: 'object', properties: { k: string, v: string, v2: string } }, ...keyed },
    },
    value: {
      list: [
        { k: 'a1', v: 'b1' },
        { k: 'a2', v: 'b2' },
        { k: 'a3', v: 'b3', v2: 'z' },
      ],
    },
    rules: [
      ["self.list.all(m, m.k.startsWith('a'))", 6291453, 21],
      ["self.list.all(m, !has(m.v2) || m.v2 == 'z')", 8388603, 21],
      ["self.list.exists(m, m.k.endsWith('1'))", 7340028, 13],
      ["self.list.exists_one(m, m.k == 'a3')", 5242879, 15],
      ["size(self.list.filter(m, m.k == 'a1')) == 1", 16777215, 27],
    ],
  },
  {
    properties: { map: { type: 'object', additionalProperties: integer } },
    value: { map: { b: 1, d: 2 } },
    rules: [
      ["'b' in self.map", 3, 3],
      ['has(self.map.b)', 2, 2],
      ['self.map.all(k, self.map[k] > 0)', 3595115, 17],
    ],
  },
];

test('rules cost what they cost upstream, estimated and run', () => {
  for (const { properties, value, rules } of tables) {
    const actual = rules.map(([rule]) => {
      const schema = parseStructuralSchema({ type: 'object', properties, 'x-kubernetes-validations': [{ rule }] });
      const [compiled] = compileRules(schema, declaredTypeOf(schema)!, () => 'new');
      assert.equal(compiled!.error, undefined, rule);
      const { errors, remainingBudget } = new SchemaRules(schema).validate(value);
      assert.deepEqual(errors, [], rule);
      return [rule, compiled!.maxCost, objectCostBudget - remainingBudget];
    });
    assert.deepEqual(actual, rules);
  }
});

test('declared limits bound the estimate', () => {
  const size = (property: JsonSchemaProps) => declaredTypeOf(parseStructuralSchema(property))!.maxElements;
  const request = 3 * 1024 * 1024;
  assert.equal(size(string), request - 2);
  assert.equal(size({ ...string, maxLength: 10 }), 40);
  assert.equal(size({ ...string, enum: ['on', 'auto'] }), 4);
  assert.equal(size({ ...string, format: 'byte', maxLength: 10 }), 10);
  assert.equal(size({ ...string, format: 'duration' }), 32);
  assert.equal(size({ 'x-kubernetes-int-or-string': true, maxLength: 3 }), 12);
  assert.equal(size({ type: 'array', items: integer }), (request - 2) / 2);
  assert.equal(size({ type: 'array', items: integer, maxItems: 7 }), 7);
  assert.equal(size({ type: 'object', additionalProperties: string }), Math.floor((request - 2) / 8));
  assert.equal(size({ type: 'object', additionalProperties: string, maxProperties: 4 }), 4);
});

test('of what a schema does not describe there is nothing to see', () => {
  const none: readonly JsonSchemaProps[] = [
    { 'x-kubernetes-preserve-unknown-fields': true },
    { type: 'array' },
    { type: 'object', additionalProperties: { 'x-kubernetes-preserve-unknown-fields': true } },
  ];
  for (const props of none) assert.equal(declaredTypeOf(parseStructuralSchema(props)), undefined);
});
