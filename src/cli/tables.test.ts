import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterTable, duration, imageTable } from './tables.ts';

test('a cluster that runs is shown with its processes and nodes', () => {
  const text = clusterTable({
    dataDirectory: '/d',
    kubeconfig: '/d/kubeconfig',
    server: 'https://127.0.0.1:6443',
    processes: [{ name: 'control-plane', pid: 7, uptimeSeconds: 65, memoryBytes: 80_400_000 }, { name: 'node' }],
    nodes: [{ name: 'a', version: 'v1', problem: 'no network' }],
    nodeProblems: { kubelet: 'listen EADDRINUSE' },
    isRunning: true,
  });
  assert.equal(
    text,
    [
      'cluster        running at https://127.0.0.1:6443',
      'control-plane  pid 7, up 1m5s, 80 MB',
      'node           -',
      'kubelet        fails and is started again: listen EADDRINUSE',
      'node/a         not Ready: no network, v1',
      'data           /d',
      'kubeconfig     /d/kubeconfig',
    ].join('\n'),
  );
});

for (const { seconds, text } of [
  { seconds: 59.9, text: '59s' },
  { seconds: 3600, text: '1h0m' },
  { seconds: 90_000, text: '1d1h' },
])
  test(`${seconds} s are ${text}`, () => assert.equal(duration(seconds), text));

test('images are listed by name, one line for each of their names', () => {
  const image = { id: 'sha256:0123456789abcdef', sizeBytes: 1_100_000, repoDigests: ['x@sha256:1'] };
  assert.equal(
    imageTable([
      { ...image, repoTags: ['b:2', 'a:1'] },
      { ...image, repoTags: [] },
    ]),
    [
      'IMAGE       ID             SIZE',
      'a:1         0123456789abc  1.1MB',
      'b:2         0123456789abc  1.1MB',
      'x@sha256:1  0123456789abc  1.1MB',
    ].join('\n'),
  );
});
