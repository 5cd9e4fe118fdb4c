/** Images: credentials, the pause image, and when an image is removed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Secret } from '../../api/gen/core-v1.ts';
import { collectable } from '../collection/container-collection.ts';
import { ImageCollection } from '../collection/image-collection.ts';
import { KeyedBackoff } from '../keyed-backoff.ts';
import type { Container, Image, Sandbox } from '../runtime/runtime.ts';
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

describe('what is collected', () => {
  const image = (id: string, extra: Partial<Image> = {}): Image => ({
    id,
    repoTags: [`${id}:1`],
    repoDigests: [],
    sizeBytes: 100,
    username: '',
    pinned: false,
    ...extra,
  });
  const container = (id: string, extra: Partial<Container> = {}): Container => ({
    id,
    sandboxId: 's',
    name: 'c',
    attempt: 0,
    image: '',
    imageRef: '',
    imageId: '',
    state: 'exited',
    createdAtMs: 0,
    labels: { 'io.kubernetes.pod.uid': 'pod' },
    annotations: {},
    ...extra,
  });

  it('are images unused for longest, above the high threshold, down to the low one', () => {
    const collection = new ImageCollection({ highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 1000 });
    const images = [image('used'), image('old'), image('recent'), image('pinned', { pinned: true })];
    collection.observe(images, [container('x', { imageId: 'recent' })], 0);
    collection.observe([...images, image('new')], [container('x', { imageId: 'used' })], 5000);
    const full = { capacityBytes: 1000, availableBytes: 100 };
    const plan = collection.candidates([...images, image('new')], full, 5000);
    assert.deepEqual(
      plan.images.map(({ id }) => id),
      ['old', 'recent'],
    );
    assert.equal(plan.bytes, 100);
    assert.deepEqual(collection.candidates(images, { capacityBytes: 1000, availableBytes: 200 }, 5000).images, []);
  });

  it('are dead containers but the newest of each name, and sandboxes that nothing needs', () => {
    const containers = [
      container('a1', { createdAtMs: 1 }),
      container('a2', { createdAtMs: 2 }),
      container('a3', { createdAtMs: 3, state: 'running', sandboxId: 's3' }),
      container('foreign', { labels: {} }),
    ];
    const sandbox = (id: string, createdAtMs: number, state: Sandbox['state']): Sandbox => ({
      id,
      state,
      createdAtMs,
      metadata: { name: '', namespace: '', uid: 'pod', attempt: 0 },
      labels: { 'io.kubernetes.pod.uid': 'pod' },
      annotations: {},
      runtimeHandler: '',
    });
    const input = {
      containers,
      sandboxes: [sandbox('s3', 3, 'ready'), sandbox('s', 2, 'notReady'), sandbox('s0', 1, 'notReady')],
      hasPod: () => true,
      nowMs: 100,
    };
    const gone = collectable(input, { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 });
    assert.deepEqual(
      gone.containers.map(({ id }) => id),
      ['a1'],
    );
    assert.deepEqual(
      gone.sandboxes.map(({ id }) => id),
      ['s0'],
    );
    assert.deepEqual(collectable(input, { minAgeMs: 1000, maxPerPodContainer: 1, maxContainers: -1 }).containers, []);
    assert.deepEqual(
      collectable(input, { minAgeMs: 0, maxPerPodContainer: -1, maxContainers: 0 })
        .containers.map(({ id }) => id)
        .sort(),
      ['a1', 'a2'],
    );
  });
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
