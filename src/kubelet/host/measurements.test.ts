/** What folders take on the disk, and how long processes wait. */
import assert from 'node:assert/strict';
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { diskUse } from './disk-use.ts';
import { podDiskUse } from './pod-disk-use.ts';
import { parseStalls } from './pressure-stalls.ts';
import { stateFiles } from './state-files.ts';

describe('the disk', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-disk-'));
  after(() => rmSync(folder, { recursive: true }));
  const block = 'x'.repeat(8192);

  it('is used once by a file with two names, and not by what a link leads to', async () => {
    const root = join(folder, 'linked');
    mkdirSync(join(root, 'below'), { recursive: true });
    const before = await diskUse(root);
    writeFileSync(join(root, 'below', 'file'), block);
    linkSync(join(root, 'below', 'file'), join(root, 'again'));
    symlinkSync('/usr', join(root, 'away'));
    const { bytes, inodes } = await diskUse(root);
    assert.equal(inodes - before.inodes, 2);
    assert.ok(bytes - before.bytes >= 8192 && bytes - before.bytes < 16_384, `${bytes - before.bytes}`);
    assert.deepEqual(await diskUse(join(folder, 'nothing')), { bytes: 0, inodes: 0 });
  });

  it('is told by container and volume of a Pod', async () => {
    const logs = join(folder, 'logs');
    const volumes = join(folder, 'volumes');
    for (const path of [join(logs, 'main'), join(volumes, 'kubernetes.io~empty-dir', 'scratch')]) {
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, 'file'), block);
    }
    const use = await podDiskUse({ logs, volumes });
    assert.deepEqual([[...use.logs.keys()], [...use.volumes.keys()]], [['main'], ['scratch']]);
    assert.ok(use.volumes.get('scratch')!.bytes >= 8192);
  });

  it('keeps small states whole', async () => {
    const state = stateFiles(join(folder, 'state'));
    assert.equal(await state.read('times'), undefined);
    await state.write('times', '1');
    await state.write('times', '2');
    assert.equal(await state.read('times'), '2');
  });
});

it('stalls are read as the kernel tells them, of processors by older kernels in part', () => {
  const some = 'some avg10=1.50 avg60=0.10 avg300=0.00 total=12345\n';
  const none = { avg10: 0, avg60: 0, avg300: 0, total: 0 };
  assert.deepEqual(parseStalls(some), { some: { avg10: 1.5, avg60: 0.1, avg300: 0, total: 12_345 }, full: none });
  assert.equal(parseStalls(`${some}full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n`)?.full.total, 7);
  assert.equal(parseStalls(''), undefined);
});
