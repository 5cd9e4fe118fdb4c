import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { everyField } from '../../apimachinery/fields.ts';
import { everything } from '../../apimachinery/labels.ts';
import { silentLog } from '../../base/log.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { plainFrame } from '../encoding/representations.ts';
import type { WatchFrame } from '../request.ts';
import type { CacheEntry } from './cache-entry.ts';
import { CacheEvent, type Representation, retoldEvents } from './cache-event.ts';
import { CacheWatcher } from './cache-watcher.ts';
import { Delivery } from './delivery.ts';

function watcher(frameOf: Representation['frame'] = () => frame(0), clock = new FakeClock()): CacheWatcher {
  return new CacheWatcher({
    selection: { labels: everything, fields: everyField },
    representation: { frame: frameOf, error: (status) => plainFrame('ERROR', status), bookmark: () => frame(0) },
    wantsBookmarks: false,
    sent: { frames: 0 },
    delivery: new Delivery(clock, silentLog),
  });
}

const frame = (number: number): WatchFrame => plainFrame('ADDED', { number });
const numberOf = ({ object }: WatchFrame) => (object as { readonly number: number }).number;

test('what comes in one turn travels in one batch', async () => {
  const watching = watcher();
  const batches: number[][] = [];
  watching.pumpTo({ write: (frames) => void batches.push(frames.map(numberOf)), end: () => void batches.push([]) });
  watching.push(frame(1));
  watching.push(frame(2));
  assert.deepEqual(batches, []);
  await settle();
  watching.push(frame(3));
  watching.end();
  await settle();
  assert.deepEqual(batches, [[1, 2], [3], []]);
});

test('a reader who is busy gets nothing until he is done, and then everything in order', async () => {
  const watching = watcher();
  const seen: number[] = [];
  let release = () => {};
  watching.pumpTo({
    write(frames) {
      seen.push(...frames.map(numberOf));
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    },
    end() {},
  });
  watching.push(frame(1));
  await settle();
  watching.push(frame(2));
  watching.push(frame(3));
  await settle();
  assert.deepEqual(seen, [1]);
  release();
  await settle();
  assert.deepEqual(seen, [1, 2, 3]);
});

test('a reader who never comes is cut off', () => {
  const watching = watcher();
  let ended = 0;
  watching.onEnd(() => ended++);
  for (let i = 0; i < 100_000; i++) watching.push(frame(i));
  assert.ok(watching.ended);
  assert.equal(ended, 1);
});

test('leaving a loop over the frames ends the watch', async () => {
  const watching = watcher();
  watching.push(frame(1));
  for await (const one of watching) {
    assert.equal(numberOf(one), 1);
    break;
  }
  assert.ok(watching.ended);
});

test('an event that cannot be read ends the watch with an error, and nothing else', async () => {
  const watching = watcher();
  const broken = { typeFor: () => 'ADDED', frame: () => assert.fail('broken bytes') };
  watching.offer(broken as unknown as CacheEvent);
  const [last] = (await watching.takeBatch()) ?? assert.fail('nothing was told');
  assert.equal(last!.type, 'ERROR');
  assert.equal((last!.object as { readonly code: number }).code, 500);
});

test('a frame that cannot be written ends its watch, and others get theirs', async () => {
  const delivery = new Delivery(new FakeClock(), silentLog);
  const told: string[] = [];
  delivery.schedule({ deliver: () => assert.fail('broken bytes'), cancel: () => told.push('cancelled') });
  delivery.schedule({ deliver: () => told.push('delivered'), cancel: () => told.push('never') });
  await settle();
  assert.deepEqual(told, ['cancelled', 'delivered']);
});

describe('a watch of the past', () => {
  const events = (count: number) =>
    Array.from({ length: count }, (_, i) => new CacheEvent(i + 1, { storedBytes: 1 } as CacheEntry, undefined));

  test('is told as fast as it is read, before what happens meanwhile, and leaves little behind', async () => {
    const retold = retoldEvents(new FakeClock());
    const watching = watcher((_type, _entry, revision) => frame(revision));
    const past = events(20_000);
    watching.resume(past, retold);
    watching.push(frame(20_001));
    watching.end();
    let next = 1;
    for (let batch = await watching.takeBatch(); batch; batch = await watching.takeBatch())
      for (const told of batch) assert.equal(numberOf(told), next++);
    assert.equal(next, 20_002);
    assert.equal(past.filter((event) => event.hasFrames).length, retold.size);
    assert.ok(retold.size <= 512);
  });

  test('ends with an error where something cannot be read, and tells nothing after it', async () => {
    const watching = watcher((_type, _entry, revision) => {
      if (revision === 3) throw new Error('damaged');
      return frame(revision);
    });
    watching.resume(events(5), retoldEvents(new FakeClock()));
    watching.push(frame(6));
    const told: string[] = [];
    for await (const { type } of watching) told.push(type);
    assert.deepEqual(told, ['ADDED', 'ADDED', 'ERROR']);
  });

  test('what was made for it is let go of even where an event cannot be read', async () => {
    const retold = retoldEvents(new FakeClock());
    const watching = watcher(() => assert.fail('damaged'));
    const past = events(1);
    watching.resume(past, retold);
    await watching.takeBatch();
    assert.equal(past.filter((event) => event.hasFrames).length, retold.size);
  });

  test('is dropped with its reader when more came in than may wait', async () => {
    const watching = watcher((_type, _entry, revision) => frame(revision));
    watching.resume(events(1000), retoldEvents(new FakeClock()));
    for (let i = 0; i < 100_000; i++) watching.push(frame(i));
    assert.ok(watching.ended);
    assert.equal(await watching.takeBatch(), undefined);
  });

  test('ends when its reader has stopped reading, and not while he is slow', async () => {
    const clock = new FakeClock();
    const watching = watcher((_type, _entry, revision) => frame(revision), clock);
    watching.resume(events(1000), retoldEvents(clock));
    for (let i = 0; i < 4; i++) {
      await clock.advance(50_000);
      assert.equal((await watching.takeBatch())?.length, 128);
    }
    assert.equal(watching.ended, false);
    await clock.advance(120_000);
    assert.ok(watching.ended);
    assert.equal(await watching.takeBatch(), undefined);
  });

  test('told to its end, leaves nothing that would cut off a reader who waits', async () => {
    const clock = new FakeClock();
    const watching = watcher((_type, _entry, revision) => frame(revision), clock);
    watching.resume(events(10), retoldEvents(clock));
    await watching.takeBatch();
    await clock.advance(600_000);
    assert.equal(watching.ended, false);
  });

  test('has nothing to wait for once the watch has ended, and is still told', async () => {
    const clock = new FakeClock();
    const watching = watcher((_type, _entry, revision) => frame(revision), clock);
    watching.resume(events(10), retoldEvents(clock));
    watching.end();
    await clock.advance(600_000);
    assert.equal((await watching.takeBatch())?.length, 10);
  });
});
