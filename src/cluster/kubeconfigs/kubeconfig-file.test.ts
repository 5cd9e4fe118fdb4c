import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { formatKubeconfig, kubeconfigOf } from '../../client/kubeconfig.ts';
import { needs } from '../../testing/needs.ts';
import { CommandError } from '../command-error.ts';
import { checkKubeconfig, writeKubeconfig } from './kubeconfig-file.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coracle-kubeconfig-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const config = (name: string) => formatKubeconfig(kubeconfigOf({ name, server: 'https://x', user: { token: 't' } }));

test('a file is made with its folders, for its owner alone, and may be written again', () => {
  const file = join(folder, 'deep', 'config');
  for (const text of [config('coracle'), config('coracle')]) {
    checkKubeconfig(file);
    assert.equal(writeKubeconfig(file, text), file);
  }
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('another cluster´s file is not overwritten, nor what is no kubeconfig', () => {
  const file = join(folder, 'config');
  writeFileSync(file, config('production'));
  assert.throws(() => checkKubeconfig(file), /holds another cluster's context \(production\)/);
  writeFileSync(file, '- a\n- list\n');
  assert.throws(() => checkKubeconfig(file), CommandError);
});

test('a place where no file can be is refused', () => {
  for (const path of ['/proc/nope/config', '/dev/null/config'])
    assert.throws(() => checkKubeconfig(path), /cannot be written/);
});

for (const { name, text } of [
  { name: 'to a file', text: 'precious' },
  { name: 'to nothing', text: undefined },
])
  test(`a link ${name} that somebody put where the file is made is not followed`, () => {
    const file = join(folder, 'config');
    const target = join(folder, 'target');
    if (text !== undefined) writeFileSync(target, text, { mode: 0o644 });
    symlinkSync(target, `${file}.new`);
    writeKubeconfig(file, config('coracle'));
    assert.equal(existsSync(target) ? readFileSync(target, 'utf8') : undefined, text);
    assert.equal(lstatSync(file).isFile(), true);
    assert.equal(readFileSync(file, 'utf8'), config('coracle'));
  });

/** Neither root nor anybody who is known to the machine. */
const user = 54_321;
const ownerOf = (file: string) => [lstatSync(file).uid, lstatSync(file).gid];

test('a user´s file in the user´s own folder stays the user´s when root writes it', needs('root'), () => {
  const file = join(folder, 'config');
  writeFileSync(file, '');
  for (const path of [folder, file]) chownSync(path, user, user);
  writeKubeconfig(file, config('coracle'));
  assert.deepEqual(ownerOf(file), [user, user]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('root gives its key to nobody who put a file where everybody may', needs('root'), () => {
  chmodSync(folder, 0o1777);
  const file = join(folder, 'config');
  writeFileSync(file, '');
  chownSync(file, user, user);
  checkKubeconfig(file);
  writeKubeconfig(file, config('coracle'));
  assert.deepEqual(ownerOf(file), [0, 0]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('root gives its key to nobody to whose file a link leads', needs('root'), () => {
  const file = join(folder, 'config');
  const theirs = join(folder, 'theirs');
  writeFileSync(theirs, '');
  chownSync(theirs, user, user);
  symlinkSync(theirs, file);
  writeKubeconfig(file, config('coracle'));
  assert.deepEqual(ownerOf(file), [0, 0]);
  assert.equal(readFileSync(theirs, 'utf8'), '');
});
