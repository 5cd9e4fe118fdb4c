/** Expressions as their writers meet them: what they give, what they cost, and what is said of those that are wrong. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CelType, dynType, Environment, intType, isCelError, listOf, objectType, stringType } from './index.ts';

const fields: Readonly<Record<string, CelType>> = {
  replicas: intType,
  maxReplicas: intType,
  names: listOf(stringType),
};
const specType = objectType('Spec', {
  field: (name) => {
    const type = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (name === '__namespace__') return { type: stringType, property: 'namespace' };
    return type && { type };
  },
});

const environment = Environment.standard({ variables: { self: specType, any: dynType, x: intType } });
const bindings = {
  self: { replicas: 3, maxReplicas: 5, names: ['a', 'b'], namespace: 'home', undeclared: 1 },
  any: { numbers: [1, 2.5, 'x'], nothing: null },
  x: 7,
};

function evaluate(expression: string): { value: unknown; cost: number } {
  const compiled = environment.compile(expression);
  assert.ok(compiled.program, `${expression}: ${compiled.program === undefined ? compiled.text : ''}`);
  const { value, cost } = compiled.program.evaluate(bindings);
  return { value: isCelError(value) ? `error: ${value.message}` : value, cost };
}

const evaluated: readonly { expression: string; value: unknown; cost: number }[] = [
  { expression: 'self.replicas <= self.maxReplicas', value: true, cost: 5 },
  { expression: 'self.names.all(n, n.size() == 1)', value: true, cost: 15 },
  { expression: 'self.names.exists_one(n, n == "a")', value: true, cost: 10 },
  { expression: 'self.__namespace__ == "home"', value: true, cost: 3 },
  { expression: 'has(self.names)', value: true, cost: 1 },
  { expression: 'any.numbers[1] > 2', value: true, cost: 4 },
  { expression: 'any.numbers.exists(i, i == "x")', value: true, cost: 21 },
  { expression: 'any.absent', value: 'error: no such key: absent', cost: 2 },
  { expression: 'any.numbers[5]', value: 'error: index out of bounds: 5', cost: 3 },
  { expression: 'any.nothing.field', value: 'error: no such key: field', cost: 3 },
  { expression: 'x in [1, 7]', value: true, cost: 1 },
  { expression: 'x > 5 ? self.replicas : 0', value: 3n, cost: 3 },
  { expression: '1 / 0', value: 'error: division by zero', cost: 1 },
  { expression: '1 % 0', value: 'error: modulus by zero', cost: 1 },
  { expression: '1 / 0 > 1 && false', value: false, cost: 2 },
  { expression: 'true || 1 / 0 > 1', value: true, cost: 0 },
  { expression: '9223372036854775807 + 1', value: 'error: integer overflow', cost: 1 },
  { expression: 'dyn(1) + dyn("a")', value: 'error: no such overload', cost: 1 },
  { expression: 'dyn(true) + dyn("a")', value: 'error: no such overload: _+_', cost: 1 },
  { expression: 'dyn([1]) < dyn([2])', value: 'error: no such overload: _<_', cost: 1 },
  { expression: 'size(any.numbers[0])', value: 'error: no such overload: size', cost: 4 },
  { expression: 'any.numbers.contains("a")', value: 'error: no such overload: contains(list, string)', cost: 3 },
  { expression: 'dyn(1).all(x, true)', value: "error: got 'types.Int', expected iterable type", cost: 0 },
  { expression: 'dyn(1) == 1.0', value: true, cost: 1 },
  { expression: 'size("😀")', value: 1n, cost: 1 },
  { expression: 'type(1) == int', value: true, cost: 1 },
];

test('expressions give what upstream gives, and cost as much', () => {
  for (const { expression, value, cost } of evaluated) {
    assert.deepEqual({ expression, ...evaluate(expression) }, { expression, value, cost });
  }
});

const operand =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/** The text is shown with its first line only where it has one issue: the rest is the source and the caret. */
const refused: readonly { expression: string; text: readonly string[] }[] = [
  { expression: 'foo', text: ["1:1: undeclared reference to 'foo' (in container '')"] },
  { expression: "1 == 'a'", text: ["1:3: found no matching overload for '_==_' applied to '(int, string)'"] },
  { expression: 'x.size()', text: ["1:7: found no matching overload for 'size' applied to 'int.()'"] },
  { expression: 'self.x', text: ["1:5: undefined field 'x'"] },
  { expression: 'self.undeclared', text: ["1:5: undefined field 'undeclared'"] },
  { expression: 'x.y', text: ["1:2: type 'int' does not support field selection"] },
  { expression: '[1, "a"]', text: ["1:5: expected type 'int' but found 'string'"] },
  { expression: 'x && true', text: ["1:1: expected type 'bool' but found 'int'"] },
  {
    expression: 'x.all(y, y)',
    text: ["1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"],
  },
  { expression: 'namespace', text: ['1:1: reserved identifier: namespace'] },
  { expression: 'has(x)', text: ['1:5: invalid argument to has() macro'] },
  { expression: '[1].map(x.y, 1)', text: ['1:10: argument is not an identifier'] },
  { expression: "duration('x')", text: ['1:10: invalid duration argument'] },
  { expression: '1 +', text: [`1:4: Syntax error: mismatched input '<EOF>' expecting ${operand}`] },
  {
    expression: '1 + $',
    text: [
      "1:5: Syntax error: token recognition error at: '$'",
      `1:6: Syntax error: mismatched input '<EOF>' expecting ${operand}`,
    ],
  },
  { expression: '(1', text: ["1:3: Syntax error: missing ')' at '<EOF>'"] },
  { expression: 'a b', text: ["1:3: Syntax error: extraneous input 'b' expecting <EOF>"] },
  { expression: 'self.true == 1', text: ["1:6: Syntax error: mismatched input 'true' expecting IDENTIFIER"] },
  { expression: '9223372036854775808', text: ['1:1: invalid int literal'] },
];

test('what is wrong is told in upstream words, at its place', () => {
  for (const { expression, text } of refused) {
    const compiled = environment.compile(expression);
    const found = compiled.program ? ['nothing'] : compiled.text.split('\n').filter((line) => line.startsWith('ERROR'));
    assert.deepEqual(
      found,
      text.map((line) => `ERROR: <input>:${line}`),
      expression,
    );
  }
});

test('the source is shown with a caret under the place, wide under wide characters', () => {
  const compiled = environment.compile("'😀' + foo");
  assert.equal(
    compiled.program ? '' : compiled.text,
    "ERROR: <input>:1:7: undeclared reference to 'foo' (in container '')\n | '😀' + foo\n | .．....^",
  );
});

test('nesting without end is refused, not followed', () => {
  const compiled = environment.compile(`${'('.repeat(5000)}1${')'.repeat(5000)}`);
  assert.match(compiled.program ? '' : compiled.text, /^ERROR: <input>:-1:0: expression recursion limit exceeded: 250/);
});

test('an evaluation ends as soon as it has cost too much, inside of a loop too', () => {
  const { program } = environment.compile('any.numbers.all(a, any.numbers.all(b, any.numbers.all(c, true)))');
  const full = program!.evaluate(bindings);
  assert.equal(full.value, true);
  const stopped = program!.evaluate(bindings, { costLimit: 40 });
  assert.ok(isCelError(stopped.value));
  assert.equal(stopped.value.message, 'operation cancelled: actual cost limit exceeded');
  assert.equal(stopped.cancelled, 'cost');
  assert.ok(stopped.cost > 40 && stopped.cost < full.cost);
});

test('a loop ends when its caller says so', () => {
  const many = { any: Array.from({ length: 500 }, (_, index) => index) };
  const { program } = environment.compile('any.all(a, a >= 0)');
  let asked = 0;
  const result = program!.evaluate(many, { interrupted: () => ++asked === 3 });
  assert.equal(result.cancelled, 'interrupt');
  assert.equal(asked, 3);
});

test('values that no stack could follow give an error, not an exception', () => {
  let nested: unknown = 1;
  for (let depth = 0; depth < 100_000; depth++) nested = [nested];
  const { program } = Environment.standard({ variables: { a: dynType, b: dynType } }).compile('a == b');
  const { value } = program!.evaluate({ a: nested, b: [nested] });
  assert.ok(isCelError(value));
});

test('lists that double without end are refused before anyone walks over them', () => {
  const doubled = `[[1, 2, 3]]${'.map(l, l + l)'.repeat(60)}.all(l, l == l)`;
  const { value } = environment.compile(doubled).program!.evaluate({});
  assert.equal(isCelError(value) && value.message, 'list is longer than 5000000 elements');
});

test('long expressions are compiled in time that is in proportion', () => {
  const many = Array.from({ length: 6_000 }, (_, index) => `x == ${index}`).join(' || ');
  assert.equal(environment.compile(many).program?.evaluate({ x: 5_999 }).value, true);
  const long = `'${'a'.repeat(90_000)}'.size() == 90000`;
  assert.equal(environment.compile(long).program?.evaluate({}).value, true);
  const tooLong = environment.compile(' '.repeat(100_001));
  const text = 'ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000';
  assert.equal(tooLong.program === undefined && tooLong.text, text);
});

test('JSON numbers out of reach of integers stay doubles', () => {
  const { program } = Environment.standard({ variables: { self: intType } }).compile('dyn(self) > 1');
  assert.equal(program!.evaluate({ self: Number.POSITIVE_INFINITY }).value, true);
  assert.equal(program!.evaluate({ self: 1e30 }).value, true);
});

test('a conversion of a constant finds its overload by the value', () => {
  assert.deepEqual(evaluate('string(dyn(1))'), { value: '1', cost: 0 });
  const compiled = environment.compile("int('x')");
  assert.ok(!compiled.program && compiled.failsAlways);
  assert.equal(compiled.text, "type conversion error from 'string' to 'int'");
});

test('patterns from the data are judged before they are compiled', () => {
  const { program } = Environment.standard({ variables: { pattern: stringType } }).compile("'a'.matches(pattern)");
  const outcome = (pattern: string) => {
    const { value } = program!.evaluate({ pattern });
    return isCelError(value) ? value.message : value;
  };
  assert.equal(outcome('^a$'), true);
  assert.equal(outcome('('), 'error parsing regexp: missing closing ): `(`');
  assert.equal(outcome('x*'.repeat(100_000)), 'error parsing regexp: expression too large');
});
