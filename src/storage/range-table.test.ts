import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import { RangeTable } from './range-table.ts';

test('finds exactly the ranges that contain a key, whatever comes and goes', () => {
  const bound = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 3 });
  const range = fc.record({ start: bound, end: bound, gone: fc.boolean() });
  fc.assert(
    fc.property(fc.array(range, { maxLength: 20 }), bound, (ranges, key) => {
      const table = new RangeTable<number>();
      for (const [i, { start, end }] of ranges.entries()) table.add(start, end, i);
      table.find(key);
      for (const [i, { gone }] of ranges.entries()) if (gone) table.delete(i);
      const expected = ranges.flatMap(({ start, end, gone }, i) => (!gone && start <= key && key < end ? [i] : []));
      assert.deepEqual(table.find(key), expected);
      assert.deepEqual([...table.items()].length, table.size);
    }),
  );
});
