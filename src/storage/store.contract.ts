/**
 * The behaviours that every implementation of `Store` must show: `describeStore` runs them on stores that `open` makes, each
 * test on a fresh one. Longer than most files because a contract is one list; the comparison with a model of the whole
 * store is in `store-model.fixture.ts`.
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import type { Needs } from '../testing/needs.ts';
import { CompactedError, type Entry, FutureRevisionError, prefixEnd, type Store, StoreClosedError } from './store.ts';
import { type OpenStore, testAgainstModel } from './store-model.fixture.ts';
import { recordWatch } from './watch-recorder.fixture.ts';

export interface ContractOptions extends Partial<Needs> {
  /** Sequences that the comparison with the model tries. */
  readonly modelRuns?: number;
}

/** All keys that tests use. */
const everything = { start: '/', end: '0' };

export function describeStore(name: string, open: OpenStore, options: ContractOptions = {}): void {
  const { modelRuns = 100, ...needs } = options;
  const fresh = async (t: TestContext) => {
    const clock = new FakeClock();
    const store = await open(clock, t);
    t.after(() => store.close());
    return { store, clock };
  };
  describe(`${name} keeps the storage contract`, needs, () => {
    testWrites(fresh);
    testReads(fresh);
    testWatches(fresh);
    testClosingInWatcher(fresh);
    testProgress(fresh);
    testCompaction(fresh);
    testLifetimes(fresh);
    testConcurrency(fresh);
    testClosing(fresh);
    testAgainstModel(open, modelRuns);
  });
}

type Fresh = (t: TestContext) => Promise<{ store: Store<string>; clock: FakeClock }>;

function testWrites(fresh: Fresh): void {
  test('a fresh store is at revision 1 and holds nothing', async (t) => {
    const { store } = await fresh(t);
    assert.equal(store.revision, 1);
    assert.equal(store.compactedRevision, 0);
    assert.deepEqual(await store.range(everything), { entries: [], revision: 1, more: false, count: 0 });
    assert.equal(await store.get('/a'), undefined);
    assert.ok((await store.size()) >= 0);
  });

  test('each change takes the next revision, a refused one takes none', async (t) => {
    const { store } = await fresh(t);
    assert.deepEqual(await store.put('/a', 'one'), { ok: true, revision: 2, previous: undefined });
    assert.equal((await store.put('/a', 'no', { expected: 7 })).ok, false);
    assert.equal((await store.put('/b', 'two')).ok, true);
    assert.equal((await store.remove('/a')).ok, true);
    assert.equal(store.revision, 4);
  });

  test('compare-and-set writes only over the expected revision and says what stands there', async (t) => {
    const { store } = await fresh(t);
    const first = { key: '/a', value: 'one', revision: 2, createRevision: 2 };
    assert.deepEqual(await store.put('/a', 'x', { expected: 5 }), { ok: false, current: undefined });
    assert.equal((await store.put('/a', 'one', { expected: 0 })).ok, true);
    assert.deepEqual(await store.put('/a', 'x', { expected: 0 }), { ok: false, current: first });
    assert.deepEqual(await store.put('/a', 'x', { expected: 1 }), { ok: false, current: first });
    assert.deepEqual(await store.put('/a', 'two', { expected: 2 }), { ok: true, revision: 3, previous: first });
    assert.equal((await store.get('/a'))?.value, 'two');
  });

  test('a key keeps its create revision through updates and gets a new one when created again', async (t) => {
    const { store } = await fresh(t);
    await store.put('/a', 'one');
    await store.put('/a', 'two');
    assert.equal((await store.get('/a'))?.createRevision, 2);
    await store.remove('/a');
    await store.put('/a', 'three', { expected: 0 });
    assert.deepEqual(await store.get('/a'), { key: '/a', value: 'three', revision: 5, createRevision: 5 });
  });

  test('a removal with an expected revision removes only that', async (t) => {
    const { store } = await fresh(t);
    await store.put('/a', 'one');
    const current = { key: '/a', value: 'one', revision: 2, createRevision: 2 };
    assert.deepEqual(await store.remove('/a', { expected: 9 }), { ok: false, current });
    assert.deepEqual(await store.remove('/a', { expected: 2 }), { ok: true, revision: 3, previous: current });
    assert.equal(await store.get('/a'), undefined);
    assert.deepEqual(await store.remove('/a'), { ok: false, current: undefined });
    assert.deepEqual(await store.remove('/a', { expected: 2 }), { ok: false, current: undefined });
    assert.equal(store.revision, 3);
  });

  test('values of any size come back as they were', async (t) => {
    const { store } = await fresh(t);
    const values = ['', 'ä€😀', 'x'.repeat(100), 'y'.repeat(70_000), 'z'.repeat(3 << 20)];
    for (const [i, value] of values.entries()) await store.put(`/${i}`, value);
    for (const [i, value] of values.entries()) assert.equal((await store.get(`/${i}`))?.value, value);
    const { entries } = await store.range(everything);
    assert.ok(entries.every(({ value }, i) => value === values[i]));
  });

  test('a key that is empty or not well-formed text is refused', async (t) => {
    const { store } = await fresh(t);
    await assert.rejects(store.put('', 'x'), TypeError);
    await assert.rejects(store.put('/\ud800', 'x'), TypeError);
    await assert.rejects(store.remove(''), TypeError);
    assert.equal(store.revision, 1);
  });
}

function testReads(fresh: Fresh): void {
  test('a range holds its start and not its end, in the byte order of UTF-8', async (t) => {
    const { store } = await fresh(t);
    const ordered = ['/a', '/a!', '/a/b', '/aa', '/b', '/z', '/ä', '/€', '/\uffee', '/😀'];
    for (const key of [...ordered].reverse()) await store.put(key, key);
    const inOrder = (await store.range(everything)).entries.map(keyOf);
    assert.deepEqual(inOrder, ordered);
    assert.deepEqual((await store.range({ start: '/a/b', end: '/z' })).entries.map(keyOf), ['/a/b', '/aa', '/b']);
    assert.deepEqual((await store.range({ start: '/a/', end: prefixEnd('/a/') })).entries.map(keyOf), ['/a/b']);
    assert.deepEqual((await store.range({ start: '/\uffee', end: '/😀' })).entries.map(keyOf), ['/\uffee']);
    assert.deepEqual(await store.range({ start: '/z', end: '/b' }), {
      entries: [],
      revision: 11,
      more: false,
      count: 0,
    });
  });

  test('a limit cuts a range off, and count still tells all its keys', async (t) => {
    const { store } = await fresh(t);
    for (let i = 0; i < 10; i++) await store.put(`/${i}`, 'v');
    await store.put('1', 'outside');
    const limited = await store.range({ ...everything, limit: 4 });
    assert.deepEqual(limited.entries.map(keyOf), ['/0', '/1', '/2', '/3']);
    assert.deepEqual({ ...limited, entries: [] }, { entries: [], revision: 12, more: true, count: 10 });
    const exact = await store.range({ start: '/6', end: '0', limit: 4 });
    assert.deepEqual([exact.entries.length, exact.more, exact.count], [4, false, 4]);
    assert.equal((await store.range({ ...everything, limit: 0 })).entries.length, 10);
  });

  test('a read in the past sees what stood there then, removed keys included', async (t) => {
    const { store } = await fresh(t);
    await store.put('/a', 'a2');
    await store.put('/c', 'c3');
    await store.put('/b', 'b4');
    await store.put('/a', 'a5');
    await store.remove('/b');
    await store.put('/d', 'd7');
    const old = await store.range({ ...everything, revision: 4 });
    assert.deepEqual(
      old.entries.map(({ value }) => value),
      ['a2', 'b4', 'c3'],
    );
    assert.deepEqual([old.count, old.more, old.revision], [3, false, 4]);
    const limited = await store.range({ ...everything, revision: 5, limit: 2 });
    assert.deepEqual(
      limited.entries.map(({ value }) => value),
      ['a5', 'b4'],
    );
    assert.deepEqual([limited.count, limited.more], [3, true]);
    assert.equal((await store.get('/b', { revision: 5 }))?.value, 'b4');
    assert.equal(await store.get('/b', { revision: 6 }), undefined);
    assert.equal(await store.get('/a', { revision: 1 }), undefined);
    assert.equal((await store.get('/a', { revision: 7 }))?.value, 'a5');
  });

  test('a revision in the future is refused', async (t) => {
    const { store } = await fresh(t);
    await store.put('/a', 'v');
    await assert.rejects(store.get('/a', { revision: 3 }), FutureRevisionError);
    await assert.rejects(store.range({ ...everything, revision: 3 }), FutureRevisionError);
    await assert.rejects(store.compact(3), FutureRevisionError);
  });
}

function testWatches(fresh: Fresh): void {
  test('a watch delivers creation, update and removal with what stood before', async (t) => {
    const { store } = await fresh(t);
    const watch = recordWatch(store, { ...everything, afterRevision: store.revision });
    await store.put('/a', 'one');
    await store.put('/a', 'two');
    await store.remove('/a');
    await store.put('/a', 'three');
    await watch.untilEvents(4);
    const one = { key: '/a', value: 'one', revision: 2, createRevision: 2 };
    const two = { key: '/a', value: 'two', revision: 3, createRevision: 2 };
    assert.deepEqual(watch.events, [
      { type: 'put', key: '/a', revision: 2, value: 'one', previous: undefined },
      { type: 'put', key: '/a', revision: 3, value: 'two', previous: one },
      { type: 'remove', key: '/a', revision: 4, value: undefined, previous: two },
      { type: 'put', key: '/a', revision: 5, value: 'three', previous: undefined },
    ]);
  });

  test('a watch hears of its own range only, ranges may overlap', async (t) => {
    const { store } = await fresh(t);
    const pods = recordWatch(store, { start: '/pods/', end: '/pods0', afterRevision: 1 });
    const one = recordWatch(store, { start: '/pods/b', end: '/pods/c', afterRevision: 1 });
    const all = recordWatch(store, { ...everything, afterRevision: 1 });
    for (const key of ['/pod', '/pods/a', '/pods/b', '/pods/bb', '/pods/c', '/pods0']) await store.put(key, 'v');
    await Promise.all([all.untilEvents(6), pods.untilEvents(4), one.untilEvents(2)]);
    assert.deepEqual(pods.events.map(keyOf), ['/pods/a', '/pods/b', '/pods/bb', '/pods/c']);
    assert.deepEqual(one.events.map(keyOf), ['/pods/b', '/pods/bb']);
  });

  test('a watch from the past catches up and goes on live: no gap, no duplicate', async (t) => {
    const { store } = await fresh(t);
    await Promise.all(Array.from({ length: 3000 }, (_, i) => store.put(`/${i % 500}`, `${i}`)));
    const watches = [1, 2, 700, 2999, 3000, 3001].map((afterRevision) => ({
      afterRevision,
      watch: recordWatch(store, { ...everything, afterRevision }),
    }));
    for (let i = 0; i < 20; i++) {
      await Promise.all(Array.from({ length: 20 }, (_, j) => store.put(`/${j}`, `${i}`)));
    }
    assert.equal(store.revision, 3401);
    for (const { afterRevision, watch } of watches) {
      await watch.untilEvents(3401 - afterRevision);
      const revisions = watch.events.map(({ revision }) => revision);
      assert.deepEqual(
        revisions,
        Array.from({ length: 3401 - afterRevision }, (_, i) => afterRevision + 1 + i),
      );
      const spot = watch.events.find((event) => event.revision === 3300)!;
      assert.equal(spot.previous?.key, spot.key);
    }
  });

  test('a watch from the future waits for it', async (t) => {
    const { store } = await fresh(t);
    const watch = recordWatch(store, { ...everything, afterRevision: 3 });
    await store.put('/a', '2');
    await store.put('/a', '3');
    await store.put('/a', '4');
    await watch.untilEvents(1);
    assert.deepEqual(
      watch.events.map(({ revision }) => revision),
      [4],
    );
  });

  test('a closed watch hears nothing more', async (t) => {
    const { store } = await fresh(t);
    const closed = recordWatch(store, { ...everything, afterRevision: 1 });
    await store.put('/a', '1');
    await closed.untilEvents(1);
    closed.close();
    const past = recordWatch(store, { ...everything, afterRevision: 1 });
    past.close();
    const other = recordWatch(store, { ...everything, afterRevision: 2 });
    await store.put('/a', '2');
    await other.untilEvents(1);
    await settle();
    assert.equal(closed.events.length, 1);
    assert.deepEqual([past.events.length, past.error], [0, undefined]);
  });

  test('a watcher that throws is ended with its error, the others go on', async (t) => {
    const { store } = await fresh(t);
    const broken = new Error('broken watcher');
    const ended: Error[] = [];
    const end = Promise.withResolvers<void>();
    store.watch(
      { ...everything, afterRevision: 1 },
      {
        onEvents() {
          throw broken;
        },
        onError(error) {
          ended.push(error);
          end.resolve();
        },
      },
    );
    const other = recordWatch(store, { ...everything, afterRevision: 1 });
    await store.put('/a', '1');
    await store.put('/a', '2');
    await Promise.all([other.untilEvents(2), end.promise]);
    assert.deepEqual(ended, [broken]);
  });

  test('a watcher that writes is not re-entered and misses nothing', async (t) => {
    const { store } = await fresh(t);
    let depth = 0;
    const seen: string[] = [];
    const done = Promise.withResolvers<void>();
    store.watch(
      { ...everything, afterRevision: 1 },
      {
        onEvents(events) {
          assert.equal(++depth, 1);
          for (const { value } of events) {
            seen.push(value!);
            if (Number(value) < 5) store.put('/a', String(Number(value) + 1)).catch(done.reject);
            else done.resolve();
          }
          depth--;
        },
        onError: done.reject,
      },
    );
    await store.put('/a', '1');
    await done.promise;
    assert.deepEqual(seen, ['1', '2', '3', '4', '5']);
  });
}

function testClosingInWatcher(fresh: Fresh): void {
  test('a watcher that writes and closes the store is not re-entered, and is ended', async (t) => {
    const { store } = await fresh(t);
    let depth = 0;
    const ended = Promise.withResolvers<Error>();
    store.watch(
      { ...everything, afterRevision: 1 },
      {
        onEvents([first]) {
          if (++depth > 1) ended.reject(new Error('re-entered'));
          if (first?.value === '1') {
            store.put('/a', 'more').catch(ended.reject);
            store.close().catch(ended.reject);
          }
          depth--;
        },
        onError: ended.resolve,
      },
    );
    await store.put('/a', '1');
    assert.ok((await ended.promise) instanceof StoreClosedError);
  });
}

function testProgress(fresh: Fresh): void {
  test('a quiet watch is told how far the store has come', async (t) => {
    const { store } = await fresh(t);
    const quiet = recordWatch(store, { start: '/quiet/', end: '/quiet0', afterRevision: 1 });
    await store.put('/busy/a', '1');
    await store.put('/busy/a', '2');
    await quiet.untilProgress(3);
    assert.equal(quiet.events.length, 0);
  });

  test('progress never runs ahead of events', async (t) => {
    const { store } = await fresh(t);
    await Promise.all(Array.from({ length: 3000 }, (_, i) => store.put(i % 2 ? '/quiet/a' : '/busy/a', `${i}`)));
    const watch = recordWatch(store, { start: '/quiet/', end: '/quiet0', afterRevision: 1 });
    await store.put('/busy/a', 'next');
    await watch.untilProgress(3002);
    await store.put('/quiet/a', 'last');
    await watch.untilProgress(3003);
    await settle();
    assert.equal(watch.events.length, 1501);
    const told = watch.told;
    assert.deepEqual(
      told,
      [...told].sort((a, b) => a - b),
    );
    assert.equal(new Set(told).size, told.length);
  });
}

function testCompaction(fresh: Fresh): void {
  const filled = async (t: TestContext) => {
    const { store } = await fresh(t);
    await store.put('/a', 'a2');
    await store.put('/b', 'b3');
    await store.put('/a', 'a4');
    await store.remove('/b');
    await store.put('/c', 'c6');
    await store.put('/a', 'a7');
    return store;
  };

  test('reads before the compacted revision fail, reads at it and after do not', async (t) => {
    const store = await filled(t);
    await store.compact(5);
    await settle();
    assert.equal(store.compactedRevision, 5);
    await assert.rejects(store.get('/a', { revision: 4 }), (error: CompactedError) => {
      assert.ok(error instanceof CompactedError);
      assert.equal(error.compactedRevision, 5);
      return true;
    });
    await assert.rejects(store.range({ ...everything, revision: 4 }), CompactedError);
    const at5 = await store.range({ ...everything, revision: 5 });
    assert.deepEqual(
      at5.entries.map(({ value }) => value),
      ['a4'],
    );
    const at6 = await store.range({ ...everything, revision: 6 });
    assert.deepEqual(
      at6.entries.map(({ value }) => value),
      ['a4', 'c6'],
    );
    assert.deepEqual(
      (await store.range(everything)).entries.map(({ value }) => value),
      ['a7', 'c6'],
    );
  });

  test('a watch from before the compacted revision fails, one from it does not', async (t) => {
    const store = await filled(t);
    await store.compact(5);
    const below = recordWatch(store, { ...everything, afterRevision: 4 });
    const at = recordWatch(store, { ...everything, afterRevision: 5 });
    await at.untilEvents(2);
    assert.deepEqual(
      at.events.map(({ value }) => value),
      ['c6', 'a7'],
    );
    assert.equal(at.events[1]?.previous?.value, 'a4');
    assert.ok((await below.untilError()) instanceof CompactedError);
    assert.equal(below.events.length, 0);
  });

  test('compacting again lower or at the same revision changes nothing', async (t) => {
    const store = await filled(t);
    await store.compact(5);
    await store.compact(5);
    await store.compact(2);
    assert.equal(store.compactedRevision, 5);
  });

  test('after compacting everything the store goes on: live keys stay, live watches go on', async (t) => {
    const store = await filled(t);
    const live = recordWatch(store, { ...everything, afterRevision: 7 });
    await store.compact(7);
    await settle();
    await store.put('/b', 'b8', { expected: 0 });
    await store.remove('/c', { expected: 6 });
    // Or compaction may overtake the watch, which then has to end.
    await live.untilEvents(2);
    await store.compact(9);
    await settle();
    assert.equal((await store.put('/d', 'd10')).ok, true);
    await live.untilEvents(3);
    assert.deepEqual(
      live.events.map(({ type, key }) => `${type} ${key}`),
      ['put /b', 'remove /c', 'put /d'],
    );
    assert.deepEqual(
      (await store.range(everything)).entries.map(({ value }) => value),
      ['a7', 'b8', 'd10'],
    );
  });

  test('a watch overtaken by compaction gets everything or ends, never a gap', async (t) => {
    const { store } = await fresh(t);
    await Promise.all(Array.from({ length: 5000 }, (_, i) => store.put('/a', `${i}`)));
    const watch = recordWatch(store, { ...everything, afterRevision: 1 });
    await store.compact(5001);
    const outcome = await Promise.race([watch.untilError(), watch.untilEvents(5000)]);
    if (outcome) assert.ok(outcome instanceof CompactedError);
    assert.deepEqual(
      watch.events.map(({ revision }) => revision),
      watch.events.map((_, i) => i + 2),
    );
  });
}

function testLifetimes(fresh: Fresh): void {
  test('a key with a lifetime is removed when it ends, with a revision of its own', async (t) => {
    const { store, clock } = await fresh(t);
    const watch = recordWatch(store, { ...everything, afterRevision: 1 });
    await clock.advance(500);
    await store.put('/a', 'short', { ttlSeconds: 10 });
    await store.put('/b', 'long', { ttlSeconds: 60 });
    await store.put('/c', 'forever');
    await clock.advance(9_999);
    await watch.untilEvents(3);
    assert.equal((await store.get('/a'))?.value, 'short');
    await clock.advance(1_001);
    await watch.untilEvents(4);
    assert.deepEqual([watch.events[3]?.type, watch.events[3]?.key, watch.events[3]?.revision], ['remove', '/a', 5]);
    assert.equal(watch.events[3]?.previous?.value, 'short');
    assert.equal(await store.get('/a'), undefined);
    await clock.advance(50_000);
    await watch.untilEvents(5);
    assert.deepEqual((await store.range(everything)).entries.map(keyOf), ['/c']);
  });

  test('a later write ends the earlier lifetime', async (t) => {
    const { store, clock } = await fresh(t);
    await store.put('/a', '1', { ttlSeconds: 10 });
    await store.put('/a', '2');
    await store.put('/b', '1', { ttlSeconds: 10 });
    await clock.advance(5_000);
    await store.put('/b', '2', { ttlSeconds: 10 });
    await clock.advance(9_000);
    await store.put('/end', '');
    assert.deepEqual((await store.range(everything)).entries.map(keyOf), ['/a', '/b', '/end']);
    const watch = recordWatch(store, { ...everything, afterRevision: store.revision });
    await clock.advance(2_000);
    await watch.untilEvents(1);
    assert.equal(watch.events[0]?.key, '/b');
  });
}

function testConcurrency(fresh: Fresh): void {
  test('of many concurrent creators of a key exactly one wins, and the losers see its entry', async (t) => {
    const { store } = await fresh(t);
    const results = await Promise.all(Array.from({ length: 50 }, (_, i) => store.put('/a', `${i}`, { expected: 0 })));
    assert.equal(results.filter(({ ok }) => ok).length, 1);
    const winner = await store.get('/a');
    for (const result of results) if (!result.ok) assert.deepEqual(result.current, winner);
    assert.equal(store.revision, 2);
  });

  test('concurrent read-modify-write loops lose no update', async (t) => {
    const { store } = await fresh(t);
    await store.put('/count', '0');
    const increment = async () => {
      for (let current = await store.get('/count'); ; ) {
        const result = await store.put('/count', String(Number(current!.value) + 1), { expected: current!.revision });
        if (result.ok) return;
        current = result.current;
      }
    };
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        for (let i = 0; i < 5; i++) await increment();
      }),
    );
    assert.equal((await store.get('/count'))?.value, '100');
    assert.equal(store.revision, 102);
  });

  test('unconditional writes of one turn follow one another in order', async (t) => {
    const { store } = await fresh(t);
    const results = await Promise.all([
      store.put('/a', '1'),
      store.remove('/a'),
      store.put('/a', '3', { expected: 0 }),
      store.put('/a', '4', { expected: 0 }),
      store.remove('/b'),
    ]);
    assert.deepEqual(
      results.map((result) => result.ok && result.revision),
      [2, 3, 4, false, false],
    );
    assert.deepEqual(await store.get('/a'), { key: '/a', value: '3', revision: 4, createRevision: 4 });
  });

  test('an acknowledged write is seen by every later read', async (t) => {
    const { store } = await fresh(t);
    for (let i = 0; i < 50; i++) {
      const result = await store.put('/a', `${i}`);
      assert.ok(result.ok && store.revision >= result.revision);
      assert.equal((await store.get('/a'))?.value, `${i}`);
      assert.equal((await store.range(everything)).entries[0]?.value, `${i}`);
    }
  });
}

function testClosing(fresh: Fresh): void {
  test('close finishes writes under way, ends watches and refuses what comes later', async (t) => {
    const { store, clock } = await fresh(t);
    const watch = recordWatch(store, { ...everything, afterRevision: 1 });
    const writes = [store.put('/a', '1', { ttlSeconds: 60 }), store.put('/b', '2')];
    await store.close();
    assert.deepEqual(
      (await Promise.all(writes)).map(({ ok }) => ok),
      [true, true],
    );
    assert.ok((await watch.untilError()) instanceof StoreClosedError);
    assert.equal(watch.events.length, 2);
    for (const call of [
      () => store.get('/a'),
      () => store.range(everything),
      () => store.put('/a', 'x'),
      () => store.remove('/a'),
      () => store.compact(2),
      () => store.size(),
    ]) {
      await assert.rejects(call, StoreClosedError);
    }
    const late = recordWatch(store, { ...everything, afterRevision: 1 });
    assert.ok((await late.untilError()) instanceof StoreClosedError);
    await store.close();
    assert.equal(clock.pending, 0);
  });
}

function keyOf({ key }: Pick<Entry<string>, 'key'>): string {
  return key;
}
