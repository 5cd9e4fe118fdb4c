/**
 * A hundred power cuts, each at another moment of a store being written: what was acknowledged before the cut is there after it. `kill -9`
 * cannot show this, for it spares the page cache. A build without its sync has to fail, or the test would prove nothing.
 */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { seededRandom } from '../../src/base/random.ts';
import { bufferCodec, openLmdbStore } from '../../src/storage/lmdb/lmdb-store.ts';
import type { WriterCommand, WriterMessage } from '../../src/storage/lmdb/writer-process.fixture.ts';
import { needs } from '../../src/testing/needs.ts';
import { LoggedDisk, PowerCuts, withMounted } from './logged-disk.ts';

const writer = join(import.meta.dirname, '../../src/storage/lmdb/writer-process.fixture.ts');
const acknowledgedWrites = 1200;
const seed = Math.floor(systemClock.now() / 86_400_000);

interface Acknowledged {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
  /** Of the disk's log when the answer came. */
  readonly position: number;
}

/** Lines about what was lost; empty: nothing. */
async function lossesAfterCuts(cuts: number, nodeFlags: readonly string[] = []): Promise<readonly string[]> {
  await using disk = await LoggedDisk.open();
  const acknowledged = await writeTo(disk, nodeFlags);
  const random = seededRandom(seed);
  const [first, last] = [acknowledged[0]!.position, acknowledged.at(-1)!.position];
  const positions = Array.from({ length: cuts }, () => first + random.next() * (last - first)).sort((a, b) => a - b);
  const machine = new PowerCuts(disk.log());
  const losses: string[] = [];
  for (const position of positions) {
    const due = acknowledged.filter((each) => each.position <= position);
    losses.push(...(await withMounted(machine.cut(position, random), (path) => lossesIn(path, due))));
  }
  return losses;
}

async function writeTo(disk: LoggedDisk, nodeFlags: readonly string[]): Promise<readonly Acknowledged[]> {
  const child = fork(writer, { execArgv: ['--disable-warning=ExperimentalWarning', ...nodeFlags] });
  const acknowledged: Acknowledged[] = [];
  const enough = new Promise<void>((resolve, reject) => {
    child.on('message', (message: WriterMessage) => {
      if (message.is === 'open') child.send({ do: 'write', writers: 8, firstValue: 0 } satisfies WriterCommand);
      else if (message.is === 'acknowledged') acknowledged.push({ ...message, position: disk.position });
      else reject(new Error(JSON.stringify(message)));
      if (acknowledged.length === acknowledgedWrites) resolve();
    });
    child.once('exit', () => reject(new Error('the writer has ended')));
  });
  child.send({ path: join(disk.path, 'store') });
  await enough;
  child.kill('SIGKILL');
  await once(child, 'exit');
  return acknowledged;
}

async function lossesIn(path: string, due: readonly Acknowledged[]): Promise<readonly string[]> {
  const opened = await openLmdbStore({
    path: join(path, 'store'),
    codec: bufferCodec,
    clock: systemClock,
    log: silentLog,
  }).catch((error: Error) => error);
  if (opened instanceof Error) return [`the store does not open: ${opened.message}`];
  const losses: string[] = [];
  for (const { key, value, revision } of due) {
    const entry = revision > opened.revision ? undefined : await opened.get(key, { revision });
    if (entry?.value.toString().trim() !== value) losses.push(`${key} at ${revision} is lost`);
  }
  await opened.close();
  return losses;
}

const disk = needs('root', 'qemu-storage-daemon', 'losetup', 'mkfs.ext4');

test('after a hundred power cuts everything acknowledged is there', disk, async () => {
  assert.deepEqual(await lossesAfterCuts(100), []);
});

test('a build whose sync is taken out does not pass', disk, async () => {
  const losses = await lossesAfterCuts(10, ['--import', join(import.meta.dirname, 'without-sync.ts')]);
  assert.ok(losses.length > 0);
});
