/** `docs/etcd.md` does what it says: its commands are run as they stand there, on other ports. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { freePorts } from '../../src/storage/etcd/process.fixture.ts';
import { needs } from '../../src/testing/needs.ts';

const root = resolve(import.meta.dirname, '../..');
const document = readFileSync(join(root, 'docs/etcd.md'), 'utf8');

test('the walk through three servers, three members, a backup and its return', needs('etcd'), async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-etcd-walk-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const blocks = [...document.matchAll(/```sh\n(.*?)```/gs)].map((match) => match[1]!);
  assert.equal(blocks.length, 6);
  const script = ['set -e', `PATH="${root}:$PATH"`, ...blocks].join('\n');
  const ports = [...new Set(script.match(/\b(23[78]\d|644\d)\b/g))];
  const free = await freePorts(ports.length);
  const moved = script.replaceAll(/\b(23[78]\d|644\d)\b/g, (port) => String(free[ports.indexOf(port)]));
  // A process group of its own, which ends with all that the script has started.
  const shell = spawn('bash', ['-c', moved], { cwd: folder, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  t.after(() => {
    try {
      process.kill(-shell.pid!, 'SIGKILL');
    } catch {
      // All of it has ended.
    }
  });
  const [code] = (await once(shell, 'exit')) as [number];
  assert.equal(code, 0, output.slice(-3000));
  assert.match(output, /configmaps "after-the-snapshot" not found/);
  assert.match(output, /192\.0\.2\.1:\d+,192\.0\.2\.2:\d+,192\.0\.2\.3:\d+/);
});
