/** Laws of operators, tried on whatever values. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc, { anyText } from '../../testing/properties.fixture.ts';
import { CelError, CelUint, type CelValue, dynType, Environment, isCelError } from './index.ts';
import { isInt64, maxInt64, minInt64 } from './integers.ts';
import { add, compare, divide, equal, multiply, remainder, subtract } from './operators.ts';

const int64 = fc.oneof(fc.bigInt({ min: minInt64, max: maxInt64 }), fc.bigInt({ min: -20n, max: 20n }));
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => new CelUint(value));
const numeric = fc.oneof(int64, uint64, fc.double({ noNaN: true }));

const exactly = (exact: bigint) => (isInt64(exact) ? exact : new CelError('integer overflow'));

test('integers count as integers do, or overflow', () => {
  fc.assert(
    fc.property(int64, int64, (left, right) => {
      assert.deepEqual(add(left, right), exactly(left + right));
      assert.deepEqual(subtract(left, right), exactly(left - right));
      assert.deepEqual(multiply(left, right), exactly(left * right));
      if (right === 0n) {
        assert.ok(isCelError(divide(left, right)) && isCelError(remainder(left, right)));
        return;
      }
      assert.deepEqual(divide(left, right), exactly(left / right));
      if (isInt64(left / right)) assert.deepEqual(remainder(left, right), left % right);
    }),
  );
});

test('the order of numbers is total and agrees with equality, whatever their types', () => {
  const sign = (left: CelValue, right: CelValue) => Math.sign(compare(left, right) as number);
  fc.assert(
    fc.property(numeric, numeric, (left, right) => {
      assert.equal(sign(left, right) + sign(right, left), 0);
      assert.equal(sign(left, right) === 0, equal(left, right));
    }),
  );
});

test('texts are ordered as their UTF-8 bytes are', () => {
  fc.assert(
    fc.property(anyText, anyText, (left, right) => {
      const bytes = Buffer.compare(Buffer.from(left), Buffer.from(right));
      assert.equal(Math.sign(compare(left, right) as number), bytes);
    }),
  );
});

test('&& and || give the same either way round, errors included', () => {
  const environment = Environment.standard({ variables: { a: dynType, b: dynType } });
  const operand = fc.constantFrom<unknown>(true, false, 1n, new CelError('broken'));
  const outcome = (expression: string, a: unknown, b: unknown) => {
    const { value } = environment.compile(expression).program!.evaluate({ a, b });
    return isCelError(value) ? 'error' : value;
  };
  fc.assert(
    fc.property(operand, operand, fc.constantFrom('&&', '||'), (a, b, operator) => {
      assert.equal(outcome(`a ${operator} b`, a, b), outcome(`b ${operator} a`, a, b));
    }),
  );
});

const json = fc.jsonValue({ noUnicodeString: false });

test('JSON is equal to a copy of itself and is what its type says', () => {
  const environment = Environment.standard({ variables: { a: dynType, b: dynType } });
  const { program } = environment.compile('a == b && type(a) == type(b)');
  fc.assert(
    fc.property(json, (value) => {
      const copy: unknown = JSON.parse(JSON.stringify(value));
      assert.equal(program!.evaluate({ a: value, b: copy }).value, true);
    }),
  );
});

test('whatever the text, compiling ends with a program or with issues', () => {
  const environment = Environment.standard({ variables: { a: dynType } });
  const token = fc.constantFrom(
    ...['a', '1', '"x"', "'", '(', ')', '[', ']', '{', '}', '.', ',', '?', ':', '-', '!', '+', '&&', '||', '==', 'in'],
    ...['true', 'null', 'has', '.all', 'b"\\x', '0x', '1e', '// c', '\n', '😀', '$', '`a`'],
  );
  fc.assert(
    fc.property(fc.array(token, { maxLength: 30 }), (parts) => {
      const compiled = environment.compile(parts.join(' '));
      if (!compiled.program) assert.ok(compiled.text.length > 0);
      else compiled.program.evaluate({ a: [1] });
    }),
    { numRuns: 500 },
  );
});
