/** Snapshots, restores and copies of stores in folders: what comes out is what went in, or it is said what is wrong. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import fc from '../../testing/properties.fixture.ts';
import { bufferCodec, openLmdbStore } from '../lmdb/lmdb-store.ts';
import { memoryStore } from '../memory/memory-store.ts';
import { CompactedError, type Store } from '../store.ts';
import { lmdbSource, salvageSource } from './lmdb-source.ts';
import { fillLmdb } from './lmdb-target.ts';
import { mergedSource } from './merged-source.ts';
import { openSnapshot, saveSnapshot, verifySnapshot } from './snapshot-file.ts';
import { fillStore } from './store-target.ts';
import { type StoredObject, TransferError, type TransferSource } from './transfer.ts';

const everything = { start: '/', end: '0' };
const startMs = Date.UTC(2026, 0, 1);
const head = { takenAt: '2026-01-01T00:00:00.000Z', program: 'a test', from: 'nowhere' };

const open = (path: string, clock = new FakeClock(startMs)) =>
  openLmdbStore({ path, codec: bufferCodec, clock, log: silentLog });

function freshFolder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'coracle-transfer-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** With updates, removals, a creation anew and a lifetime. */
async function fillSome(store: Store<Buffer>): Promise<void> {
  for (let i = 0; i < 40; i++) await store.put(`/registry/${i % 15}`, Buffer.from(`value ${i} `.repeat(i)));
  await store.remove('/registry/3');
  await store.remove('/registry/4');
  await store.put('/registry/4', Buffer.from('anew'));
  await store.put('/registry/ends', Buffer.from('soon'), { ttlSeconds: 60 });
  await store.remove('/registry/5');
}

async function objectsOf(store: Store<Buffer>) {
  const { entries } = await store.range(everything);
  return entries.map(({ value, ...entry }) => ({ ...entry, value: value.toString() }));
}

async function snapshotOf(folder: string, file: string): Promise<void> {
  await using source = await lmdbSource(folder);
  await saveSnapshot(file, source, { head });
}

function sourceOf(objects: readonly StoredObject[], revision: number): TransferSource {
  return {
    revision,
    count: objects.length,
    async *read() {
      yield* objects;
    },
    async [Symbol.asyncDispose]() {},
  };
}

test('a store restored from a snapshot has the same objects, revisions and lifetimes, and goes on above all that was known', async (t) => {
  const folder = freshFolder(t);
  const clock = new FakeClock(startMs);
  const store = await open(join(folder, 'a'), clock);
  await fillSome(store);
  const file = join(folder, 'snapshot');
  await snapshotOf(join(folder, 'a'), file);
  const expected = await objectsOf(store);
  const taken = store.revision;
  await store.put('/registry/later', Buffer.from('not in the snapshot'));
  await store.close();

  await using snapshot = await openSnapshot(file);
  assert.deepEqual([snapshot.revision, snapshot.count], [taken, expected.length]);
  await fillLmdb(join(folder, 'b'), snapshot, { revision: taken + 1000, nowMs: clock.now() });
  const restored = await open(join(folder, 'b'), clock);
  t.after(() => restored.close());
  assert.deepEqual(await objectsOf(restored), expected);
  assert.deepEqual([restored.revision, restored.compactedRevision], [taken + 1000, taken + 1000]);
  // Whoever knew a revision from before, even one from after the snapshot, lists anew.
  for (const afterRevision of [2, taken, taken + 1]) {
    const ended = new Promise<Error>((onError) =>
      restored.watch({ ...everything, afterRevision }, { onEvents() {}, onError }),
    );
    assert.ok((await ended) instanceof CompactedError);
  }
  const put = await restored.put('/registry/new', Buffer.from('new'));
  assert.ok(put.ok && put.revision === taken + 1001);
  await clock.advance(62_000);
  while (await restored.get('/registry/ends')) await settle(1);
});

test('a snapshot of a store that is being written to is one moment of it', async (t) => {
  const folder = freshFolder(t);
  const store = await open(join(folder, 'a'));
  t.after(() => store.close());
  let stop = false;
  const writing = (async () => {
    for (let i = 0; !stop; i++) {
      // Two keys that are always written one after the other.
      await store.put('/registry/first', Buffer.from(`${i}`));
      await store.put('/registry/second', Buffer.from(`${i}`));
      if (i % 50 === 49) await store.compact(store.revision);
    }
  })();
  for (let round = 0; round < 15; round++) {
    const file = join(folder, `snapshot-${round}`);
    await snapshotOf(join(folder, 'a'), file);
    await using snapshot = await openSnapshot(file);
    const values = new Map<string, string>();
    for await (const { key, value } of snapshot.read()) values.set(key, value.toString());
    const behind = Number(values.get('/registry/first') ?? 0) - Number(values.get('/registry/second') ?? 0);
    assert.ok(behind === 0 || behind === 1, JSON.stringify([...values]));
  }
  stop = true;
  await writing;
});

test('a process that dies while it takes a snapshot does not let the file grow for ever', async (t) => {
  const folder = freshFolder(t);
  const store = await open(join(folder, 'a'));
  t.after(() => store.close());
  const round = async () => {
    for (let i = 0; i < 5; i++) {
      await Promise.all(
        Array.from({ length: 100 }, (_, key) => store.put(`/registry/${key}`, Buffer.alloc(2000, 'v'))),
      );
      await store.compact(store.revision);
      while (store.history!.kept().bytes > 0) await settle(1);
    }
    return store.size();
  };
  await round();
  const source = JSON.stringify(new URL('./lmdb-source.ts', import.meta.url).href);
  const program = `await (await import(${source})).lmdbSource(process.argv[1]); console.log('open'); setInterval(() => {}, 1000);`;
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
  const reader = spawn(process.execPath, [...flags, join(folder, 'a')], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => reader.kill('SIGKILL'));
  await once(reader.stdout, 'data');
  const pinned = await round();
  reader.kill('SIGKILL');
  await once(reader, 'exit');
  const sizes: number[] = [];
  for (let i = 0; i < 6; i++) sizes.push(await round());
  assert.ok(sizes.at(-1)! <= pinned * 1.5, `${pinned} bytes while it was open, then ${sizes}`);
});

test('a snapshot whose bytes were changed, cut off or added to is not whole, wherever it happened', async (t) => {
  const folder = freshFolder(t);
  const store = await open(join(folder, 'a'));
  await fillSome(store);
  await store.close();
  const file = join(folder, 'snapshot');
  await snapshotOf(join(folder, 'a'), file);
  assert.equal((await verifySnapshot(file)).objects, 14);
  const whole = readFileSync(file);
  const bad = join(folder, 'bad');
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
      const changed = Buffer.from(whole);
      changed[at]! ^= mask;
      for (const content of [changed, whole.subarray(0, at)]) {
        writeFileSync(bad, content);
        await assert.rejects(verifySnapshot(bad), TransferError);
      }
    }),
    { numRuns: 200 },
  );
  writeFileSync(bad, Buffer.concat([whole, Buffer.from('x')]));
  await assert.rejects(verifySnapshot(bad), { message: `${bad} is damaged: something follows its end` });
  writeFileSync(bad, 'coracle-snapshot 2\n');
  await assert.rejects(verifySnapshot(bad), { message: `${bad} was written by a newer release: use that release` });
  await assert.rejects(verifySnapshot(join(folder, 'none')), { message: `there is no file ${join(folder, 'none')}` });
});

test('a damaged snapshot makes no store', async (t) => {
  const folder = freshFolder(t);
  const store = await open(join(folder, 'a'));
  await fillSome(store);
  await store.close();
  const file = join(folder, 'snapshot');
  await snapshotOf(join(folder, 'a'), file);
  writeFileSync(file, readFileSync(file).subarray(0, -10));
  await using snapshot = await openSnapshot(file);
  await assert.rejects(
    fillLmdb(join(folder, 'b'), snapshot, { revision: 1e9, nowMs: 0 }),
    /is cut off after \d+ bytes/,
  );
  assert.deepEqual(readdirSync(folder).sort(), ['a', 'snapshot']);
});

test('nothing that is there is overwritten unless that is asked for, and a failed snapshot leaves no file', async (t) => {
  const folder = freshFolder(t);
  const file = join(folder, 'snapshot');
  const one = { key: '/registry/a', value: Buffer.from('a'), revision: 2, createRevision: 2, expiresAtMs: 0 };
  await saveSnapshot(file, sourceOf([one], 2), { head });
  assert.equal(statSync(file).mode & 0o777, 0o600);
  await assert.rejects(saveSnapshot(file, sourceOf([], 3), { head }), { message: `${file} is there already` });
  assert.equal((await verifySnapshot(file)).revision, 2);
  await saveSnapshot(file, sourceOf([one], 4), { head, replace: true });
  assert.equal((await verifySnapshot(file)).revision, 4);

  const failing: TransferSource = {
    ...sourceOf([one], 2),
    async *read() {
      yield one;
      throw new Error('the source broke');
    },
  };
  await assert.rejects(saveSnapshot(join(folder, 'other'), failing, { head }), /the source broke/);
  assert.deepEqual(readdirSync(folder), ['snapshot']);

  const store = join(folder, 'store');
  await fillLmdb(store, sourceOf([one], 2), { revision: 2, nowMs: 0 });
  const again = fillLmdb(store, sourceOf([], 2), { revision: 2, nowMs: 0 });
  await assert.rejects(again, { message: `there is a store in ${store} already` });
  await fillLmdb(store, sourceOf([one], 9), { revision: 9, nowMs: 0, setAside: 'before' });
  assert.deepEqual(readdirSync(folder).sort(), ['before', 'snapshot', 'store']);
  const opened = await open(store);
  assert.equal(opened.revision, 9);
  const inUse = fillLmdb(store, sourceOf([one], 9), { revision: 9, nowMs: 0, setAside: 'again' });
  await assert.rejects(inUse, { name: 'DataDirectoryLockedError' });
  await opened.close();
  assert.ok(!existsSync(join(folder, 'again')));
});

test('what a damaged store still leads to can be saved', async (t) => {
  const folder = freshFolder(t);
  const path = join(folder, 'a');
  const store = await open(path);
  await Promise.all(
    Array.from({ length: 500 }, (_, i) => store.put(`/registry/${i}`, Buffer.alloc(700, `value ${i} `))),
  );
  await store.put('/registry/large', Buffer.alloc(20_000, 'large'));
  await store.remove('/registry/0');
  await store.close();
  const file = join(path, 'data.mdb');
  const content = readFileSync(file);
  const page = content.indexOf('value 250 ') & ~8191;
  content.fill(0, page, page + 8192);
  content[content.indexOf('value 400 ')]! ^= 1;
  writeFileSync(file, content);
  await assert.rejects(lmdbSource(path), { reason: 'damaged' });
  const source = await salvageSource(path);
  const saved = new Map<string, string>();
  for await (const { key, value } of source.read()) saved.set(key, value.toString());
  assert.equal(source.lost, 2);
  assert.ok(saved.size > 480 && saved.size < 500, `${saved.size}`);
  assert.ok(!saved.has('/registry/250') && !saved.has('/registry/400') && !saved.has('/registry/0'));
  for (const [key, value] of saved)
    assert.ok(value.startsWith(key === '/registry/large' ? 'large' : `value ${key.slice('/registry/'.length)} `), key);
  assert.equal(saved.get('/registry/large')?.length, 20_000);
});

test('an open store is filled, compared and raised above the source; again with nothing to do', async () => {
  const clock = new FakeClock(startMs);
  const source = memoryStore<Buffer>({ clock });
  await fillSome(source);
  const { entries, revision } = await source.range(everything);
  const objects = entries.map((entry) => ({
    ...entry,
    expiresAtMs: entry.key.endsWith('ends') ? startMs + 60_000 : 0,
  }));
  const over = { key: '/registry/over', value: Buffer.from('over'), revision: 3, createRevision: 3, expiresAtMs: 1 };
  const foreign = {
    key: '/coracle/encoding',
    value: Buffer.from('own'),
    revision: 2,
    createRevision: 2,
    expiresAtMs: 0,
  };
  const target = memoryStore<Buffer>({ clock });
  const options = { prefix: '/registry/', revision: revision + 5000, nowMs: startMs };
  const fill = (replace: boolean) =>
    fillStore(target, sourceOf([...objects, over, foreign], revision), { ...options, replace });
  assert.equal(await fill(false), objects.length);
  const values = async () => (await objectsOf(target)).map(({ key, value }) => [key, value]);
  assert.deepEqual(
    await values(),
    objects.map(({ key, value }) => [key, value.toString()]),
  );
  assert.ok(target.revision >= revision + 5000);
  assert.equal(target.compactedRevision, target.revision);
  await assert.rejects(fill(false), { message: `the target holds ${objects.length} objects already` });

  // An interruption, and somebody's own idea of an object.
  await target.remove(objects[0]!.key);
  await target.put(objects[1]!.key, Buffer.from('changed'));
  await target.put('/registry/stray', Buffer.from('stray'));
  const before = target.revision;
  await fill(true);
  assert.equal(target.revision, before + 3, 'only what differed was written');
  assert.equal((await values()).length, objects.length);
  await clock.advance(61_000);
  while (await target.get('/registry/ends')) await settle(1);
});

test('a target too far behind is refused before anything is written', async () => {
  const target = memoryStore<Buffer>({ clock: new FakeClock() });
  const filling = fillStore(target, sourceOf([], 1), { prefix: '/registry/', revision: 2_000_000_000, nowMs: 0 });
  await assert.rejects(filling, /the target's revision would have to be raised from 1 to 2000000000/);
  assert.equal(target.revision, 1);
});

test('several stores become one, in which every object is newer than anything that was known of any', async (t) => {
  const folder = freshFolder(t);
  const object = (key: string, revision: number): StoredObject => ({
    key,
    value: Buffer.from(key),
    revision,
    createRevision: 2,
    expiresAtMs: 0,
  });
  const sources = [
    sourceOf([object('/registry/a', 7), object('/registry/b', 38)], 40),
    sourceOf([object('/registry/events/a', 7)], 12),
  ];
  const source = mergedSource(sources);
  assert.equal(await fillLmdb(join(folder, 'one'), source, { revision: source.revision, nowMs: startMs }), 3);
  const store = await open(join(folder, 'one'));
  t.after(() => store.close());
  assert.deepEqual(
    (await objectsOf(store)).map(({ key, revision }) => [key, revision]),
    [
      ['/registry/a', 41],
      ['/registry/b', 42],
      ['/registry/events/a', 43],
    ],
  );
  assert.deepEqual([store.revision, store.compactedRevision], [43, 43]);
  assert.equal(mergedSource(sources.slice(1)), sources[1]);
});
