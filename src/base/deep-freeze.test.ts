import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from '../testing/properties.fixture.ts';
import { deepFreeze, shareEqualParts } from './deep-freeze.ts';

describe('parts that two versions of an object share', () => {
  it('are those that are equal, however deep', () => {
    const before = deepFreeze({ spec: { a: [1, 2], b: { c: 1 } }, status: { list: [{ x: 1 }, { x: 2 }], n: 1 } });
    const next = { spec: { a: [1, 2], b: { c: 1 } }, status: { list: [{ x: 1 }, { x: 3 }], n: 1 } };
    const shared = shareEqualParts(next, before);
    assert.equal(shared, next);
    assert.equal(shared.spec, before.spec);
    assert.equal(shared.status.list[0], before.status.list[0]);
    assert.deepEqual(shared.status.list[1], { x: 3 });
  });

  it('are the whole where nothing differs', () => {
    const before = deepFreeze({ a: { b: [{}] } });
    assert.equal(shareEqualParts({ a: { b: [{}] } }, before), before);
  });

  it('do not include what became more or less', () => {
    const before = deepFreeze({ list: [{ x: 1 }, { x: 2 }], map: { a: '1', b: '2' } });
    const next = { list: [{ x: 1 }], map: { a: '1' } };
    const shared = shareEqualParts<object>(next, before);
    assert.deepEqual(shared, { list: [{ x: 1 }], map: { a: '1' } });
  });

  it('leave alone what somebody else has frozen', () => {
    const before = deepFreeze({ a: { b: { c: 1 } } });
    const other = deepFreeze({ b: { c: 1 } });
    assert.equal(shareEqualParts({ a: other }, before).a, other);
  });

  it('never change what an object says', () => {
    const text = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value));
    fc.assert(
      fc.property(text, text, (a, b) => {
        const before: unknown = deepFreeze(JSON.parse(b));
        const { part } = shareEqualParts<{ part: unknown }>({ part: JSON.parse(a) }, { part: before });
        assert.deepEqual(part, JSON.parse(a));
        if (isDeepStrictEqual(JSON.parse(a), before)) assert.equal(part, before);
      }),
    );
  });
});
