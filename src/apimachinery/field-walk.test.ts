import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import { FieldWalk } from './field-walk.ts';

const table = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name }));
const walk = new FieldWalk(table, ({ name }) => name === 'c' || name === 'e');

test('the fields of a value and those that are always there come in the order of the table, each once', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(['a', 'b', 'c', 'd', 'e', 'x', 'constructor']), (names) => {
      const found = walk.of(Object.fromEntries(names.map((name) => [name, 1]))).map(({ field }) => field.name);
      const expected = table.map(({ name }) => name).filter((name) => names.includes(name) || 'ce'.includes(name));
      assert.deepEqual(found, expected);
    }),
  );
});
