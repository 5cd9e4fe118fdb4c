import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Clock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { describeStore } from '../store.contract.ts';
import { CompactedError, type Store } from '../store.ts';
import { recordWatch } from '../watch-recorder.fixture.ts';
import { LmdbDatabase } from './database.ts';
import { bufferCodec, type Codec, openLmdbStore } from './lmdb-store.ts';

const text: Codec<string> = { encode: (value) => Buffer.from(value), decode: (bytes) => bytes.toString() };
const everything = { start: '/', end: '0' };

describeStore('lmdb', (clock, t) => openText(freshPath(t), clock), { modelRuns: 25 });

test('a store opened again is the same: revisions, history, create revisions, watches from the past', async (t) => {
  const path = freshPath(t);
  await using(await openText(path), async (store) => {
    await store.put('/a', 'a2');
    await store.put('/b', 'b3');
    await store.put('/a', 'a4');
    await store.remove('/b');
    await store.put('/ä😀', 'unicode');
  });
  await using(await openText(path), async (store) => {
    assert.equal(store.revision, 6);
    assert.deepEqual(await store.get('/a'), { key: '/a', value: 'a4', revision: 4, createRevision: 2 });
    assert.deepEqual(
      (await store.range({ ...everything, revision: 3 })).entries.map(({ value }) => value),
      ['a2', 'b3'],
    );
    assert.equal((await store.get('/ä😀'))?.value, 'unicode');
    const watch = recordWatch(store, { ...everything, afterRevision: 2 });
    await watch.untilEvents(4);
    assert.deepEqual(
      watch.events.map(({ type, revision, previous }) => [type, revision, previous?.value]),
      [
        ['put', 3, undefined],
        ['put', 4, 'a2'],
        ['remove', 5, 'b3'],
        ['put', 6, undefined],
      ],
    );
    const put = await store.put('/b', 'b7', { expected: 0 });
    assert.ok(put.ok && put.revision === 7);
  });
});

test('who watches from the past is given large values a few at a time', async (t) => {
  const megabyte = 'x'.repeat(1024 * 1024);
  await using(await openText(freshPath(t)), async (store) => {
    for (let i = 0; i < 20; i++) await store.put('/a', megabyte);
    const batches: number[] = [];
    await new Promise<void>((resolve, reject) => {
      const watch = store.watch(
        { ...everything, afterRevision: 1 },
        {
          onEvents(events) {
            batches.push(events.length);
            if (events.at(-1)!.revision < store.revision) return;
            watch.close();
            resolve();
          },
          onError: reject,
        },
      );
    });
    assert.equal(
      batches.reduce((sum, length) => sum + length, 0),
      20,
    );
    assert.ok(Math.max(...batches) <= 4, batches.join(' '));
  });
});

test('compaction takes the superseded records out of the database, in portions, and is remembered', async (t) => {
  const path = freshPath(t);
  await using(await openText(path), async (store) => {
    await Promise.all(Array.from({ length: 3000 }, (_, i) => store.put(`/${i % 10}`, `${i}`)));
    for (let i = 5; i < 10; i++) await store.remove(`/${i}`);
    await store.compact(store.revision);
    while ((await scan(path)).length > 5) await settle(1);
  });
  assert.deepEqual(await scan(path), [2992, 2993, 2994, 2995, 2996]);
  await using(await openText(path), async (store) => {
    assert.deepEqual([store.revision, store.compactedRevision], [3006, 3006]);
    assert.equal((await store.range(everything)).count, 5);
    await assert.rejects(store.get('/1', { revision: 3005 }), CompactedError);
    const put = await store.put('/5', 'again', { expected: 0 });
    assert.ok(put.ok && put.revision === 3007);
  });
});

test('what compaction had no time to remove goes after the next start', async (t) => {
  const path = freshPath(t);
  await using(await openText(path), async (store) => {
    for (let i = 0; i < 300; i++) void store.put('/a', `${i}`);
    void store.put('/b', 'b');
    await store.remove('/b');
    // Closing at once leaves the records of the compacted revisions where they are.
    await store.compact(store.revision);
  });
  assert.equal((await scan(path)).length, 302);
  await using(await openText(path), async (store) => {
    while ((await scan(path)).length > 1) await settle(1);
    assert.deepEqual([store.revision, store.compactedRevision], [303, 303]);
    assert.equal((await store.get('/a'))?.value, '299');
  });
  assert.deepEqual(await scan(path), [301]);
});

test('lifetimes go on over a restart, and end at once if they ended meanwhile', async (t) => {
  const path = freshPath(t);
  const startMs = Date.UTC(2026, 0, 1);
  await using(await openText(path, new FakeClock(startMs)), async (store) => {
    await store.put('/over', 'x', { ttlSeconds: 10 });
    await store.put('/later', 'x', { ttlSeconds: 100 });
    await store.put('/forever', 'x');
  });
  const clock = new FakeClock(startMs + 50_000);
  await using(await openText(path, clock), async (store) => {
    const watch = recordWatch(store, { ...everything, afterRevision: store.revision });
    await clock.advance(0);
    await watch.untilEvents(1);
    assert.equal(watch.events[0]?.key, '/over');
    await clock.advance(51_000);
    await watch.untilEvents(2);
    assert.equal(watch.events[1]?.key, '/later');
    assert.deepEqual((await store.range(everything)).count, 1);
  });
});

test('a long range lets others run meanwhile and is not disturbed by writes and compaction', async (t) => {
  const store = await openLmdbStore({
    path: freshPath(t),
    codec: bufferCodec,
    clock: new FakeClock(),
    log: silentLog,
  });
  t.after(() => store.close());
  const value = Buffer.alloc(2000, 'a');
  await Promise.all(Array.from({ length: 5000 }, (_, i) => store.put(`/${i}`, value)));
  const before = store.revision;
  let turns = 0;
  const reading = store.range(everything).finally(() => (turns = -turns));
  const changes = Promise.all(Array.from({ length: 5000 }, (_, i) => store.put(`/${i}`, Buffer.from('b'))));
  while (turns >= 0 && turns < 1000) {
    turns++;
    await settle(1);
  }
  const { entries, revision } = await reading;
  assert.ok(turns <= -4, `it gave ${-turns} turns`);
  assert.equal(revision, before);
  assert.ok(entries.every((entry) => entry.value.equals(value)));
  await changes;
});

test('a long range in the past reads on from its snapshot while compaction takes the records away', async (t) => {
  const clock = new PausingClock();
  const path = freshPath(t);
  const store = await openText(path, clock);
  t.after(() => store.close());
  await Promise.all(Array.from({ length: 1500 }, (_, i) => store.put(`/${i}`, 'old')));
  const before = store.revision;
  await Promise.all(Array.from({ length: 1500 }, (_, i) => store.put(`/${i}`, 'new')));
  const resume = clock.pauseNext();
  const reading = store.range({ ...everything, revision: before });
  await store.compact(store.revision);
  while ((await scan(path)).length > 1500) await settle(1);
  resume();
  const { entries } = await reading;
  assert.equal(entries.length, 1500);
  assert.ok(entries.every((entry) => entry.value === 'old'));
});

test('of two compactions under way the higher one is remembered', async (t) => {
  const path = freshPath(t);
  await using(await openText(path), async (store) => {
    for (let i = 0; i < 8; i++) await store.put('/a', `${i}`);
    const high = store.compact(9);
    await settle(1);
    await Promise.all([high, store.compact(7)]);
    assert.equal(store.compactedRevision, 9);
  });
  await using(await openText(path), async (store) => assert.equal(store.compactedRevision, 9));
});

test('nobody sees a write before it is on disk, not even the one that lost against it', async (t) => {
  const store = await openText(freshPath(t));
  t.after(() => store.close());
  const order: string[] = [];
  const write = store.put('/a', 'a', { expected: 0 }).then(() => order.push('winner'));
  const lost = store.put('/a', 'b', { expected: 0 }).then((result) => {
    assert.deepEqual(result, { ok: false, current: { key: '/a', value: 'a', revision: 2, createRevision: 2 } });
    order.push('loser');
  });
  const watch = recordWatch(store, { ...everything, afterRevision: 1 });
  assert.equal(store.revision, 1);
  assert.equal(await store.get('/a'), undefined);
  assert.equal((await store.range(everything)).count, 0);
  assert.deepEqual([order.length, watch.events.length], [0, 0]);
  await Promise.all([write, lost]);
  assert.deepEqual(order, ['winner', 'loser']);
  assert.equal(watch.events.length, 1);
});

test('a closed store leaves no lock behind', async (t) => {
  const path = freshPath(t);
  await using(await openText(path), async () => {
    assert.equal(readdirSync(path).filter((name) => name.startsWith('writer-')).length, 1);
  });
  assert.deepEqual(readdirSync(path).sort(), ['data.mdb', 'lock.mdb']);
});

test('a data directory that does not exist is made, for its owner only', async (t) => {
  const path = join(freshPath(t), 'deep', 'down.d');
  await using(await openText(path), async (store) => {
    await store.put('/a', 'a');
    assert.ok((await store.size()) > 0);
  });
  assert.ok(existsSync(join(path, 'data.mdb')));
});

/** Keeps back one callback until the test lets it go. */
class PausingClock extends FakeClock {
  #paused: ((callback: () => void) => void) | undefined;

  pauseNext(): () => void {
    const held = Promise.withResolvers<() => void>();
    this.#paused = held.resolve;
    return () => void held.promise.then((callback) => callback());
  }

  override soon(callback: () => void): void {
    const keep = this.#paused;
    this.#paused = undefined;
    if (keep) keep(callback);
    else super.soon(callback);
  }
}

function freshPath(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'coracle-store-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function openText(path: string, clock: Clock = new FakeClock()): Promise<Store<string>> {
  return openLmdbStore({ path, codec: text, clock, log: silentLog });
}

async function using(store: Store<string>, run: (store: Store<string>) => Promise<void>): Promise<void> {
  try {
    await run(store);
  } finally {
    await store.close();
  }
}

/** The revisions that lie in the database, be its store open or closed. */
async function scan(path: string): Promise<number[]> {
  const database = await LmdbDatabase.open(path, { readOnly: true });
  const revisions = [...database.scan()].map(({ revision }) => revision);
  await database.close();
  return revisions;
}
