import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../testing/fake-clock.ts';
import fc from '../testing/properties.fixture.ts';
import { TokenBucket } from './token-bucket.ts';
import { type WorkQueue, workQueue } from './work-queue.ts';

/** Takes what is ready now. */
async function drain(queue: WorkQueue): Promise<string[]> {
  const keys: string[] = [];
  while (queue.length > 0) keys.push((await queue.next())!);
  return keys;
}

test('a key added twice is handed out once, in order of first addition', async () => {
  const queue = workQueue({ clock: new FakeClock() });
  for (const key of ['b', 'a', 'b']) queue.add(key);
  assert.deepEqual(await drain(queue), ['b', 'a']);
});

test('a key added while worked on comes again after done, not before', async () => {
  const queue = workQueue({ clock: new FakeClock() });
  queue.add('a');
  assert.equal(await queue.next(), 'a');
  queue.add('a');
  assert.equal(queue.length, 0);
  queue.done('a');
  assert.deepEqual(await drain(queue), ['a']);
  queue.done('a');
  assert.equal(queue.length, 0);
});

test('who waits gets the key that comes', async () => {
  const queue = workQueue({ clock: new FakeClock() });
  const waiting = [queue.next(), queue.next()];
  queue.add('a');
  queue.add('b');
  assert.deepEqual(await Promise.all(waiting), ['a', 'b']);
});

test('of several delays the earliest counts', async () => {
  const clock = new FakeClock();
  const queue = workQueue({ clock });
  queue.addAfter('a', 5000);
  queue.addAfter('a', 1000);
  queue.addAfter('a', 9000);
  queue.addAfter('b', 500);
  await clock.advance(600);
  assert.deepEqual(await drain(queue), ['b']);
  await clock.advance(400);
  assert.deepEqual(await drain(queue), ['a']);
  queue.done('a');
  await clock.advance(20_000);
  assert.equal(queue.length, 0);
  assert.equal(clock.pending, 0);
});

test('failures wait 5 ms, then twice as long each time, at most 1000 s; forgetting begins anew', async () => {
  const clock = new FakeClock();
  const queue = workQueue({ clock });
  const waits: number[] = [];
  for (let i = 0; i < 20; i++) {
    const startedMs = clock.monotonic();
    queue.addRateLimited('a');
    let takenMs = 0;
    const taken = queue.next().then(() => {
      takenMs = clock.monotonic();
    });
    await clock.advance(1_000_000);
    await taken;
    queue.done('a');
    waits.push(takenMs - startedMs);
  }
  assert.deepEqual(waits.slice(0, 5), [5, 10, 20, 40, 80]);
  assert.equal(waits.at(-1), 1_000_000);
  assert.equal(queue.retries('a'), 20);
  queue.forget('a');
  assert.equal(queue.retries('a'), 0);
  queue.addRateLimited('a');
  await clock.advance(5);
  assert.equal(queue.length, 1);
});

test('many failing keys are let through at 10 a second after the first 100', async () => {
  const clock = new FakeClock();
  const queue = workQueue({ clock });
  for (let i = 0; i < 130; i++) queue.addRateLimited(`key-${i}`);
  await clock.advance(10);
  assert.equal(queue.length, 100);
  await clock.advance(1000);
  assert.equal(queue.length, 110);
  await clock.advance(2000);
  assert.equal(queue.length, 130);
});

test('after shutting down waiters get undefined and nothing is added', async () => {
  const clock = new FakeClock();
  const queue = workQueue({ clock });
  const waiting = queue.next();
  queue.addAfter('a', 10);
  queue.shutDown();
  assert.equal(await waiting, undefined);
  queue.add('b');
  await clock.advance(100);
  assert.equal(await queue.next(), undefined);
  assert.equal(clock.pending, 0);
});

test('no key is worked on twice at a time, and none that was added is lost', async () => {
  const command = fc.record({
    what: fc.constantFrom('add', 'addAfter', 'addRateLimited', 'next', 'done', 'advance'),
    key: fc.constantFrom('a', 'b', 'c'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 60 }), async (commands) => {
      const clock = new FakeClock();
      const queue = workQueue({ clock });
      const working = new Set<string>();
      const owed = new Set<string>();
      for (const { what, key } of commands) {
        if (what === 'advance') await clock.advance(50);
        else if (what === 'done') {
          if (working.delete(key)) queue.done(key);
        } else if (what === 'next') {
          if (queue.length === 0) continue;
          const taken = (await queue.next())!;
          assert.ok(!working.has(taken));
          working.add(taken);
          owed.delete(taken);
        } else {
          if (what === 'add') queue.add(key);
          else if (what === 'addAfter') queue.addAfter(key, 20);
          else queue.addRateLimited(key);
          owed.add(key);
        }
      }
      for (const key of working) queue.done(key);
      await clock.advance(1_000_000);
      const left = new Set(await drain(queue));
      for (const key of owed) assert.ok(left.has(key), `${key} was lost`);
    }),
    { numRuns: 50 },
  );
});

test('a token bucket gives its burst, then its rate, and never saves more than its burst', async () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket(clock, { perSecond: 2, burst: 3 });
  assert.deepEqual(
    [1, 2, 3, 4].map(() => bucket.tryTake()),
    [true, true, true, false],
  );
  await clock.advance(500);
  assert.deepEqual([bucket.tryTake(), bucket.tryTake()], [true, false]);
  assert.equal(bucket.reserve(), 500);
  assert.equal(bucket.reserve(), 1000);
  await clock.advance(3_600_000);
  assert.deepEqual(
    [1, 2, 3, 4].map(() => bucket.tryTake()),
    [true, true, true, false],
  );
});
