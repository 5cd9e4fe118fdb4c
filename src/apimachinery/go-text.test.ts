import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quote } from './go-text.ts';

const quoted: readonly (readonly [string, string])[] = [
  ['', '""'],
  ['system:controller:job-controller', '"system:controller:job-controller"'],
  [' !#[]~', '" !#[]~"'],
  ['a"b\\c', '"a\\"b\\\\c"'],
  ['a\nb\tc', '"a\\nb\\tc"'],
  ['plain\u0001', '"plain\\x01"'],
  ['über 😀', '"über 😀"'],
  ['\u200b', '"\\u200b"'],
  ['\u007f', '"\\x7f"'],
  ['\u{e0001}', '"\\U000e0001"'],
];

for (const [text, expected] of quoted) {
  test(`Go quotes ${JSON.stringify(text)} as ${expected}`, () => assert.equal(quote(text), expected));
}
