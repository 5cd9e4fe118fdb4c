import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startContainerd } from './containerd.ts';
import { needs } from './needs.ts';

test('a containerd that cannot be given its images is ended, and leaves nothing', needs('containers'), async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-broken-ctr-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const addressed = join(folder, 'addressed');
  writeFileSync(join(folder, 'ctr'), `#!/bin/sh\necho "$2" >${addressed}\nexit 1\n`);
  chmodSync(join(folder, 'ctr'), 0o755);
  await assert.rejects(startContainerd(`${folder}:${process.env.PATH}`), /Command failed: ctr/);
  const socket = readFileSync(addressed, 'utf8').trim();
  assert.match(socket, /containerd\.sock$/);
  assert.ok(!existsSync(join(socket, '..')));
  assert.deepEqual(
    process.getActiveResourcesInfo().filter((each) => each === 'ProcessWrap'),
    [],
  );
});
