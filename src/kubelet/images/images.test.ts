/** Images: credentials, the pause image, and when an image is removed. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Secret } from '../../api/gen/core-v1.ts';
import { KeyedBackoff } from '../keyed-backoff.ts';
import { keyringOf } from './credentials.ts';
import { pauseBinaries } from './gen/pause-binary.ts';
import { qualified, repositoryOf, withDefaultTag, withoutTag } from './image-names.ts';
import { pauseImageArchive } from './pause-image.ts';
import { matchesRegistry, patternProblem } from './registry-pattern.ts';

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
  assert.deepEqual(['a', 'a:1', 'host:5000/a', 'host:5000/a:1@sha256:0'].map(withoutTag), [
    'a',
    'a',
    'host:5000/a',
    'host:5000/a',
  ]);
  assert.equal(repositoryOf('busybox:1'), 'docker.io/library/busybox');
});

it('matches registries by host parts, port and path', () => {
  const cases = [
    ['registry.test', 'registry.test/app', true],
    ['registry.test', 'registry.test:5000/app', false],
    ['registry.test:5000', 'registry.test:5000/app', true],
    ['*.registry.test', 'a.registry.test/app', true],
    ['*.registry.test', 'registry.test/app', false],
    ['*.*.registry.test', 'a.b.registry.test/app', true],
    ['app-?[0-9].registry.*', 'app-x7.registry.test/a', true],
    ['app-[^0-9].registry.test', 'app-7.registry.test/a', false],
    ['[a.registry.test', 'a.registry.test/a', false],
    ['registry.test/team', 'registry.test/other/app', false],
    ['registry.test/team', 'registry.test/team-b/app', true],
    ['registry.test', 'registry.test.evil/app', false],
  ] as const;
  for (const [pattern, image, expected] of cases)
    assert.equal(matchesRegistry(pattern, image), expected, `${pattern} ${image}`);
  assert.equal(patternProblem('*.registry.test:5000/[a-z]'), undefined);
  assert.match(patternProblem('registry.test:port') ?? '', /^parse "https:\/\/registry.test:port": /);
});

it('matches a hostile pattern as quickly as any other', () => {
  const image = `${'a'.repeat(20_000)}/app`;
  assert.equal(matchesRegistry(`${'*a'.repeat(200)}*b`, image), false);
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
      metadata: { uid: 'u2', namespace: 'default', name: 'second' },
      type: 'kubernetes.io/dockercfg',
      data: { '.dockercfg': encode({ 'r.test/team': { username: 'u', password: 'p' } }) },
    },
    { metadata: {}, type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': 'nonsense' } },
  ];
  const lookup = (image: string) => keyringOf(secrets).lookup(image);
  assert.deepEqual(
    lookup('r.test/team/app:1').map(({ credentials: { username, password } }) => [username, password]),
    [
      ['u', 'p'],
      ['a', 'b:c'],
    ],
  );
  assert.deepEqual(lookup('other.test/app'), []);
  const [first] = lookup('r.test/team/app');
  assert.deepEqual(first?.source, { kind: 'secret', uid: 'u2', namespace: 'default', name: 'second' });
});

it('knows the default registry by its old name, and registries by the address of their API', () => {
  const auth = (registry: string) => ({ auths: { [registry]: { username: 'u', password: 'p' } } });
  const finds = (registry: string, image: string) => {
    const data = { '.dockerconfigjson': Buffer.from(JSON.stringify(auth(registry))).toString('base64') };
    return keyringOf([{ metadata: {}, type: 'kubernetes.io/dockerconfigjson', data }]).lookup(image).length === 1;
  };
  assert.ok(finds('https://index.docker.io/v1/', 'busybox'));
  assert.ok(finds('docker.io', 'team/app'));
  assert.ok(finds('https://registry.test/v2/', 'registry.test/app:1'));
  assert.ok(!finds('https://index.docker.io/v1/', 'registry.test/app'));
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
