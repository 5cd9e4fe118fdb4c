/** Which images, containers and sandboxes are collected, and which stay. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Image, Sandbox } from '../runtime/runtime.ts';
import {
  type CollectionInput,
  type ContainerCollectionPolicy,
  collectable,
  type PodPresence,
} from './container-collection.ts';
import { ImageCollection } from './image-collection.ts';

const idsOf = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id);

function container(id: string, extra: Partial<Container> = {}): Container {
  return {
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
  };
}

describe('images', () => {
  const image = (id: string, extra: Partial<Image> = {}): Image => ({
    id,
    repoTags: [`${id}:1`],
    repoDigests: [],
    sizeBytes: 100,
    username: '',
    pinned: false,
    ...extra,
  });
  const collection = (maxAgeMs = 0) =>
    new ImageCollection({ highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 1000, maxAgeMs });

  it('go unused for longest first; those in use, pinned or new stay', () => {
    const seen = collection();
    const images = [image('used'), image('old'), image('recent'), image('pinned', { pinned: true })];
    seen.observe(images, [container('x', { imageId: 'recent' })], 0);
    seen.observe([...images, image('new')], [container('x', { imageId: 'used' })], 5000);
    assert.deepEqual(idsOf(seen.removable([...images, image('new')], 5000)), ['old', 'recent']);
  });

  it('have to free the disk from the high threshold down to the low one', () => {
    const cases = [
      { availableBytes: 160, excess: 0 },
      { availableBytes: 150, excess: 50 },
      { availableBytes: 100, excess: 100 },
      { availableBytes: 2000, excess: 0 },
    ];
    for (const { availableBytes, excess } of cases)
      assert.equal(collection().excessBytes({ capacityBytes: 1000, availableBytes }), excess, `${availableBytes} left`);
  });

  it('go when unused for longer than their maximum age, once the kubelet has watched for as long', () => {
    const seen = collection(10_000);
    const images = [image('never'), image('late'), image('pinned', { pinned: true })];
    seen.observe(images, [container('x', { imageId: 'late' })], 4000);
    seen.observe(images, [], 12_000);
    assert.deepEqual(idsOf(seen.tooOld(images, 12_000, 10_000)), [], 'it may have been used before the kubelet came');
    assert.deepEqual(idsOf(seen.tooOld(images, 12_000, 10_001)), ['never']);
    assert.deepEqual(idsOf(seen.tooOld(images, 14_001, 12_002)), ['never', 'late']);
  });
});

describe('containers', () => {
  const unlimited: ContainerCollectionPolicy = { minAgeMs: 0, maxPerPodContainer: -1, maxContainers: -1 };
  const of = (name: string, createdAtMs: number, extra: Partial<Container> = {}) =>
    container(`${name}${createdAtMs}`, { name, createdAtMs, ...extra });
  const collect = (
    containers: readonly Container[],
    policy: Partial<ContainerCollectionPolicy>,
    presence: PodPresence = 'active',
  ) => {
    const input: CollectionInput = { containers, sandboxes: [], presenceOf: () => presence, nowMs: 100 };
    return idsOf(collectable(input, { ...unlimited, ...policy }).containers);
  };
  const six = [of('a', 1), of('a', 3), of('a', 5), of('b', 2), of('b', 4), of('b', 6)];

  it('stay but for the oldest beyond what each container of a Pod may keep', () => {
    assert.deepEqual(collect(six, { maxPerPodContainer: 1 }), ['a1', 'b2', 'a3', 'b4']);
    assert.deepEqual(collect(six, { maxPerPodContainer: 0 }), ['a1', 'b2', 'a3', 'b4', 'a5', 'b6']);
  });

  it('are fewer for each where the limits conflict, at least one, and then the oldest go', () => {
    assert.deepEqual(collect(six, { maxPerPodContainer: 3, maxContainers: 4 }), ['a1', 'b2']);
    assert.deepEqual(
      collect(six, { maxPerPodContainer: 3, maxContainers: 3 }),
      ['a1', 'b2', 'a3', 'b4'],
      'one each, for two would be too many',
    );
    assert.deepEqual(collect(six, { maxContainers: 1 }), ['a1', 'b2', 'a3', 'b4', 'a5']);
    assert.deepEqual(collect(six, { maxContainers: 6 }), []);
  });

  it('stay while they run, are too young, or are not the kubelet’s', () => {
    assert.deepEqual(collect([of('a', 1, { state: 'running' }), of('a', 2)], { maxPerPodContainer: 0 }), ['a2']);
    assert.deepEqual(collect([of('a', 1), of('a', 60)], { maxPerPodContainer: 0, minAgeMs: 50 }), ['a1']);
    assert.deepEqual(collect([of('a', 1, { labels: {} })], { maxPerPodContainer: 0 }), []);
    assert.deepEqual(collect(six, { maxPerPodContainer: 0 }, 'unknown'), []);
  });

  it('all go under pressure where their Pod has ended', () => {
    assert.deepEqual(collect(six, { maxPerPodContainer: 3, removesEnded: true }, 'ended').length, 6);
    assert.deepEqual(collect(six, { maxPerPodContainer: 3, removesEnded: true }, 'active'), []);
  });

  it('hold their sandbox; an empty dead one goes unless it is its Pod’s newest', () => {
    const sandbox = (id: string, createdAtMs: number, state: Sandbox['state'] = 'notReady', uid = 'pod'): Sandbox => ({
      id,
      state,
      createdAtMs,
      metadata: { name: '', namespace: '', uid, attempt: 0 },
      labels: uid ? { 'io.kubernetes.pod.uid': uid } : {},
      annotations: {},
      runtimeHandler: '',
    });
    const sandboxes = [
      sandbox('held', 1),
      sandbox('empty', 2),
      sandbox('last', 3),
      sandbox('foreign1', 1, 'notReady', ''),
      sandbox('foreign2', 2, 'notReady', ''),
    ];
    const containers = [of('a', 1, { sandboxId: 'held' })];
    const input = { containers, sandboxes, presenceOf: () => 'ended' as const, nowMs: 100 };
    assert.deepEqual(idsOf(collectable(input, unlimited).sandboxes), ['empty']);
    assert.deepEqual(idsOf(collectable(input, { ...unlimited, removesEnded: true }).sandboxes), [
      'last',
      'empty',
      'held',
    ]);
  });
});
