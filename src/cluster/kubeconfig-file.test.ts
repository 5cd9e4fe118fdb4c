import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { formatKubeconfig, kubeconfigOf, parseKubeconfig } from '../client/kubeconfig.ts';
import { CommandError } from './command-error.ts';
import { checkKubeconfig, mergeIntoOwn, writeKubeconfig } from './kubeconfig-file.ts';
import type { ThisMachine } from './machine.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coracle-kubeconfig-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const config = (name: string) => formatKubeconfig(kubeconfigOf({ name, server: 'https://x', user: { token: 't' } }));
const machine = (environment: Record<string, string> = {}) => ({ home: folder, environment }) as unknown as ThisMachine;

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

test('merging makes the user´s file, or keeps what is in it', () => {
  const file = mergeIntoOwn(machine(), config('coracle'));
  assert.equal(file, join(folder, '.kube/config'));
  writeFileSync(file, config('production'));
  mergeIntoOwn(machine(), config('coracle'));
  const merged = parseKubeconfig(readFileSync(file, 'utf8'));
  assert.deepEqual(Object.keys(merged.contexts), ['production', 'coracle']);
  assert.equal(merged.currentContext, 'coracle');
});

test('merging takes the first file of KUBECONFIG, and follows a link instead of replacing it', () => {
  const real = join(folder, 'real');
  const link = join(folder, 'link');
  writeFileSync(real, config('production'));
  symlinkSync(real, link);
  assert.equal(mergeIntoOwn(machine({ KUBECONFIG: `${link}:/other` }), config('coracle')), real);
  assert.ok(Object.hasOwn(parseKubeconfig(readFileSync(real, 'utf8')).contexts, 'coracle'));
});
