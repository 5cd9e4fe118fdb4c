/**
 * What expressions cost and may cost at most: the figures are those that upstream's own tests ask for, for budgets and refusals
 * depend on them. At run time constants are free, as upstream folds them too.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  Environment,
  intType,
  listOf,
  mapOf,
  objectType,
  stringType,
  timestampType,
  unbounded,
} from './index.ts';

const item = objectType('Item', { field: (name) => (name === 'count' ? { type: intType } : undefined) });
const items = listOf(item);
const texts = listOf(stringType);
const nestedMap = mapOf(stringType, mapOf(stringType, item));
const text500 = 'x'.repeat(500);

interface Case {
  readonly expression: string;
  readonly variables?: Readonly<Record<string, CelType>>;
}

function compile({ expression, variables = {} }: Case) {
  const compiled = Environment.standard({ variables }).compile(expression);
  assert.ok(compiled.program, `${expression}: ${compiled.program === undefined ? compiled.text : ''}`);
  return compiled.program;
}

const bools = { a: boolType, b: boolType, c: boolType, d: boolType };

const spent: readonly (Case & { readonly values?: Readonly<Record<string, unknown>>; readonly cost: number })[] = [
  { expression: '"Hello World!"', cost: 0 },
  { expression: 'input', variables: { input: texts }, values: { input: [] }, cost: 1 },
  {
    expression: "input['key']",
    variables: { input: mapOf(stringType, stringType) },
    values: { input: { key: 'v' } },
    cost: 2,
  },
  { expression: 'input[0]', variables: { input: texts }, values: { input: ['v'] }, cost: 2 },
  { expression: 'input.count', variables: { input: item }, values: { input: { count: 1 } }, cost: 2 },
  {
    expression: "input['ke' + 'y']",
    variables: { input: mapOf(stringType, stringType) },
    values: { input: { key: 'v' } },
    cost: 3,
  },
  { expression: 'input[3 - 3]', variables: { input: texts }, values: { input: ['v'] }, cost: 3 },
  {
    expression: 'input[index]',
    variables: { input: texts, index: intType },
    values: { input: ['v'], index: 0 },
    cost: 2,
  },
  { expression: 'has(input.count)', variables: { input: item }, values: { input: {} }, cost: 1 },
  { expression: 'has(input.a.b)', variables: { input: nestedMap }, values: { input: { a: { b: {} } } }, cost: 2 },
  { expression: '[1, 2, 3]', cost: 0 },
  { expression: '[x]', variables: { x: intType }, values: { x: 1 }, cost: 11 },
  { expression: '{"a": x}', variables: { x: intType }, values: { x: 1 }, cost: 31 },
  { expression: 'input.all(x, true)', variables: { input: items }, values: { input: [] }, cost: 2 },
  { expression: '[1, 2, 3].all(x, true)', cost: 10 },
  { expression: "input.matches('[0-9]')", variables: { input: stringType }, values: { input: text500 }, cost: 103 },
  { expression: "'123'.matches('[0-9]')", cost: 2 },
  { expression: 'a || b || c || d', variables: bools, values: { a: false, b: false, c: false, d: false }, cost: 4 },
  { expression: 'a && b && c && d', variables: bools, values: { a: true, b: true, c: true, d: true }, cost: 4 },
  { expression: 'a && b && c && d', variables: bools, values: { a: false, b: true, c: true, d: true }, cost: 1 },
  { expression: '1 < 2', cost: 1 },
  { expression: '2 in [1, 2, 3]', cost: 0 },
  {
    expression: 'x in input',
    variables: { x: stringType, input: texts },
    values: { x: 'c', input: ['a', 'b'] },
    cost: 4,
  },
  { expression: 'true ? 1 : 2', cost: 0 },
  { expression: 'size("123")', cost: 1 },
  { expression: "'12345678901234567890' == '123456789012345678901234567890'", cost: 2 },
  { expression: 'string(input)', variables: { input: bytesType }, values: { input: new Uint8Array(500) }, cost: 51 },
  { expression: 'bytes(input)', variables: { input: stringType }, values: { input: text500 }, cost: 51 },
  {
    expression: 'input.contains(part)',
    variables: { input: stringType, part: stringType },
    values: { input: text500, part: text500 },
    cost: 2502,
  },
  {
    expression: 'input.startsWith(part)',
    variables: { input: stringType, part: stringType },
    values: { input: 'idc', part: text500 },
    cost: 3,
  },
  {
    expression: '(x > 2 ? one : two).all(y, true)',
    variables: { x: intType, one: items, two: items },
    values: { x: 1, one: [{}], two: [{}] },
    cost: 6,
  },
  { expression: 'false ? false : 1 > 3', cost: 1 },
  {
    expression: 'input.all(k, input[k].count > 3)',
    variables: { input: mapOf(stringType, item) },
    values: { input: { val: { count: 0 } } },
    cost: 9,
  },
  {
    expression: '(one + two).all(x, true)',
    variables: { one: texts, two: texts },
    values: { one: [], two: [] },
    cost: 4,
  },
  {
    expression: '"abcdefg".contains(one + two)',
    variables: { one: stringType, two: stringType },
    values: { one: 'val1', two: 'val2222222' },
    cost: 6,
  },
];

test('evaluations cost what upstream charges', () => {
  for (const { values = {}, cost, ...rest } of spent) {
    assert.equal(compile(rest).evaluate(values).cost, cost, rest.expression);
  }
});

const estimated: readonly (Case & {
  readonly sizes?: Readonly<Record<string, number>>;
  readonly min: number;
  readonly max: number;
})[] = [
  { expression: '"Hello World!"', min: 0, max: 0 },
  { expression: 'input', variables: { input: texts }, min: 1, max: 1 },
  { expression: "input['key']", variables: { input: mapOf(stringType, stringType) }, min: 2, max: 2 },
  { expression: 'has(input.count)', variables: { input: item }, min: 1, max: 1 },
  { expression: 'has(input.a.b)', variables: { input: nestedMap }, min: 2, max: 2 },
  { expression: '[1, 2, 3]', min: 10, max: 10 },
  { expression: '{"a": 1, "b": 2, "c": 3}', min: 30, max: 30 },
  { expression: 'input.all(x, true)', variables: { input: items }, sizes: { input: 100 }, min: 2, max: 302 },
  {
    expression: 'input.all(x, x.all(y, true))',
    variables: { input: listOf(items) },
    sizes: { input: 50, 'input.@items': 10 },
    min: 2,
    max: 1752,
  },
  { expression: '[1, 2, 3].all(x, true)', min: 20, max: 20 },
  { expression: "input.matches('[0-9]')", variables: { input: stringType }, sizes: { input: 500 }, min: 3, max: 103 },
  { expression: 'a || b || c || d', variables: bools, min: 1, max: 4 },
  { expression: '2 in [1, 2, 3]', min: 13, max: 13 },
  { expression: 'true ? 1 : 2', min: 0, max: 0 },
  {
    expression: 'string(input) == string(input)',
    variables: { input: bytesType },
    sizes: { input: 500 },
    min: 3,
    max: 152,
  },
  {
    expression: 'bytes(input) == bytes(input)',
    variables: { input: stringType },
    sizes: { input: 500 },
    min: 3,
    max: 302,
  },
  {
    expression: 'input.contains(part)',
    variables: { input: stringType, part: stringType },
    sizes: { input: 500, part: 500 },
    min: 2,
    max: 2502,
  },
  {
    expression: 'input.startsWith(part)',
    variables: { input: stringType, part: stringType },
    sizes: { part: 500 },
    min: 2,
    max: 52,
  },
  {
    expression: '(x > 2 ? one : two).all(y, true)',
    variables: { x: intType, one: items, two: items },
    sizes: { one: 1, two: 1 },
    min: 4,
    max: 7,
  },
  {
    expression: 'input.all(k, input[k].count > 3)',
    variables: { input: mapOf(stringType, item) },
    sizes: { input: 10 },
    min: 2,
    max: 82,
  },
  {
    expression: 'input.all(k, input[k].all(x, true))',
    variables: { input: nestedMap },
    sizes: { input: 5, 'input.@values': 10 },
    min: 2,
    max: 187,
  },
  {
    expression: 'input.all(k, k.contains(k))',
    variables: { input: nestedMap },
    sizes: { input: 5, 'input.@keys': 10 },
    min: 2,
    max: 32,
  },
  {
    expression: 'input.all(k, input[k].all(k, true) && k.contains(k))',
    variables: { input: nestedMap },
    sizes: { input: 2, 'input.@values': 2, 'input.@keys': 5 },
    min: 2,
    max: 34,
  },
  {
    expression: '(one + two).all(x, true)',
    variables: { one: listOf(intType), two: listOf(intType) },
    sizes: { one: 10, two: 10 },
    min: 4,
    max: 64,
  },
  {
    expression: '"abcdefg".contains(one + two)',
    variables: { one: stringType, two: stringType },
    sizes: { one: 10, two: 10 },
    min: 2,
    max: 6,
  },
  { expression: 'one.size() == two.size()', variables: { one: texts, two: texts }, min: 5, max: 5 },
  {
    expression: 'x > y ? one.size() : two.size()',
    variables: { x: intType, y: intType, one: texts, two: texts },
    min: 5,
    max: 5,
  },
  {
    expression: '([x, y] + one + two).size()',
    variables: { x: intType, y: intType, one: listOf(intType), two: listOf(intType) },
    sizes: { one: 10, two: 20 },
    min: 17,
    max: 17,
  },
  {
    expression: "[one, two].exists(l, l.exists(v, v.startsWith('hi')))",
    variables: { one: texts, two: texts },
    sizes: { one: 10, 'one.@items': 64, two: 20, 'two.@items': 128 },
    min: 21,
    max: 265,
  },
  { expression: '((5 != 6) == (1 == 2)) == ((3 <= 4) == (9 != 9))', min: 7, max: 7 },
  {
    expression: 'string(t) == string(u)',
    variables: { t: timestampType, u: timestampType },
    min: 5,
    max: unbounded / 10,
  },
  { expression: 't != u', variables: { t: durationType, u: durationType }, min: 3, max: 3 },
  { expression: '[1,2,3,4,5].filter(x, x % 2 == 0)', min: 41, max: 101 },
  { expression: '[1,2,3,4,5].map(x, x)', min: 86, max: 86 },
  { expression: '[1,2,3,4,5].map(x, x).filter(x, x % 2 == 0)', min: 117, max: 177 },
  { expression: '[1,2,3,4,5].map(x, x).exists(x, x == 5) == true', min: 108, max: 118 },
  { expression: '[1,2,3,4,5].map(x, x).map(x, x)', min: 162, max: 162 },
  { expression: '[1,2,3,4,5].map(x, x)[4]', min: 87, max: 87 },
  { expression: '[[1,2],[1,2],[1,2],[1,2],[1,2]][4]', min: 61, max: 61 },
  { expression: "{'a': [1,2], 'b': [1,2], 'c': [1,2], 'd': [1,2], 'e': [1,2]}.b", min: 81, max: 81 },
  { expression: '[[1, 1], [2, 2], [3, 3], [4, 4], [5, 5]].all(y, y.all(y, y == 1))', min: 76, max: 136 },
  { expression: '[1,2,3,4,5].map(x, [x, x]).all(y, y.all(y, y == 1))', min: 157, max: 217 },
  {
    expression: "input.map(x, [x, x]).all(y, y.all(y, y.startsWith('a')))",
    variables: { input: texts },
    sizes: { input: 5, 'input.@items': 10 },
    min: 13,
    max: 208,
  },
  { expression: '[1,2,3,4,5].map(x, x).map(x, x) + [1]', min: 173, max: 173 },
  { expression: '[1,2,3].all(i, i in [1,2,3].map(j, j + j))', min: 20, max: 230 },
  { expression: 'dyn([1,2,3]).all(i, i in dyn([1,2,3]).map(j, j + j))', min: 21, max: 234 },
  { expression: "{'hello': 'hi'}['hello'] != {'hello': 'bye'}['hello']", min: 63, max: 63 },
  { expression: "['hello', 'hi'][0] != ['hello', 'bye'][1]", min: 23, max: 23 },
  { expression: 'type(self.val1)', variables: { self: mapOf(stringType, intType) }, min: 3, max: 3 },
  { expression: 'type(1) == int', min: 3, max: unbounded / 10 },
  { expression: 'self.val1 == 1.0', variables: { 'self.val1': doubleType }, min: 2, max: 2 },
  { expression: 'self.val1 == 1.0', variables: { self: mapOf(stringType, doubleType) }, min: 3, max: 3 },
  {
    expression: "timestamp(self.at) == timestamp('2011-08-18T00:00:00.000+01:00') + duration('19h3m37s10ms')",
    variables: { self: mapOf(stringType, timestampType) },
    min: 7,
    max: 7,
  },
  { expression: 'self.val1 != self.val2', variables: { self: mapOf(stringType, boolType) }, min: 5, max: 5 },
];

test('estimates are those by which upstream refuses rules', () => {
  for (const { sizes = {}, min, max, ...rest } of estimated) {
    const estimate = compile(rest).estimate(({ path }) => {
      const size = path && sizes[path.join('.')];
      return size === undefined ? undefined : { min: 0, max: size };
    });
    assert.equal(estimate.min, min, `least of ${rest.expression}`);
    // Beyond 2^53 figures are approximate.
    assert.ok(Math.abs(estimate.max - max) <= max * 1e-9, `most of ${rest.expression}: ${estimate.max}, not ${max}`);
  }
});

test('what an expression makes itself has no path, so that no declaration is taken for it', () => {
  const paths: unknown[] = [];
  const { program } = Environment.standard({ variables: { self: stringType } }).compile('string(bytes(self)) == self');
  program!.estimate(({ path }) => {
    paths.push(path);
    return undefined;
  });
  assert.ok(paths.some((path) => path === undefined));
  assert.ok(paths.every((path) => path === undefined || (Array.isArray(path) && path.length > 0)));
});
