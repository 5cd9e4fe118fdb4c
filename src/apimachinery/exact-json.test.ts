import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import { jsonText, parseJson } from './exact-json.ts';

test('whole numbers beyond a double are kept, up to those of 64 bits', () => {
  const text = '{"a":9007199254740993,"b":[-9223372036854775808,9223372036854775807],"c":1}';
  assert.deepEqual(parseJson(text), { a: 9007199254740993n, b: [-(2n ** 63n), 2n ** 63n - 1n], c: 1 });
  assert.equal(jsonText(parseJson(text)), text);
});

test('what is no int64 is a double, and long digits in texts and fractions are none', () => {
  const texts = [
    '9223372036854775808',
    '1e30',
    '0.12345678901234567890',
    '"12345678901234567890"',
    '1000000000000000000000',
  ];
  for (const text of texts) assert.deepEqual(parseJson(text), JSON.parse(text), text);
});

test('a key __proto__ is a key like any other', () => {
  const value = parseJson('{"__proto__":{"a":9007199254740993}}') as object;
  assert.deepEqual(Object.keys(value), ['__proto__']);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
});

test('any JSON comes back', () => {
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => {
        const double = Number(value);
        return Number.isSafeInteger(double) ? double : value;
      }),
      fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Number.isInteger(value)),
      fc.string(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(fc.string(), tie('tree'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  fc.assert(fc.property(tree, (value) => assert.deepEqual(parseJson(jsonText(value)), value)));
});
