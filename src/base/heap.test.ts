import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import { KeyedHeap } from './heap.ts';

interface Item {
  readonly key: string;
  readonly rank: number;
}

const heap = () =>
  new KeyedHeap<Item>(
    (item) => item.key,
    (a, b) => a.rank < b.rank || (a.rank === b.rank && a.key < b.key),
  );

test('a heap of any sets and removals comes out as the sorted map it stands for', () => {
  const step = fc.record({
    key: fc.constantFrom(...'abcdefgh'),
    rank: fc.integer({ min: 0, max: 5 }),
    remove: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const subject = heap();
      const model = new Map<string, number>();
      for (const { key, rank, remove } of steps) {
        if (remove) {
          assert.equal(subject.remove(key)?.rank, model.get(key));
          model.delete(key);
        } else {
          subject.set({ key, rank });
          model.set(key, rank);
        }
        assert.equal(subject.size, model.size);
        assert.equal(subject.get(key)?.rank, model.get(key));
      }
      const out: string[] = [];
      for (let item = subject.pop(); item; item = subject.pop()) out.push(item.key);
      const expected = [...model].sort((a, b) => a[1] - b[1] || (a[0] < b[0] ? -1 : 1)).map(([key]) => key);
      assert.deepEqual(out, expected);
    }),
  );
});
