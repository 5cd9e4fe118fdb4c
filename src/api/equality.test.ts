import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import { semanticallyEqual } from './equality.ts';

const { object } = fc.letrec<{ object: Record<string, unknown>; value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(undefined, null, '', 0, false),
    fc.string({ maxLength: 2 }),
    fc.array(tie('value'), { maxLength: 2 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'constructor'), tie('value'), { maxKeys: 3 }),
}));

/** The law by another way: what is nothing is left out, keys are sorted, then texts are compared. */
function normalText(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : `[${value.map(normalText).join()}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Object.keys(value).length === 0) return undefined;
  const fields = Object.entries(value).map(([key, field]) => [key, normalText(field)] as const);
  const given = fields.filter(([, text]) => text !== undefined).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${given.map(([key, text]) => `${key}:${text}`).join()}}`;
}

test('two values are equal when they say the same, whatever the order of their keys and the form of their nothings', () => {
  fc.assert(
    fc.property(object, object, (a, b) => {
      assert.equal(semanticallyEqual(a, b), normalText(a) === normalText(b));
      assert.equal(semanticallyEqual(a, b), semanticallyEqual(b, a));
    }),
    { numRuns: 2000 },
  );
});

test('a value equals its copy with the keys in another order', () => {
  const reversed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reversed);
    if (typeof value !== 'object' || value === null) return value;
    const copy: Record<string, unknown> = {};
    for (const [key, field] of Object.entries(value).reverse())
      Object.defineProperty(copy, key, { value: reversed(field), enumerable: true });
    return copy;
  };
  fc.assert(fc.property(object, (value) => assert.ok(semanticallyEqual(value, reversed(value)))));
});
