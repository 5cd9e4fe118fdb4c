import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../testing/properties.fixture.ts';
import { applyMergePatch, createMergePatch, equalBut, jsonEqual } from './merge-patch.ts';

/** The examples of RFC 7386, appendix A. */
const examples: readonly [target: unknown, patch: unknown, result: unknown][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

test('the examples of RFC 7386', () => {
  for (const [target, patch, result] of examples) assert.deepEqual(applyMergePatch(target, patch), result);
});

/** Objects without nulls, as all of the API's are. */
const { object } = fc.letrec<{ object: Record<string, unknown>; value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.integer(),
    fc.string({ maxLength: 3 }),
    fc.boolean(),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'), tie('value'), { maxKeys: 4 }),
}));
const plain = (value: Record<string, unknown>) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
const objects = object.map(plain);

test('applying the difference of two objects to the first gives the second', () => {
  fc.assert(
    fc.property(objects, objects, (from, to) => {
      const patch = createMergePatch(from, to);
      assert.ok(jsonEqual(applyMergePatch(from, patch ?? {}), to), JSON.stringify(patch));
      assert.equal(patch === undefined, jsonEqual(from, to));
    }),
    { numRuns: 1000 },
  );
});

test('applying a patch twice is applying it once, and changes neither argument', () => {
  fc.assert(
    fc.property(objects, objects, (target, patch) => {
      const before = JSON.stringify([target, patch]);
      const once = applyMergePatch(target, patch);
      assert.ok(jsonEqual(applyMergePatch(once, patch), once));
      assert.equal(JSON.stringify([target, patch]), before);
    }),
  );
});

test('what is not touched is shared, and keys keep their order', () => {
  const target = { a: { x: 1 }, b: { y: 1 }, c: 3 };
  const result = applyMergePatch(target, { c: 4, b: { z: 2 }, d: 5 }) as typeof target;
  assert.equal(result.a, target.a);
  assert.deepEqual(Object.keys(result), ['a', 'b', 'c', 'd']);
});

test('values are equal when they have the same text with sorted keys, what is undefined left out', () => {
  const sorted = (_: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  const text = (value: unknown) => JSON.stringify(value, sorted);
  const maybe = (value: Record<string, unknown>) => ({ ...value, absent: undefined });
  fc.assert(
    fc.property(objects, objects, (a, b) => {
      assert.equal(jsonEqual(a, b), text(a) === text(b));
      assert.ok(jsonEqual(maybe(a), a) && jsonEqual(a, maybe(a)));
    }),
    { numRuns: 1000 },
  );
});

test('objects are equal but for some fields when they are equal without them', () => {
  const without = ({ a: _, ...rest }: Record<string, unknown>) => rest;
  const ignored = new Set(['a']);
  fc.assert(
    fc.property(objects, objects, (x, y) => {
      assert.equal(equalBut(ignored, x, y), jsonEqual(without(x), without(y)));
      assert.ok(equalBut(ignored, { ...x, a: 1 }, { ...x, a: 2, b: x.b }));
    }),
    { numRuns: 1000 },
  );
});
