import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../testing/fake-clock.ts';
import { Expectations } from './expectations.ts';

test('satisfied when all that was done has been seen', () => {
  const expectations = new Expectations(new FakeClock());
  assert.equal(expectations.satisfied('a'), true);
  expectations.expectCreations('a', 2);
  expectations.expectDeletions('a', ['x']);
  expectations.creationObserved('a');
  assert.equal(expectations.satisfied('a'), false);
  expectations.creationObserved('a');
  assert.equal(expectations.satisfied('a'), false);
  expectations.deletionObserved('a', 'x');
  assert.equal(expectations.satisfied('a'), true);
});

test('one deletion seen twice counts once, and what was not expected counts not at all', () => {
  const expectations = new Expectations(new FakeClock());
  expectations.expectDeletions('a', ['x', 'y']);
  expectations.deletionObserved('a', 'x');
  expectations.deletionObserved('a', 'x');
  expectations.deletionObserved('a', 'z');
  assert.equal(expectations.satisfied('a'), false);
  expectations.creationObserved('b');
  expectations.expectCreations('b', 1);
  assert.equal(expectations.satisfied('b'), false);
  expectations.creationObserved('b', 5);
  expectations.expectCreations('b', 1);
  assert.equal(expectations.satisfied('b'), false);
});

test('waits no longer than five minutes, and forgets with its owner', async () => {
  const clock = new FakeClock();
  const expectations = new Expectations(clock);
  expectations.expectCreations('a', 1);
  await clock.advance(5 * 60_000);
  assert.equal(expectations.satisfied('a'), false);
  await clock.advance(1);
  assert.equal(expectations.satisfied('a'), true);
  expectations.expectCreations('b', 1);
  expectations.forget('b');
  assert.equal(expectations.satisfied('b'), true);
});
