import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { formatKubeconfig, kubeconfigOf } from '../client/kubeconfig.ts';
import { CommandError } from './command-error.ts';
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
