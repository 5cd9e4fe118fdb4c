import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import {
  forgetProcess,
  identify,
  isRunning,
  processGone,
  recordProcess,
  runningProcess,
  startDetached,
  stopProcess,
} from './processes.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coracle-processes-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const logged = async (text: string) => {
  while (!readFileSync(join(folder, 'x.log'), 'utf8').includes(text))
    await new Promise<void>((done) => systemClock.after(5, done));
};

const start = (script: string) =>
  startDetached(folder, 'x', {
    command: '/bin/sh',
    arguments: ['-c', script],
    environment: { GREETING: 'hello' },
    logFile: join(folder, 'x.log'),
  });

test('a process is known by its id and its start, so that a reused id is nobody we know', () => {
  recordProcess(folder, 'me', process.pid);
  assert.deepEqual(runningProcess(folder, 'me'), identify(process.pid));
  writeFileSync(join(folder, 'me.pid'), `${process.pid} 1\n`);
  assert.equal(runningProcess(folder, 'me'), undefined);
  forgetProcess(folder, 'me');
  assert.equal(runningProcess(folder, 'me'), undefined);
});

test('a detached process writes to its log, has a session of its own, and is stopped by its identity', async () => {
  const started = start('echo $GREETING; exec sleep 100');
  assert.deepEqual(runningProcess(folder, 'x'), started);
  const session = readFileSync(`/proc/${started.pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[3];
  assert.equal(Number(session), started.pid);
  await logged('hello\n');
  await stopProcess(systemClock, started, 5000);
  assert.equal(isRunning(started), false);
});

test('one that does not listen is ended by force, and its end is noticed', async () => {
  const started = start('trap "" TERM; echo ready; while true; do sleep 1; done');
  await logged('ready');
  const gone = processGone(systemClock, started, new AbortController().signal);
  await stopProcess(systemClock, started, 50);
  await gone;
});
