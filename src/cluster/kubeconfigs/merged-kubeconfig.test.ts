import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { formatKubeconfig, kubeconfigOf, parseKubeconfig } from '../../client/kubeconfig.ts';
import { type DataDirectory, layOut } from '../data/data-directory.ts';
import type { ThisMachine } from '../machine/machine.ts';
import { mergeIntoOwn, takeOutOfOwn } from './merged-kubeconfig.ts';

let folder = '';
let directory: DataDirectory;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coracle-kubeconfig-'));
  directory = layOut(join(folder, 'data'));
  mkdirSync(directory.pki, { recursive: true });
  writeFileSync(join(directory.pki, 'ca.crt'), 'this authority');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const config = (name: string, caPem = 'this authority') =>
  formatKubeconfig(kubeconfigOf({ name, server: 'https://x', caPem, user: { token: 't' }, userName: `${name}-admin` }));
const machine = (environment: Record<string, string> = {}) => ({ home: folder, environment }) as unknown as ThisMachine;
const read = (file: string) => parseKubeconfig(readFileSync(file, 'utf8'));

test('merging makes the user´s file, or keeps what is in it', () => {
  const file = mergeIntoOwn(directory, machine(), config('coracle'));
  assert.equal(file, join(folder, '.kube/config'));
  writeFileSync(file, config('production'));
  mergeIntoOwn(directory, machine(), config('coracle'));
  assert.deepEqual(Object.keys(read(file).contexts), ['production', 'coracle']);
  assert.equal(read(file).currentContext, 'coracle');
});

test('merging takes the first file of KUBECONFIG, and follows a link instead of replacing it', () => {
  const real = join(folder, 'real');
  const link = join(folder, 'link');
  writeFileSync(real, config('production'));
  symlinkSync(real, link);
  assert.equal(mergeIntoOwn(directory, machine({ KUBECONFIG: `${link}:/other` }), config('coracle')), real);
  assert.ok(Object.hasOwn(read(real).contexts, 'coracle'));
});

test('what was merged is taken out of every file again, and nothing else', () => {
  const files = ['one', 'two', 'gone'].map((name) => join(folder, name));
  for (const file of files) {
    writeFileSync(file, config('production'));
    mergeIntoOwn(directory, machine({ KUBECONFIG: file }), config('coracle'));
    mergeIntoOwn(directory, machine({ KUBECONFIG: file }), config('coracle'));
  }
  rmSync(files[2]!);
  assert.deepEqual(takeOutOfOwn(directory), [{ file: files[0] }, { file: files[1] }]);
  for (const file of files.slice(0, 2))
    assert.deepEqual(read(file), { ...parseKubeconfig(config('production')), currentContext: '' });
  assert.ok(!existsSync(files[2]!));
  assert.deepEqual(takeOutOfOwn(directory), []);
});

test('a context of the same name that leads to another cluster by now stays', () => {
  const file = mergeIntoOwn(directory, machine(), config('coracle'));
  const other = config('coracle', 'another authority');
  writeFileSync(file, other);
  assert.deepEqual(takeOutOfOwn(directory), []);
  assert.equal(readFileSync(file, 'utf8'), other);
});

test('a file that was broken since is left as it is, with the reason', () => {
  const file = mergeIntoOwn(directory, machine(), config('coracle'));
  writeFileSync(file, '- a list');
  const [{ problem } = {}] = takeOutOfOwn(directory);
  assert.match(problem ?? '', /is no kubeconfig: a kubeconfig must be a mapping/);
  assert.equal(readFileSync(file, 'utf8'), '- a list');
});
