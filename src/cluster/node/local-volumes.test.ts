import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { layOut } from '../data/data-directory.ts';
import { volumesOf } from './local-volumes.ts';

test('nodes of this machine have volumes each; no other name leads anywhere', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'coracle-volumes-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const first = { nodeName: 'a', directory: layOut(root) };
  assert.equal(volumesOf('a-2', first), undefined);
  mkdirSync(join(root, 'nodes', 'a-2'), { recursive: true });
  assert.equal(volumesOf('a', first), join(root, 'volumes'));
  assert.equal(volumesOf('a-2', first), join(root, 'nodes', 'a-2', 'volumes'));
  for (const other of ['', '.', '..', '../..', 'a-2/..', '../nodes/a-2', 'a-3'])
    assert.equal(volumesOf(other, first), undefined, other);
});
