import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codePointCount, compareStrings } from './strings.ts';

test('a character outside the basic plane counts once', () => {
  assert.equal(codePointCount('a😀b'), 3);
  assert.equal(codePointCount('\ud83d'), 1, 'half a pair counts too');
});

test('strings are ordered by code points', () => {
  assert.ok(compareStrings('\uff5e', '😀') < 0, 'although JavaScript says otherwise');
  assert.ok(compareStrings('a', 'ab') < 0);
  assert.equal(compareStrings('x', 'x'), 0);
});
