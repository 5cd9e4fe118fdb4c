import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sleep } from './clock.ts';
import { VirtualClock } from './virtual-clock.ts';

describe('virtual time', () => {
  it('leaps over what nobody does, and counts it', async () => {
    const clock = new VirtualClock(0);
    const rung: number[] = [];
    clock.after(3_600_000, () => rung.push(clock.now()));
    await clock.advance(7_200_000);
    assert.deepEqual(rung, [3_600_000]);
    assert.equal(clock.now(), 7_200_000);
    assert.ok(clock.steps < 20, `${clock.steps} steps`);
  });

  it('fires equal timers in the order they were set, and what is due soon before any', async () => {
    const clock = new VirtualClock();
    const order: string[] = [];
    clock.after(5, () => order.push('second'));
    clock.after(5, () => {
      order.push('third');
      clock.soon(() => order.push('soon'));
      clock.after(0, () => order.push('at once'));
    });
    clock.after(1, () => order.push('first'));
    clock.after(5, () => order.push('fourth'));
    await clock.advance(10);
    assert.deepEqual(order, ['first', 'second', 'third', 'soon', 'fourth', 'at once']);
  });

  it('lets all microtasks of a step run before the next', async () => {
    const clock = new VirtualClock();
    const order: string[] = [];
    clock.after(1, async () => {
      for (let i = 0; i < 50; i++) await undefined;
      order.push('fifty promises later');
    });
    clock.after(1, () => order.push('next timer'));
    await clock.advance(1);
    assert.deepEqual(order, ['fifty promises later', 'next timer']);
  });

  it('keeps a thousand timers in order, those cancelled left out', async () => {
    const clock = new VirtualClock(0);
    const fired: number[] = [];
    const timers = Array.from({ length: 1000 }, (_, i) => {
      const due = (i * 7919) % 1000;
      return clock.after(due, () => fired.push(due));
    });
    timers.forEach((timer, i) => {
      if (i % 3 === 0) timer.cancel();
    });
    await clock.advance(1000);
    assert.equal(fired.length, 666);
    assert.deepEqual(
      fired,
      [...fired].sort((a, b) => a - b),
    );
  });

  it('passes until a promise settles, and no further', async () => {
    const clock = new VirtualClock(0);
    assert.equal(await clock.drive(sleep(clock, 250).then(() => 'done')), 'done');
    assert.equal(clock.now(), 250);
    await assert.rejects(clock.drive(Promise.reject(new Error('no'))), /no/);
    assert.equal(clock.now(), 250);
  });

  it('serves several who wait at once', async () => {
    const clock = new VirtualClock(0);
    const seen: number[] = [];
    await Promise.all([10, 30, 20].map((ms) => clock.advance(ms).then(() => seen.push(clock.now()))));
    assert.deepEqual(seen, [10, 20, 30]);
  });

  it('says so when nothing is left that could happen', async () => {
    const clock = new VirtualClock();
    await assert.rejects(clock.drive(new Promise(() => {})), /nothing is left to happen/);
  });
});
