import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import {
  canonicalQuantity,
  parseQuantity,
  Quantity,
  QuantityError,
  quantityOf,
  quantityOfMilli,
  zeroQuantity,
} from './quantity.ts';

const canonical: readonly [text: string, printed: string][] = [
  ['0', '0'],
  ['0Ki', '0'],
  ['-0', '0'],
  ['100m', '100m'],
  ['0.1', '100m'],
  ['1000m', '1'],
  ['1024', '1024'],
  ['1024Ki', '1Mi'],
  ['1025Ki', '1025Ki'],
  ['1.5Gi', '1536Mi'],
  ['1.5Ki', '1536'],
  ['1.1Ki', '1126400m'],
  ['1e3', '1e3'],
  ['1E3', '1E3'],
  ['10e2', '1e3'],
  ['1e2', '100'],
  ['100000', '100k'],
  ['12345678', '12345678'],
  ['1.500', '1.500'],
  ['+5', '+5'],
  ['0.00000000001', '1n'],
  ['-1.5Gi', '-1536Mi'],
  ['.5', '500m'],
  ['9223372036854775807', '9223372036854775807'],
  ['9223372036854775808', '9223372036854775808'],
  ['16Ei', '9223372036854775807'],
];

test('quantities print in their canonical form', () => {
  for (const [text, printed] of canonical) assert.equal(String(parseQuantity(text)), printed, text);
});

test('what is no quantity is refused', () => {
  for (const text of [
    '',
    ' 1',
    '1 ',
    'a',
    '1a',
    '--1',
    '1..2',
    '1Kx',
    '1ki',
    '1 Ki',
    '1e',
    '1e1.5',
    'Ki',
    '1KiB',
    '1e99999',
  ]) {
    assert.throws(() => parseQuantity(text), QuantityError, JSON.stringify(text));
  }
  assert.throws(() => parseQuantity('x'), {
    message: "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  });
  assert.throws(() => parseQuantity('1Mx'), QuantityError);
  assert.throws(() => parseQuantity('1nn'), { message: "unable to parse quantity's suffix" });
});

test('whole and thousandth values round away from zero', () => {
  assert.equal(parseQuantity('100m').value(), 1n);
  assert.equal(parseQuantity('-100m').value(), -1n);
  assert.equal(parseQuantity('1500m').value(), 2n);
  assert.equal(parseQuantity('0.0001').milliValue(), 1n);
  assert.equal(parseQuantity('2').milliValue(), 2000n);
  assert.equal(parseQuantity('1Gi').value(), 1n << 30n);
  assert.equal(String(parseQuantity('1234m').roundUp(0)), '2');
});

test('adding keeps the notation, zero takes the other one', () => {
  assert.equal(String(parseQuantity('1Gi').add(parseQuantity('512Mi'))), '1536Mi');
  assert.equal(String(parseQuantity('0').add(parseQuantity('512Mi'))), '512Mi');
  assert.equal(String(parseQuantity('1').sub(parseQuantity('250m'))), '750m');
  assert.equal(String(parseQuantity('250m').mul(4)), '1');
  assert.equal(String(quantityOfMilli(1500)), '1500m');
  assert.equal(String(quantityOf(2048, 'BinarySI')), '2Ki');
  assert.equal(parseQuantity('0.5').toNumber(), 0.5);
});

const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'Ki', 'Mi', 'Gi', 'Ti', 'e3', 'E-2');
const text = fc
  .tuple(fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }), fc.integer({ min: 0, max: 4 }), suffix)
  .map(([digits, decimals, unit]) => {
    const sign = digits < 0n ? '-' : '';
    const padded = String(digits < 0n ? -digits : digits).padStart(decimals + 1, '0');
    const cut = padded.length - decimals;
    return `${sign}${padded.slice(0, cut)}${decimals > 0 ? `.${padded.slice(cut)}` : ''}${unit}`;
  });

test('printing and parsing give the same amount, and soon the same text', () => {
  fc.assert(
    fc.property(text, (given) => {
      const once = parseQuantity(given);
      const again = parseQuantity(String(once));
      assert.equal(once.compare(again), 0, `${given} -> ${once}`);
      // A binary amount that is no multiple of 1024 is printed without suffix, so it comes back as a decimal one.
      const lostNotation = once.format === 'BinarySI' && again.format === 'DecimalSI';
      const settled = lostNotation ? parseQuantity(String(again)) : again;
      assert.equal(String(settled), String(lostNotation ? again : once));
    }),
    { numRuns: 2000, examples: [['1.953125Ki'], ['-38027237312.5Ki']] },
  );
});

test('amounts are ordered and add up like numbers', () => {
  fc.assert(
    fc.property(text, text, text, (x, y, z) => {
      const [a, b, c] = [parseQuantity(x), parseQuantity(y), parseQuantity(z)];
      assert.equal(Math.sign(a.compare(b)) + Math.sign(b.compare(a)), 0);
      assert.equal(a.add(b).compare(b.add(a)), 0);
      assert.equal(
        a
          .add(b)
          .add(c)
          .compare(a.add(b.add(c))),
        0,
      );
      assert.equal(a.add(b).sub(b).compare(a), 0);
      if (a.compare(b) < 0) assert.ok(a.add(c).compare(b.add(c)) < 0);
    }),
  );
});

test('a quantity does not change', () => {
  const a = parseQuantity('1');
  a.add(parseQuantity('2'));
  a.negate();
  assert.equal(String(a), '1');
  assert.ok(new Quantity(5n).equals(parseQuantity('5')));
});

test('an amount has a whole number only if it was written without a fraction', () => {
  assert.equal(parseQuantity('50k').asInt64(), 50_000n);
  assert.equal(parseQuantity('1Gi').asInt64(), 1_073_741_824n);
  for (const text of ['1000m', '1.0', '1.5Gi', '9999999999999G'])
    assert.equal(parseQuantity(text).asInt64(), undefined);
});

test('short amounts are read at a glance as they are read at length', () => {
  const suffixes = ['', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
  for (const suffix of suffixes) {
    for (let amount = 1; amount < 1000; amount++) {
      const text = `${amount}${suffix}`;
      // A leading zero keeps it from being read at a glance.
      const long = parseQuantity(`0${text}`);
      const short = parseQuantity(text);
      assert.equal(short.compare(long), 0, text);
      assert.equal(short.format, long.format, text);
      // A sum does not remember how its parts were written.
      assert.equal(canonicalQuantity(text), String(long.add(zeroQuantity)), text);
      assert.equal(String(short), canonicalQuantity(text), text);
    }
  }
});
