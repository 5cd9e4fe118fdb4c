/** Images: credentials, the pause image, and when an image is removed. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Secret } from '../../api/gen/core-v1.ts';
import { KeyedBackoff } from '../keyed-backoff.ts';
import { credentialsFor, matchesRegistry, qualified, withDefaultTag } from './credentials.ts';
import { pauseBinaries } from './gen/pause-binary.ts';
import { pauseImageArchive } from './pause-image.ts';

it('names images in full', () => {
  assert.deepEqual(['busybox', 'team/app', 'host:5000/app', 'localhost/app', 'a.b/c'].map(qualified), [
    'docker.io/library/busybox',
    'docker.io/team/app',
    'host:5000/app',
    'localhost/app',
    'a.b/c',
  ]);
  assert.deepEqual(['a', 'a:1', 'host:5000/a', 'a@sha256:0'].map(withDefaultTag), [
    'a:latest',
    'a:1',
    'host:5000/a:latest',
    'a@sha256:0',
  ]);
});

it('matches registries by host parts and path', () => {
  const cases = [
    ['registry.test', 'registry.test/app:1', true],
    ['https://registry.test/v2/', 'registry.test/app:1', true],
    ['*.registry.test', 'a.registry.test/app', true],
    ['*.registry.test', 'registry.test/app', false],
    ['registry.test/team', 'registry.test/other/app', false],
    ['https://index.docker.io/v1/', 'busybox', true],
    ['registry.test', 'registry.test.evil/app', false],
  ] as const;
  for (const [registry, image, expected] of cases)
    assert.equal(matchesRegistry(registry, image), expected, `${registry} ${image}`);
});

it('takes credentials from both kinds of secret, the most specific first', () => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');
  const secrets: Secret[] = [
    {
      metadata: {},
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': encode({ auths: { 'r.test': { auth: Buffer.from('a:b:c').toString('base64') } } }) },
    },
    {
      metadata: {},
      type: 'kubernetes.io/dockercfg',
      data: { '.dockercfg': encode({ 'r.test/team': { username: 'u', password: 'p' } }) },
    },
    { metadata: {}, type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': 'nonsense' } },
  ];
  assert.deepEqual(
    credentialsFor('r.test/team/app', secrets).map(({ username, password }) => [username, password]),
    [
      ['u', 'p'],
      ['a', 'b:c'],
    ],
  );
  assert.deepEqual(credentialsFor('other.test/app', secrets), []);
});

it('carries a pause image of both architectures in a few kilobytes', () => {
  const archive = pauseImageArchive();
  assert.ok(archive.length < 16 * 1024, `${archive.length} bytes`);
  assert.deepEqual(archive, pauseImageArchive(), 'the same each time');
  for (const binary of Object.values(pauseBinaries))
    assert.equal(Buffer.from(binary, 'base64').subarray(0, 4).toString('latin1'), '\x7fELF');
});

it('doubles a back-off, and forgets it after a while of quiet', () => {
  const backoff = new KeyedBackoff(10, 80);
  assert.equal(backoff.remaining('k', 0, 0), 0);
  const delays = [];
  for (let at = 0; at < 5; at++) {
    backoff.next('k', at);
    delays.push(backoff.delay('k'));
  }
  assert.deepEqual(delays, [10, 20, 40, 80, 80]);
  assert.equal(backoff.remaining('k', 4, 24), 60);
  assert.equal(backoff.remaining('k', 200, 200), 0, 'quiet for longer than twice the longest');
});
