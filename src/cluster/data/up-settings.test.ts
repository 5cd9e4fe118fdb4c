import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { CommandError } from '../command-error.ts';
import { openDataDirectory } from './data-directory.ts';
import { parseListen, readSettings, settle, writeSettings } from './up-settings.ts';

test('without options a cluster listens on loopback and runs containers', () => {
  const settings = settle({}, {}, 'machine');
  assert.deepEqual(settings.listen, { host: '127.0.0.1', port: 6443 });
  assert.equal(settings.runtime, 'containerd');
  assert.equal(settings.nodeName, 'machine');
});

test('what is not said again stays, what is said wins', () => {
  const before = settle({ runtime: 'simulated', listen: '127.0.0.1:7000', nodeName: 'a' }, {}, 'machine');
  assert.deepEqual(settle({}, before, 'renamed'), before);
  assert.deepEqual(settle({ listen: '127.0.0.1:8000' }, before, 'x'), {
    ...before,
    listen: { host: '127.0.0.1', port: 8000 },
  });
});

test('a runtime of one´s own is remembered, until the runtime is to be simulated', () => {
  const before = settle({ containerRuntimeEndpoint: '/run/crio.sock' }, { runtime: 'simulated' }, 'machine');
  assert.equal(before.containerRuntimeEndpoint, 'unix:///run/crio.sock');
  assert.equal(before.runtime, 'containerd');
  assert.equal(settle({}, before, 'machine').containerRuntimeEndpoint, 'unix:///run/crio.sock');
  assert.equal(settle({ runtime: 'simulated' }, before, 'machine').containerRuntimeEndpoint, undefined);
});

test('flags of a component are remembered together, replaced together, and forgotten with an empty one', () => {
  const given = { kubeApiserverFlag: ['profiling=false', 'event-ttl=5m'], kubeSchedulerFlag: ['v=2'] };
  const before = settle(given, {}, 'machine');
  assert.deepEqual(settle({}, before, 'machine').componentFlags, before.componentFlags);
  const replaced = settle({ kubeApiserverFlag: ['event-ttl=1m'] }, before, 'machine');
  assert.deepEqual(replaced.componentFlags, { 'kube-apiserver': ['event-ttl=1m'], 'kube-scheduler': ['v=2'] });
  const forgotten = settle({ kubeApiserverFlag: [''], kubeSchedulerFlag: [''] }, replaced, 'machine');
  assert.equal(forgotten.componentFlags, undefined);
});

for (const { text, host, port } of [
  { text: '0.0.0.0:443', host: '0.0.0.0', port: 443 },
  { text: 'localhost:1', host: '127.0.0.1', port: 1 },
  { text: '[::1]:65535', host: '::1', port: 65_535 },
])
  test(`--listen ${text}`, () => assert.deepEqual(parseListen(text), { host, port }));

for (const text of ['', '6443', ':6443', '127.0.0.1', '127.0.0.1:0', '127.0.0.1:65536', 'example.com:1', '::1:6443'])
  test(`--listen ${JSON.stringify(text)} is refused`, () => assert.throws(() => parseListen(text), CommandError));

for (const { name, options } of [
  { name: 'a runtime that is not a unix socket', options: { containerRuntimeEndpoint: 'tcp://127.0.0.1:1' } },
  { name: 'a name that no Node can have', options: { nodeName: 'UPPER' } },
  {
    name: 'two runtimes at once',
    options: { runtime: 'simulated' as const, containerRuntimeEndpoint: '/run/crio.sock' },
  },
])
  test(`${name} is refused`, () => assert.throws(() => settle(options, {}, 'machine'), CommandError));

test('settings are found again, and a broken file says what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-settings-'));
  const directory = openDataDirectory(folder);
  assert.deepEqual(readSettings(directory), {});
  const settings = settle({ nodeName: 'kept' }, {}, 'machine');
  writeSettings(directory, settings);
  assert.deepEqual(readSettings(directory), settings);
  writeFileSync(join(folder, 'cluster.json'), '{');
  assert.throws(() => readSettings(directory), CommandError);
  rmSync(folder, { recursive: true });
});
