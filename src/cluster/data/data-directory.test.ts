import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { CommandError } from '../command-error.ts';
import { defaultDataDirectory, layOut, openDataDirectory } from './data-directory.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coracle-data-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('root keeps data in /var/lib, an ordinary user below the home folder or XDG_DATA_HOME', () => {
  assert.equal(defaultDataDirectory({ isRoot: true, home: '/root', xdgDataHome: undefined }), '/var/lib/coracle');
  assert.equal(
    defaultDataDirectory({ isRoot: false, home: '/home/a', xdgDataHome: undefined }),
    '/home/a/.local/share/coracle',
  );
  assert.equal(defaultDataDirectory({ isRoot: false, home: '/home/a', xdgDataHome: '/x' }), '/x/coracle');
});

test('a new folder is made ready, and opened again as the same', () => {
  const first = openDataDirectory(join(folder, 'new'));
  assert.deepEqual(openDataDirectory(join(folder, 'new')), first);
});

test('the state folder is short enough for a unix socket however long the data directory is', () => {
  assert.ok(`${layOut(`/${'x'.repeat(300)}`).state}/containerd/containerd.sock.ttrpc`.length < 108);
});

for (const { name, prepare, problem } of [
  {
    name: 'a newer format',
    prepare: () => writeFileSync(join(folder, 'format'), '99\n'),
    problem: /has format 99; this Coracle knows formats up to 1/,
  },
  {
    name: 'a broken format file',
    prepare: () => writeFileSync(join(folder, 'format'), 'x'),
    problem: /is no format of Coracle/,
  },
  {
    name: "somebody else's files",
    prepare: () => writeFileSync(join(folder, 'thesis.tex'), ''),
    problem: /not made by Coracle/,
  },
]) {
  test(`${name} is refused with advice`, () => {
    prepare();
    assert.throws(
      () => openDataDirectory(folder),
      (error) => error instanceof CommandError && problem.test(error.message) && error.advice.includes('--data-dir'),
    );
  });
}

test('a path that is a file, below a file or in /proc is refused', () => {
  writeFileSync(join(folder, 'file'), '');
  for (const path of [join(folder, 'file'), join(folder, 'file', 'below'), '/proc/nope/below'])
    assert.throws(() => openDataDirectory(path), CommandError, path);
});

test('a path where the system lets nobody make folders is refused, not tried for ever', () => {
  assert.throws(() => openDataDirectory('/proc/coracle/data'), CommandError);
});
