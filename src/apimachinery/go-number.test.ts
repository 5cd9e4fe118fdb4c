import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatNumber, parseInt64, parseUint64 } from './go-number.ts';

test('whole numbers are read as Go reads them', () => {
  assert.equal(parseInt64('-5'), -5);
  assert.equal(parseInt64('+5'), 5);
  assert.equal(parseInt64('9223372036854775807'), 2 ** 63);
  assert.equal(parseUint64('007'), 7);
});

test('what is none is refused in Go’s words', () => {
  for (const text of ['', 'x', '1.5', '1e3', ' 1', '0x1']) {
    assert.throws(() => parseInt64(text), { message: `strconv.ParseInt: parsing "${text}": invalid syntax` });
    assert.throws(() => parseUint64(text), { message: `strconv.ParseUint: parsing "${text}": invalid syntax` });
  }
  assert.throws(() => parseUint64('-1'), { message: 'strconv.ParseUint: parsing "-1": invalid syntax' });
  const range = 'value out of range';
  assert.throws(() => parseInt64('9223372036854775808'), {
    message: `strconv.ParseInt: parsing "9223372036854775808": ${range}`,
  });
  assert.throws(() => parseUint64('18446744073709551616'), {
    message: `strconv.ParseUint: parsing "18446744073709551616": ${range}`,
  });
});

test('numbers of JSON are written as Go writes int64 and float64', () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, '0'],
    [1_000_000, '1000000'],
    [2 ** 53, '9007199254740992'],
    [1.5, '1.5'],
    [-0.25, '-0.25'],
    [0.0001, '0.0001'],
    [0.00001, '1e-05'],
    [123456.5, '123456.5'],
    [1234567.5, '1.2345675e+06'],
    [1e30, '1e+30'],
  ];
  for (const [value, text] of cases) assert.equal(formatNumber(value), text);
});
