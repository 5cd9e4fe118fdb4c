import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileGoRegexp } from './go-regexp.ts';

test('a match may stand anywhere in the text', () => {
  const matches = compileGoRegexp('b+$');
  assert.equal(matches('abb'), true);
  assert.equal(matches('abba'), false);
  assert.equal(compileGoRegexp('^\\p{L}+$')('größe'), true);
});

test('what is no expression is refused in Go’s words', () => {
  assert.throws(() => compileGoRegexp('('), { message: 'error parsing regexp: missing closing ): `(`' });
  assert.throws(() => compileGoRegexp('a**'), {
    message: 'error parsing regexp: invalid nested repetition operator: `**`',
  });
  assert.throws(() => compileGoRegexp('(?=x)'), {
    message: 'error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
  });
});

test('expressions that stall others end', () => {
  assert.equal(compileGoRegexp('(a*)*b')('a'.repeat(50_000)), false);
  assert.equal(compileGoRegexp('^(([a-z])+.)+[A-Z]([a-z])+$')('a'.repeat(50_000)), false);
  assert.throws(() => compileGoRegexp('((a{0,100}){0,100}){0,100}'), /invalid repeat count/);
});
