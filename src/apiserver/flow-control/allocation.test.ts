import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import fc from '../../testing/properties.fixture.ts';
import { allocateSeats } from './concurrency-allocation.ts';
import { DroppedRequests } from './dropped-requests.ts';
import { SeatDemand } from './seat-demand.ts';
import { dealHand, flowHash } from './shuffle-sharding.ts';

describe('a hand of queues', () => {
  test('holds as many different queues as asked for, whatever the flow', () => {
    const hashes = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    fc.assert(
      fc.property(hashes, fc.integer({ min: 1, max: 128 }), fc.integer({ min: 1, max: 8 }), (hash, deck, size) => {
        const hand = dealHand(hash, deck, Math.min(size, deck));
        assert.equal(new Set(hand).size, Math.min(size, deck));
        assert.ok(hand.every((card) => card >= 0 && card < deck));
      }),
    );
  });

  test('is dealt as upstream deals: digits of the hash in a falling radix, each among the cards left', () => {
    // 5 + 9 * (3 + 8 * 6): of ten cards the sixth, of the nine left the fourth, of the eight left the seventh.
    assert.deepEqual(dealHand(5n + 10n * (3n + 9n * 6n), 10, 3), [5, 3, 8]);
    assert.deepEqual(dealHand(0n, 4, 4), [0, 1, 2, 3]);
  });

  test('belongs to the schema and the distinguisher together', () => {
    assert.notEqual(flowHash('a', 'bc'), flowHash('ab', 'c'));
    assert.equal(flowHash('global-default', 'alice'), flowHash('global-default', 'alice'));
  });
});

describe('seats divided among levels', () => {
  test('follow one proportion within bounds', () => {
    const claims = [
      { target: 2, atLeast: 0, atMost: 10 },
      { target: 6, atLeast: 0, atMost: 5 },
    ];
    assert.deepEqual(allocateSeats(10, claims)?.seats.map(Math.round), [5, 5]);
    assert.deepEqual(
      allocateSeats(8, [
        { target: 1, atLeast: 1, atMost: 9 },
        { target: 3, atLeast: 1, atMost: 9 },
      ])?.seats,
      [2, 6],
    );
  });

  test('are refused where bounds leave no room', () => {
    assert.equal(allocateSeats(1, [{ target: 2, atLeast: 2, atMost: 3 }]), undefined);
    assert.equal(allocateSeats(4, [{ target: 2, atLeast: 2, atMost: 3 }]), undefined);
  });

  test('sum up to what there is, and each is bounded or follows the proportion', () => {
    const claim = fc
      .tuple(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 100 }))
      .map(([atLeast, more, room]) => ({ atLeast, target: atLeast + more, atMost: atLeast + room }));
    fc.assert(
      fc.property(
        fc.array(claim, { minLength: 1, maxLength: 8 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (claims, at) => {
          const least = claims.reduce((sum, { atLeast }) => sum + atLeast, 0);
          const most = claims.reduce((sum, { atMost }) => sum + atMost, 0);
          const sum = Math.round(least + at * (most - least));
          const { seats, proportion } = allocateSeats(sum, claims)!;
          assert.ok(Math.abs(seats.reduce((a, b) => a + b, 0) - sum) < 1e-3);
          claims.forEach(({ target, atLeast, atMost }, index) => {
            const fair = Math.max(target, 0.001) * proportion;
            assert.ok(Math.abs(seats[index]! - Math.min(atMost, Math.max(atLeast, fair))) < 1e-6);
          });
        },
      ),
    );
  });
});

test('demand is averaged over the period and forgotten slowly', async () => {
  const clock = new FakeClock();
  const demand = new SeatDemand(clock);
  demand.set(10, clock.monotonic());
  await clock.advance(5000);
  demand.set(0, clock.monotonic());
  await clock.advance(5000);
  demand.endPeriod();
  assert.deepEqual([demand.average, demand.deviation, demand.highWatermark], [5, 5, 10]);
  assert.equal(demand.smoothed, 10);
  await clock.advance(10_000);
  demand.endPeriod();
  assert.deepEqual([demand.average, demand.highWatermark], [0, 0]);
  assert.equal(demand.smoothed, 9.77);
});

test('whoever is refused stays away for longer while many are, and for less when it gets quiet', async () => {
  const clock = new FakeClock();
  const dropped = new DroppedRequests(clock);
  const advice: number[] = [];
  for (let second = 0; second < 12; second++) {
    for (let i = 0; i < 20; i++) dropped.record();
    advice.push(dropped.retryAfterSeconds);
    await clock.advance(1000);
  }
  assert.deepEqual(advice.slice(0, 5), [1, 2, 2, 4, 4]);
  assert.equal(Math.max(...advice), 8);
  for (let turn = 0; turn < 20; turn++) {
    dropped.record();
    await clock.advance(5000);
  }
  assert.equal(dropped.retryAfterSeconds, 1);
});
