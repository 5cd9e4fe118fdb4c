/** Who may have an image that is on the node, by whom it was pulled for. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import type { StateFolder } from '../host/host.ts';
import type { Image } from '../runtime/runtime.ts';
import type { SourcedCredentials } from './credentials.ts';
import { mustVerify, type PullVerificationPolicy, verificationProblem } from './pull-verification.ts';
import { PulledImages } from './pulled-images.ts';

function memoryState() {
  const files = new Map<string, string>();
  const state: StateFolder = {
    read: async (name) => files.get(name),
    write: async (name, text) => void files.set(name, text),
    names: async (folder) =>
      [...files.keys()].filter((name) => name.startsWith(`${folder}/`)).map((name) => name.slice(folder.length + 1)),
    remove: async (name) => void files.delete(name),
  };
  return { files, state };
}

const image = 'registry.test/app:1';
const imageId = 'sha256:1';

function secret(name: string, hash = `hash-of-${name}`): SourcedCredentials {
  return { credentials: {}, hash, source: { kind: 'secret', uid: `uid-${name}`, namespace: 'default', name } };
}
const account = (name: string): SourcedCredentials => ({
  credentials: {},
  hash: 'token',
  source: { kind: 'serviceAccount', uid: `uid-${name}`, namespace: 'default', name },
});

function pulledImages(policy: PullVerificationPolicy = 'NeverVerifyPreloadedImages', memory = memoryState()) {
  const clock = new FakeClock();
  const verification = { policy, allowlist: [] };
  const pulled = new PulledImages({ state: memory.state, clock, log: silentLog, verification });
  const isFree = async (shown: readonly SourcedCredentials[] = [], name = image) =>
    !(await pulled.mustPull(name, imageId, async () => shown));
  const pull = async (used: SourcedCredentials | undefined, name = image) => {
    await pulled.begin(name);
    await pulled.succeed(name, imageId, used);
  };
  return { ...memory, clock, pulled, isFree, pull };
}

describe('an image on the node', () => {
  it('is free for all where the kubelet did not bring it', async () => {
    assert.ok(await pulledImages().isFree());
    assert.ok(!(await pulledImages('AlwaysVerify').isFree()));
  });

  it('is free for all once somebody had it without credentials', async () => {
    const { isFree, pull } = pulledImages();
    await pull(secret('a'));
    assert.ok(!(await isFree()));
    await pull(undefined);
    assert.ok(await isFree());
  });

  it('is for those who show what it was pulled with, under whatever name', async () => {
    const { isFree, pull } = pulledImages();
    await pull(secret('a'));
    assert.ok(await isFree([secret('other'), secret('a')]));
    assert.ok(!(await isFree([secret('b')])));
    assert.ok(await isFree([secret('copy', 'hash-of-a')]), 'the same credentials in another secret');
    assert.ok(await isFree([secret('copy', 'changed')]), 'that secret is known from then on');
    assert.ok(await isFree([secret('a', 'rotated')]), 'the same secret with new content');
  });

  it('is for a service account by which it was pulled, and no other', async () => {
    const { isFree, pull } = pulledImages();
    await pull(account('robot'));
    assert.ok(await isFree([account('robot')]));
    assert.ok(!(await isFree([account('other')])));
  });

  it('must be shown credentials for under each name it has, but not under each tag', async () => {
    const { isFree, pull } = pulledImages();
    await pull(undefined);
    assert.ok(await isFree([], 'registry.test/app:2'));
    assert.ok(!(await isFree([], 'mirror.test/app:1')));
  });

  it('is not free while a pull is under way, nor after one whose end nobody saw', async () => {
    const { isFree, pulled, ...memory } = pulledImages();
    await pulled.begin(image);
    assert.ok(!(await isFree([secret('a')])));
    const next = pulledImages('NeverVerifyPreloadedImages', memory);
    const present = { id: imageId, repoTags: [image], repoDigests: [] } as unknown as Image;
    await next.pulled.restore(async () => [present]);
    assert.ok(!(await next.isFree([secret('a')])));
    assert.equal([...memory.files.keys()].filter((name) => name.includes('/pulling/')).length, 0);
  });

  it('is as free as before when a pull failed', async () => {
    const { isFree, pulled } = pulledImages();
    await pulled.begin(image);
    await pulled.begin(image);
    await pulled.end(image);
    assert.ok(!(await isFree()), 'another one is under way');
    await pulled.end(image);
    assert.ok(await isFree());
  });

  it('is remembered by the next kubelet, in the files that upstream has', async () => {
    const { files, state, pull } = pulledImages();
    await pull(secret('a'));
    const [[name = '', text = ''] = []] = files;
    assert.match(name, /^image_manager\/pulled\/sha256-[0-9a-f]{64}$/);
    assert.deepEqual(JSON.parse(text), {
      kind: 'ImagePulledRecord',
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      lastUpdatedTime: '2026-01-01T00:00:00Z',
      imageRef: imageId,
      credentialMapping: {
        'registry.test/app': {
          kubernetesSecrets: [{ uid: 'uid-a', namespace: 'default', name: 'a', credentialHash: 'hash-of-a' }],
        },
      },
    });
    const next = pulledImages('NeverVerifyPreloadedImages', { files, state });
    assert.ok(await next.isFree([secret('a')]));
    files.set(name, 'nonsense');
    assert.ok(!(await next.isFree([secret('a')])), 'a damaged record opens nothing');
  });

  it('is forgotten when it is gone, unless it was noted since', async () => {
    const { files, clock, pull, pulled } = pulledImages();
    await pull(secret('a'));
    await pulled.prune([], clock.now());
    assert.equal(files.size, 1);
    await clock.advance(1000);
    await pulled.prune([{ id: imageId } as Image], clock.now());
    assert.equal(files.size, 1);
    await pulled.prune([], clock.now());
    assert.equal(files.size, 0);
  });
});

it('is told which images need no credentials', () => {
  const allowlist = ['registry.test/team/*', 'busybox'];
  const verification = { policy: 'NeverVerifyAllowlistedImages', allowlist } as const;
  const cases = [
    ['registry.test/team/app:1', false],
    ['registry.test/team', true],
    ['busybox:1', false],
    ['busybox-2', true],
  ] as const;
  for (const [name, verified] of cases) assert.equal(mustVerify(verification, name, true), verified, name);
  assert.equal(mustVerify({ policy: 'NeverVerify', allowlist: [] }, image, true), false);
});

it('says in upstream’s words what cannot be', () => {
  const problem = (policy: string, ...allowlist: string[]) => verificationProblem({ policy, allowlist });
  const listed = 'invalid configuration: invalid image pattern in `preloadedImagesVerificationAllowlist`: ';
  const policy = 'NeverVerifyAllowlistedImages';
  assert.equal(
    problem('Maybe'),
    'invalid configuration: option "Maybe" specified for imagePullCredentialsVerificationPolicy. Valid options are "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages" or "AlwaysVerify"',
  );
  assert.match(problem('AlwaysVerify', 'busybox') ?? '', /can't set `preloadedImagesVerificationAllowlist`/);
  assert.equal(problem(policy, 'a/*', 'registry.test/b'), undefined);
  assert.equal(problem(policy, ' a'), `${listed}leading/trailing spaces are not allowed:  a`);
  assert.equal(
    problem(policy, 'a*'),
    `${listed}not a valid wildcard pattern, only patterns ending with '/*' are allowed: a*`,
  );
  assert.equal(problem(policy, '/*'), `${listed}at least registry hostname is required`);
  assert.equal(problem(policy, 'a:1'), `${listed}neither tag nor digest is accepted in an image reference: a:1`);
});
