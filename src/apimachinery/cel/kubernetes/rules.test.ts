import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorText } from '../../field-error.ts';
import { type JsonSchemaProps, parseStructuralSchema } from '../../structural-schema/schema.ts';
import { SchemaRules } from './rules.ts';

interface Case {
  readonly schema: JsonSchemaProps;
  readonly value: unknown;
  readonly previous?: unknown;
  readonly rules?: readonly string[];
}

function verdict({ schema, value, previous, rules = [] }: Case) {
  const withRules =
    rules.length === 0 ? schema : { ...schema, 'x-kubernetes-validations': rules.map((rule) => ({ rule })) };
  const compiled = new SchemaRules(parseStructuralSchema(withRules), { resourceRoot: false });
  return compiled.validate(value, previous === undefined ? {} : { previous });
}

const errorsOf = (given: Case) => verdict(given).errors.map(errorText);

const object = (
  properties: Readonly<Record<string, JsonSchemaProps>>,
  more: JsonSchemaProps = {},
): JsonSchemaProps => ({
  type: 'object',
  properties,
  ...more,
});
const listOf = (items: JsonSchemaProps, more: JsonSchemaProps = {}): JsonSchemaProps => ({
  type: 'array',
  items,
  ...more,
});
const integer: JsonSchemaProps = { type: 'integer' };
const string: JsonSchemaProps = { type: 'string' };

test('values obey rules over all that a schema can describe', () => {
  const cases: readonly Case[] = [
    {
      schema: object({ a: integer, b: integer, c: { type: 'number' }, d: { type: 'boolean' }, e: string }),
      value: { a: 1, b: 2, c: 1.5, d: true, e: 'x' },
      rules: [
        'self.a < self.b',
        'type(self.c) == double',
        'self.c > 1.2',
        'self.d',
        "self.e == 'x'",
        '!has(self.e) || self.e.size() == 1',
      ],
    },
    {
      schema: object({
        when: { type: 'string', format: 'date-time' },
        day: { type: 'string', format: 'date' },
        span: { type: 'string', format: 'duration' },
        raw: { type: 'string', format: 'byte' },
        either: { 'x-kubernetes-int-or-string': true },
      }),
      value: { when: '2026-01-02T03:04:05.5Z', day: '2026-01-02', span: '1h30m', raw: 'AAEC', either: 3 },
      rules: [
        "self.when == timestamp('2026-01-02T03:04:05.5Z')",
        'self.when.getMonth() == 0',
        'self.day.getFullYear() == 2026',
        "self.span == duration('90m')",
        "self.raw == b'\\000\\001\\002' && self.raw.size() == 3",
        'type(self.either) == int && self.either == 3',
      ],
    },
    {
      schema: object({ namespace: string, 'a-b': string, 'x.y/z': string, __u: string, $ref: string }),
      value: { namespace: 'n', 'a-b': 'd', 'x.y/z': 's', __u: 'u', $ref: 'hidden' },
      rules: [
        "self.__namespace__ == 'n'",
        "self.namespace == 'n'",
        "self.a__dash__b == 'd'",
        "self.x__dot__y__slash__z == 's'",
        "self.__underscores__u == 'u'",
      ],
    },
    {
      schema: object({ set: listOf(string, { 'x-kubernetes-list-type': 'set' }), list: listOf(string) }),
      value: { set: ['a', 'b'], list: ['a', 'b'] },
      rules: [
        "self.set == ['b', 'a']",
        "self.list != ['b', 'a']",
        "self.set + ['b', 'c'] == ['c', 'a', 'b']",
        "(self.list + ['b']).size() == 3 && (self.set + ['b']).size() == 2",
        "'a' in self.set",
      ],
    },
    {
      schema: object({
        lists: listOf(
          listOf(object({ k: string, v: integer }), {
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['k'],
          }),
        ),
      }),
      value: {
        lists: [
          [
            { k: 'a', v: 1 },
            { k: 'b', v: 2 },
          ],
          [
            { k: 'b', v: 2 },
            { k: 'a', v: 1 },
          ],
        ],
      },
      rules: [
        'self.lists[0] == self.lists[1]',
        '(self.lists[0] + self.lists[1]).size() == 2',
        "self.lists[0].exists(e, e.k == 'b' && e.v == 2)",
      ],
    },
    {
      schema: object({ labels: { type: 'object', additionalProperties: string } }),
      value: { labels: { 'a-b': 'x', c: 'y' } },
      rules: [
        "self.labels['a-b'] == 'x'",
        "'c' in self.labels",
        'self.labels.all(k, k.size() < 4)',
        'has(self.labels.c)',
      ],
    },
    {
      schema: object({
        gone: { type: 'string', nullable: true },
        kept: { type: 'object', nullable: true, properties: { x: integer } },
      }),
      value: { gone: null },
      rules: ['!has(self.gone)', '!has(self.kept)', "self.?gone.orValue('none') == 'none'"],
    },
    {
      schema: object({
        template: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
      }),
      value: { template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', labels: { a: 'b' } }, spec: {} } },
      rules: [
        "self.template.kind == 'Pod' && self.template.metadata.name == 'p'",
        '!has(self.template.metadata.generateName)',
      ],
    },
  ];
  for (const given of cases) assert.deepEqual(errorsOf(given), []);
});

test('a rule that fails says so in upstream’s words', () => {
  const schema = object({ a: integer, spec: object({ x: string }) });
  const failing = (rule: object): JsonSchemaProps => ({
    ...schema,
    'x-kubernetes-validations': [rule as { rule: string }],
  });
  const value = { a: 2, spec: { x: 'y' } };
  const cases: readonly (readonly [object, string])[] = [
    [{ rule: ' self.a < 1 ' }, '<nil>: Invalid value: failed rule: self.a < 1'],
    [{ rule: 'self.a < 1', message: ' too large ' }, '<nil>: Invalid value: too large'],
    [{ rule: 'self.a < 1', messageExpression: "'a is %d'.format([self.a])" }, '<nil>: Invalid value: a is 2'],
    [{ rule: 'self.a < 1', messageExpression: "' '", message: 'instead' }, '<nil>: Invalid value: instead'],
    [{ rule: 'self.a < 1', messageExpression: "'a\\nb'" }, '<nil>: Invalid value: failed rule: self.a < 1'],
    [{ rule: 'self.a < 1', reason: 'FieldValueForbidden' }, '<nil>: Forbidden: failed rule: self.a < 1'],
    [
      { rule: 'self.a < 1', reason: 'FieldValueRequired', fieldPath: '.spec.x' },
      'spec.x: Required value: failed rule: self.a < 1',
    ],
    [{ rule: 'self.a < 1', reason: 'FieldValueDuplicate', fieldPath: '.a' }, 'a: Duplicate value'],
    [{ rule: "self.spec.x[0] == 'y'" }, ''],
    [{ rule: 'self.a / 0 == 1' }, '<nil>: Invalid value: "object": division by zero evaluating rule: self.a / 0 == 1'],
  ];
  for (const [rule, message] of cases) {
    const [first = ''] = errorsOf({ schema: failing(rule), value });
    if (message === '')
      assert.match(first, /^<nil>: Invalid value: "object": rule compile error: compilation failed: ERROR: <input>:1:/);
    else assert.equal(first, message);
  }
});

test('the error of a scalar shows it, and paths lead through maps and lists', () => {
  const small: JsonSchemaProps = { ...integer, 'x-kubernetes-validations': [{ rule: 'self < 3' }] };
  const schema = object({
    one: small,
    list: listOf(small),
    map: { type: 'object', additionalProperties: small },
  });
  const value = { one: 5, list: [1, 4], map: { a: 1, b: 9 } };
  assert.deepEqual(errorsOf({ schema, value }), [
    'one: Invalid value: 5: failed rule: self < 3',
    'list[1]: Invalid value: 4: failed rule: self < 3',
    'map[b]: Invalid value: 9: failed rule: self < 3',
  ]);
});

test('a transition rule runs where the previous value is known', () => {
  const frozen: JsonSchemaProps = {
    ...string,
    'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'is frozen' }],
  };
  const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] };
  const schema = object({ a: frozen, items: listOf(object({ k: string, v: frozen }), keyed) });
  assert.deepEqual(errorsOf({ schema, value: { a: 'x' } }), []);
  const previous = {
    a: 'x',
    items: [
      { k: '1', v: 'one' },
      { k: '2', v: 'two' },
    ],
  };
  const value = {
    a: 'x',
    items: [
      { k: '2', v: 'two' },
      { k: '1', v: 'uno' },
      { k: '3', v: 'new' },
    ],
  };
  assert.deepEqual(errorsOf({ schema, value, previous }), ['items[1].v: Invalid value: "uno": is frozen']);
});

test('with optionalOldSelf a rule runs on create, too', () => {
  const rule = {
    rule: "!oldSelf.hasValue() && self == 'first' || oldSelf.optMap(o, o != self).orValue(false)",
    optionalOldSelf: true,
  };
  const schema = object({ a: { ...string, 'x-kubernetes-validations': [rule] } });
  assert.deepEqual(errorsOf({ schema, value: { a: 'first' } }), []);
  assert.equal(errorsOf({ schema, value: { a: 'second' } }).length, 1);
  assert.deepEqual(errorsOf({ schema, value: { a: 'second' }, previous: { a: 'first' } }), []);
  assert.equal(errorsOf({ schema, value: { a: 'first' }, previous: { a: 'first' } }).length, 1);
});

test('what was wrong before and is unchanged warns; what changed is an error', () => {
  const short: JsonSchemaProps = {
    ...string,
    'x-kubernetes-validations': [{ rule: 'self.size() < 3', message: 'too long' }],
  };
  const schema = object({ a: short, b: short, list: listOf(short) });
  const previous = { a: 'long', b: 'long', list: ['long'] };
  const same = verdict({ schema, value: previous, previous });
  assert.deepEqual(same.errors, []);
  assert.equal(same.warnings.length, 3);
  const changed = verdict({ schema, value: { a: 'long', b: 'longer', list: ['long', 'x'] }, previous });
  assert.deepEqual(changed.errors.map(errorText), [
    'b: Invalid value: "longer": too long',
    'list[0]: Invalid value: "long": too long',
  ]);
  assert.deepEqual(changed.warnings, ['a: Invalid value: "long": too long']);
});

test('rules of allOf apply to the structure that they are added to', () => {
  const schema = object(
    { a: integer },
    {
      'x-kubernetes-validations': [{ rule: 'true' }],
      allOf: [{ properties: { a: { 'x-kubernetes-validations': [{ rule: 'self > 3' }] } } }],
    },
  );
  assert.deepEqual(errorsOf({ schema, value: { a: 1 } }), ['a: Invalid value: 1: failed rule: self > 3']);
});

test('hostile rules end by their cost', () => {
  const schema = object({ list: listOf(integer), text: string });
  const list = Array.from({ length: 2000 }, (_, i) => i);
  const text = 'a'.repeat(100_000);
  const hostile = [
    'self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))',
    'self.list.map(a, self.list.map(b, self.list)).flatten().size() > 0',
    "self.text.matches('(a*)*(a*)*(a*)*b')",
    "self.text.replace('', self.text).size() > 0",
    'sets.contains(self.list.map(a, [a]), self.list.map(a, [a]))',
    'lists.range(1000000000000).size() > 0',
    "lists.range(5000).map(a, lists.range(5000).map(b, '%s')).size() > 0",
  ];
  for (const rule of hostile) {
    const { errors, remainingBudget } = verdict({ schema, value: { list, text }, rules: [rule] });
    assert.equal(errors.length, 1, rule);
    assert.ok(remainingBudget < 10_000_000);
  }
  const [first] = errorsOf({ schema, value: { list, text }, rules: [hostile[0]!] });
  assert.equal(
    first,
    `<nil>: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${hostile[0]}`,
  );
});

test('all rules of an object are paid from one budget', () => {
  const schema = object({ list: listOf({ ...integer, 'x-kubernetes-validations': [{ rule: 'self >= 0' }] }) });
  const rules = new SchemaRules(parseStructuralSchema(schema), { resourceRoot: false });
  const { errors, remainingBudget } = rules.validate({ list: [1, 2, 3, 4] }, { budget: 5 });
  assert.equal(remainingBudget, -1);
  assert.deepEqual(errors.map(errorText), [
    'list[2]: Invalid value: "integer": validation failed due to running out of cost budget, no further validation rules will be run',
  ]);
});
