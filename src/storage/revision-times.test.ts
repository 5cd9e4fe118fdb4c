import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import { RevisionTimes } from './revision-times.ts';

test('knows which revision stood at any time, to the second, whatever was forgotten and however the clock went', () => {
  const step = fc.record({ passedMs: fc.integer({ min: -3000, max: 5000 }), forgets: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 80 }), fc.nat(100), (steps, back) => {
      const times = new RevisionTimes();
      const written: { readonly revision: number; readonly second: number }[] = [];
      let nowMs = 1_000_000;
      let forgotten = 0;
      for (const [index, { passedMs, forgets }] of steps.entries()) {
        nowMs += passedMs;
        const revision = index + 2;
        times.note(revision, nowMs);
        // A clock that was set back writes within the second that was reached.
        const second = Math.max(Math.floor(nowMs / 1000), written.at(-1)?.second ?? 0);
        written.push({ revision, second });
        if (!forgets) continue;
        forgotten = Math.max(forgotten, revision - (back % 7));
        times.trim(forgotten);
      }
      const newest = written.at(-1)!;
      for (let second = written[0]!.second - 1; second <= newest.second + 1; second++) {
        const expected = written.findLast((one) => one.second <= second)?.revision;
        const found = times.revisionAt(second * 1000 + 500, newest.revision);
        // What was forgotten may be unknown, and is never wrong.
        if (found === undefined) assert.ok(expected === undefined || expected < forgotten);
        else assert.equal(found, expected);
      }
    }),
  );
});
