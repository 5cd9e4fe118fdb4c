import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { silentLog } from '../../base/log.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { StorageUnavailableError } from '../store.ts';
import { CommitQueue, type QueuedCommit } from './commit-queue.ts';
import type { Transaction } from './database.ts';
import { bufferCodec, openLmdbStore } from './lmdb-store.ts';
import type { WriterCommand, WriterMessage } from './writer-process.fixture.ts';

test('kill -9 in the middle of writing loses nothing acknowledged, time after time', async (t) => {
  const path = freshPath(t);
  const acknowledged = new Map<string, { value: string; revision: number }>();
  for (const round of [0, 1, 2]) {
    const writer = await startWriter(t, path);
    let answers = 0;
    const enough = new Promise<void>((resolve) => {
      writer.on('message', (message: WriterMessage) => {
        assert.ok(message.is === 'acknowledged');
        const known = acknowledged.get(message.key);
        if (!known || known.revision < message.revision) acknowledged.set(message.key, message);
        if (++answers === 1500 + round * 333) resolve();
      });
    });
    command(writer, { do: 'write', writers: 16, firstValue: round * 1_000_000 });
    await enough;
    writer.kill('SIGKILL');
    await new Promise((resolve) => writer.once('close', resolve));

    const store = await openLmdbStore({ path, codec: bufferCodec, clock: new FakeClock(), log: silentLog });
    let newest = 0;
    for (const [key, { value, revision }] of acknowledged) {
      const entry = await store.get(key, { revision });
      assert.equal(entry?.value.toString().trim(), value, `${key} at revision ${revision}`);
      const current = await store.get(key);
      assert.ok(current && current.revision >= revision);
      newest = Math.max(newest, revision);
    }
    assert.ok(store.revision >= newest);
    await store.close();
  }
});

test('a full disk fails writes with StorageUnavailableError, reads go on, and room again makes all well', async (t) => {
  const path = freshPath(t);
  // A limit on the size of files fails writes as a full disk does, and needs no rights.
  const writer = await startWriter(t, path, 4000);
  command(writer, { do: 'fill', valueBytes: 50_000 });
  const full = await nextMessage(writer);
  assert.ok(full.is === 'failed');
  assert.equal(full.error, 'StorageUnavailableError');
  assert.match(full.message, /^storage is unavailable: cannot write to .* MB free on this disk\)$/);
  assert.ok(full.others.every((name) => name === 'StorageUnavailableError'));
  assert.ok(full.acknowledged > 4);
  assert.equal(full.readable, full.acknowledged);
  assert.equal(full.revision, 1 + full.acknowledged);

  execFileSync('prlimit', ['--pid', String(writer.pid), '--fsize=unlimited']);
  // The key of a failed write is free again: its pending head has been rolled back.
  command(writer, { do: 'once', key: `/full/${full.acknowledged / 4}-0` });
  const again = await nextMessage(writer);
  assert.ok(again.is === 'acknowledged', JSON.stringify(again));
  assert.equal(again.revision, full.revision + 1);
});

test('a failed transaction fails all that is queued behind it, forgets first, and the next write is tried anew', async () => {
  const { queue, told, transactions } = queueWithTransactions();
  const commit = (name: string): QueuedCommit => ({
    put: {
      revision: 1,
      header: { key: name, createRevision: 1, removed: false, expiresAtMs: 0, writtenAtMs: 0 },
      value: undefined,
    },
    apply: () => told.push(`apply ${name}`),
    settle: (error) => told.push(`${error ? 'fail' : 'done'} ${name}`),
  });
  queue.add(commit('a'));
  await settle(2);
  queue.add(commit('b'));
  queue.add({ settle: (error) => told.push(`${error ? 'fail' : 'done'} answer`) });
  transactions[0]!.fail();
  await settle(2);
  assert.deepEqual(told, ['forget', 'fail a', 'fail b', 'fail answer']);
  assert.equal(transactions.length, 1);
  told.length = 0;
  queue.add(commit('c'));
  queue.add(commit('d'));
  queue.add({ settle: () => told.push('answer') });
  await settle(2);
  assert.deepEqual(told, []);
  transactions[1]!.succeed();
  await settle(2);
  assert.deepEqual(told, ['apply c', 'apply d', 'tell', 'done c', 'done d', 'answer']);
});

test('writes that arrive during a transaction go together in the next, removals in portions with them', async () => {
  const { queue, transactions } = queueWithTransactions();
  const add = (revision: number) =>
    queue.add({
      put: {
        revision,
        header: { key: 'k', createRevision: 1, removed: false, expiresAtMs: 0, writtenAtMs: 0 },
        value: undefined,
      },
      settle() {},
    });
  add(2);
  await settle(2);
  for (let revision = 3; revision < 100; revision++) add(revision);
  queue.removeLater(Array.from({ length: 300 }, (_, i) => i));
  queue.add({ compactedRevision: 9, settle() {} });
  queue.add({ compactedRevision: 7, settle() {} });
  for (let i = 0; i < 3; i++) {
    transactions[i]!.succeed();
    await settle(2);
  }
  assert.deepEqual(
    transactions.map(({ puts, removals, compactedRevision }) => [puts.length, removals.length, compactedRevision]),
    [
      [1, 0, 0],
      [97, 256, 9],
      [0, 44, 0],
    ],
  );
  await queue.close();
});

interface OpenTransaction extends Transaction {
  succeed(): void;
  fail(): void;
}

function queueWithTransactions() {
  const told: string[] = [];
  const transactions: OpenTransaction[] = [];
  const database = {
    write: (transaction: Transaction) =>
      new Promise<void>((resolve, reject) => {
        const fail = () => reject(new StorageUnavailableError('no room'));
        transactions.push({ ...transaction, succeed: resolve, fail });
      }),
  };
  const queue = new CommitQueue({
    clock: new FakeClock(),
    log: silentLog,
    database,
    onCommitted: () => told.push('tell'),
    onFailed: () => told.push('forget'),
  });
  return { queue, told, transactions };
}

function freshPath(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'coracle-store-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A process that has the store open; with `fileBlocks`, it cannot make a file longer than so many blocks of 512 or 1024 bytes. */
async function startWriter(t: TestContext, path: string, fileBlocks?: number): Promise<ChildProcess> {
  const limit = fileBlocks === undefined ? '' : `ulimit -S -f ${fileBlocks}; `;
  const program = fileURLToPath(new URL('./writer-process.fixture.ts', import.meta.url));
  const writer = spawn('sh', ['-c', `${limit}exec "$0" "$1"`, execPath, program], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  t.after(() => writer.kill('SIGKILL'));
  writer.send({ path });
  assert.deepEqual(await nextMessage(writer), { is: 'open' });
  return writer;
}

function command(writer: ChildProcess, message: WriterCommand): void {
  writer.send(message);
}

function nextMessage(writer: ChildProcess): Promise<WriterMessage> {
  return new Promise((resolve, reject) => {
    writer.once('message', resolve);
    writer.once('exit', (code) => reject(new Error(`the writer ended with ${code}`)));
  });
}
