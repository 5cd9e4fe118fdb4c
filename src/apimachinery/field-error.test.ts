import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as field from './field-error.ts';
import { quote } from './go-text.ts';

const at = field.path('spec').child('containers').index(0).child('env').key('a.b');

test('paths read as in Go', () => {
  assert.equal(String(at), 'spec.containers[0].env[a.b]');
  assert.equal(String(field.path().child('metadata', 'name')), 'metadata.name');
});

const cases: readonly [field.FieldError, string][] = [
  [field.required(at), 'Required value'],
  [field.required(at, 'why'), 'Required value: why'],
  [field.invalid(at, 'x"y', 'bad'), 'Invalid value: "x\\"y": bad'],
  [field.invalid(at, 3, 'bad'), 'Invalid value: 3: bad'],
  [field.invalid(at, true, 'bad'), 'Invalid value: true: bad'],
  [field.invalid(at, { a: '<b>' }, 'bad'), 'Invalid value: {"a":"\\u003cb\\u003e"}: bad'],
  [field.invalid(at, undefined, 'bad'), 'Invalid value: null: bad'],
  [field.invalid(at, ['a'], ''), 'Invalid value: ["a"]'],
  [field.typeInvalid(at, 'x', 'must be a number'), 'Invalid value: "x": must be a number'],
  [field.notSupported(at, 'x', ['a', 'b']), 'Unsupported value: "x": supported values: "a", "b"'],
  [field.notSupported(at, 'x', []), 'Unsupported value: "x"'],
  [field.duplicate(at, 'x'), 'Duplicate value: "x"'],
  [field.notFound(at, 'x'), 'Not found: "x"'],
  [field.forbidden(at, 'may not'), 'Forbidden: may not'],
  [field.tooLong(at, 63), 'Too long: may not be more than 63 bytes'],
  [field.tooLong(at, 1), 'Too long: may not be more than 1 byte'],
  [field.tooShort(at, 2), 'Too short: must be at least 2 characters'],
  [field.tooMany(at, 9, 8), 'Too many: 9: must have at most 8 items'],
  [field.tooMany(at, -1, 1), 'Too many: must have at most 1 item'],
  [field.tooFew(at, 0, 1), 'Too few: 0: must have at least 1 item'],
  [field.internal(at, 'oops'), 'Internal error: oops'],
];

test('each error reads as in Go', () => {
  for (const [error, body] of cases) {
    assert.equal(field.errorBody(error), body);
    assert.equal(field.errorText(error), `spec.containers[0].env[a.b]: ${body}`);
  }
});

test('several errors are listed, repeated ones once, one alone as it is', () => {
  const [a, b] = [field.required(field.path('a')), field.required(field.path('b'))];
  assert.equal(field.errorsText([a]), 'a: Required value');
  assert.equal(field.errorsText([a, a]), 'a: Required value');
  assert.equal(field.errorsText([a, b, a]), '[a: Required value, b: Required value]');
});

test('quoting follows Go', () => {
  assert.equal(quote('a\tb\n\u0000\u007f"\\é😀\u00a0\u200b\u0007'), '"a\\tb\\n\\x00\\x7f\\"\\\\é😀\\u00a0\\u200b\\a"');
});
