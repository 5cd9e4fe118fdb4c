import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pid } from 'node:process';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { DataDirectoryError } from './database.ts';
import { DataDirectoryLockedError, lockDirectory } from './directory-lock.ts';
import { bufferCodec, openLmdbStore } from './lmdb-store.ts';
import type { WriterMessage } from './writer-process.fixture.ts';

const open = (path: string) => openLmdbStore({ path, codec: bufferCodec, clock: new FakeClock(), log: silentLog });

function freshPath(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'coracle-store-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('a second store on the same directory is refused, and told who has it', async (t) => {
  const path = freshPath(t);
  const store = await open(path);
  await assert.rejects(open(path), (error: DataDirectoryLockedError) => {
    assert.ok(error instanceof DataDirectoryLockedError);
    assert.deepEqual([error.pid, error.path], [pid, path]);
    assert.match(error.message, new RegExp(`in use by process ${pid}: stop that process, or choose another`));
    return true;
  });
  assert.ok((await store.put('/a', Buffer.from('a'))).ok);
  await store.close();
  const next = await open(path);
  await next.close();
});

test('another process is refused too, and comes in after a kill -9', async (t) => {
  const path = freshPath(t);
  const first = await startWriter(t, path);
  assert.equal(first.answer.is, 'open');
  const second = await startWriter(t, path);
  assert.deepEqual(second.answer, { is: 'refused', error: 'DataDirectoryLockedError', pid: first.process.pid });
  await assert.rejects(open(path), DataDirectoryLockedError);
  first.process.kill('SIGKILL');
  await new Promise((resolve) => first.process.once('exit', resolve));
  assert.equal(readdirSync(path).filter((name) => name.startsWith('writer-')).length, 1);
  const store = await open(path);
  assert.equal(readdirSync(path).filter((name) => name.startsWith('writer-')).length, 1);
  await store.close();
});

test('of many that come at the same moment at most one gets the lock', async (t) => {
  const path = freshPath(t);
  for (let round = 0; round < 20; round++) {
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, (_, i) => lockDirectory(path, 1000 + i)));
    const held = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    assert.ok(held.length <= 1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof DataDirectoryLockedError);
    }
    for (const lock of held) await lock.release();
    assert.deepEqual(readdirSync(path), []);
    const alone = await lockDirectory(path, 1);
    await alone.release();
  }
});

test('a lock works where the path is longer than a socket path may be', async (t) => {
  const path = join(freshPath(t), 'long'.repeat(30), 'path'.repeat(20));
  const store = await open(path);
  await assert.rejects(open(path), DataDirectoryLockedError);
  await store.close();
  const next = await open(path);
  await next.close();
});

test('the remains of a dead owner do not lock, whatever state they are in', async (t) => {
  const path = freshPath(t);
  mkdirSync(join(path, 'writer-1-withoutsocket'));
  mkdirSync(join(path, 'writer-1-withfile'));
  writeFileSync(join(path, 'writer-1-withfile', 'alive'), '');
  const store = await open(path);
  assert.equal(readdirSync(path).filter((name) => name.startsWith('writer-')).length, 1);
  await store.close();
});

for (const { name, content } of [
  { name: 'noise', content: Buffer.alloc(100_000, 'noise') },
  { name: 'a short text', content: Buffer.from('hello') },
]) {
  test(`a data.mdb that holds ${name} is refused as foreign and left as it is`, async (t) => {
    const path = freshPath(t);
    writeFileSync(join(path, 'data.mdb'), content);
    await assert.rejects(open(path), (error: DataDirectoryError) => {
      assert.ok(error instanceof DataDirectoryError);
      assert.equal(error.reason, 'foreign');
      assert.match(error.message, /holds another program's data: choose another data directory/);
      return true;
    });
    assert.deepEqual(readdirSync(path), ['data.mdb']);
  });
}

test("another program's LMDB database is refused as foreign", async (t) => {
  const path = freshPath(t);
  await writeRaw(path, 'somebody', 'else');
  await assert.rejects(open(path), { name: 'DataDirectoryError', reason: 'foreign' });
});

test('an LMDB database with another format record is refused as foreign', async (t) => {
  const path = freshPath(t);
  await writeRaw(path, 0, JSON.stringify({ format: 'another', version: 1 }));
  await assert.rejects(open(path), { name: 'DataDirectoryError', reason: 'foreign' });
});

test("a newer release's data is refused with what to do", async (t) => {
  const path = freshPath(t);
  await writeRaw(path, 0, JSON.stringify({ format: 'coracle-store', version: 3, compactedRevision: 0 }));
  await assert.rejects(open(path), (error: DataDirectoryError) => {
    assert.equal(error.reason, 'newer');
    assert.match(error.message, /written by a newer release \(format 3, this one reads up to 2\): run that release/);
    return true;
  });
});

test("the first releases' records are read, and new ones come after them", async (t) => {
  const path = freshPath(t);
  await writeRaw(path, 0, JSON.stringify({ format: 'coracle-store', version: 1, compactedRevision: 0 }), [
    [2, oldRecord('/a', 'first')],
    [3, oldRecord('/b', 'second')],
  ]);
  const store = await open(path);
  assert.deepEqual(await store.get('/a'), { key: '/a', value: Buffer.from('first'), revision: 2, createRevision: 2 });
  assert.equal(store.history?.timeOf(2), undefined);
  assert.ok((await store.put('/a', Buffer.from('third'), { expected: 2 })).ok);
  await store.close();
  const again = await open(path);
  assert.deepEqual(
    (await again.range({ start: '/', end: '0' })).entries.map(({ value, revision }) => [value.toString(), revision]),
    [
      ['third', 4],
      ['second', 3],
    ],
  );
  await again.close();
});

/** As format 1 had it: no time, no checksum. */
function oldRecord(key: string, value: string): Buffer {
  const head = Buffer.alloc(20);
  head.writeUInt16LE(key.length, 2);
  head.writeDoubleLE(2, 4);
  return Buffer.concat([head, Buffer.from(key + value)]);
}

test('a path that cannot be a directory is refused with what to do', async (t) => {
  const path = freshPath(t);
  const file = join(path, 'file');
  writeFileSync(file, '');
  for (const bad of [file, join(file, 'below'), '/proc/coracle']) {
    await assert.rejects(open(bad), (error: DataDirectoryError) => {
      assert.equal(error.reason, 'unusable');
      assert.match(error.message, /cannot be written: .*: choose another one/);
      return true;
    });
  }
});

async function writeRaw(
  path: string,
  key: string | number,
  value: string,
  others: readonly (readonly [number, Buffer])[] = [],
): Promise<void> {
  const { open: openLmdb } = await import('lmdb');
  const database = openLmdb({ path, noSubdir: false, encoding: 'binary', overlappingSync: false });
  await database.put(key, Buffer.from(value));
  for (const [revision, record] of others) await database.put(revision, record);
  await database.close();
}

async function startWriter(t: TestContext, path: string): Promise<{ process: ChildProcess; answer: WriterMessage }> {
  const child = fork(new URL('./writer-process.fixture.ts', import.meta.url), {
    // Without the test runner's own flags.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  t.after(() => child.kill('SIGKILL'));
  child.send({ path });
  const answer = await new Promise<WriterMessage>((resolve) => child.once('message', resolve));
  return { process: child, answer };
}
