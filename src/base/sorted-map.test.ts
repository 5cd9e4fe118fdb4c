import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import { SortedMap } from './sorted-map.ts';

function keysBetween(map: SortedMap<number>, start: string, end: string): string[] {
  const keys: string[] = [];
  map.visitBetween(start, end, (_, key) => void keys.push(key));
  return keys;
}

test('behaves like a plain map with sorted keys, under any sequence of changes', () => {
  const key = fc.integer({ min: 0, max: 2000 }).map((n) => `k${n}`);
  const change = fc.record({ key, remove: fc.boolean() });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 3000, size: 'max' }), key, key, (changes, start, end) => {
      const map = new SortedMap<number>();
      const model = new Map<string, number>();
      for (const [i, { key, remove }] of changes.entries()) {
        if (remove) assert.equal(map.delete(key), model.delete(key));
        else {
          map.set(key, i);
          model.set(key, i);
        }
      }
      const expected = [...model.keys()].filter((k) => k >= start && k < end).sort();
      assert.equal(map.size, model.size);
      assert.deepEqual(keysBetween(map, start, end), expected);
      assert.equal(map.countBetween(start, end), expected.length);
      for (const [k, value] of model) assert.equal(map.get(k), value);
      assert.equal(map.get('absent'), undefined);
    }),
    { numRuns: 50 },
  );
});

test('splits and merges leaves: 10,000 keys in, all but ten out', () => {
  const map = new SortedMap<number>();
  const key = (n: number) => String(n).padStart(5, '0');
  for (let n = 0; n < 10_000; n++) map.set(key((n * 7919) % 10_000), n);
  assert.equal(map.size, 10_000);
  assert.equal(map.countBetween(key(100), key(9_100)), 9_000);
  for (let n = 0; n < 10_000; n++) if (n % 1000 !== 0) assert.equal(map.delete(key(n)), true);
  assert.deepEqual(
    keysBetween(map, '', '~'),
    Array.from({ length: 10 }, (_, i) => key(i * 1000)),
  );
});

test('a visit ends when the visitor returns false', () => {
  const map = new SortedMap<number>();
  for (let n = 0; n < 9; n++) map.set(`k${n}`, n);
  const seen: number[] = [];
  map.visitBetween('k2', 'k9', (value) => {
    seen.push(value);
    return seen.length < 3;
  });
  assert.deepEqual(seen, [2, 3, 4]);
});

test('an empty map and an empty interval hold nothing', () => {
  const map = new SortedMap<number>();
  assert.equal(map.countBetween('a', 'z'), 0);
  assert.deepEqual(keysBetween(map, 'a', 'z'), []);
  map.set('m', 1);
  assert.equal(map.countBetween('z', 'a'), 0);
  assert.deepEqual(keysBetween(map, 'n', 'm'), []);
});
