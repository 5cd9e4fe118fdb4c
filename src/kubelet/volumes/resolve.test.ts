/** What volumes of a Pod become on the node, and in which words those are refused that cannot be had. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import {
  type PersistentVolumeSpec,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  type Volume,
} from '../../api/gen/core-v1.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { kubeletHarness } from '../kubelet.fixture.ts';
import { PodCertificates } from './pod-certificates.ts';
import { ReferencedObjects } from './referenced-objects.ts';
import { resolveVolume } from './resolve.ts';
import { ServiceAccountTokens } from './service-account-tokens.ts';
import { TrustBundles } from './trust-bundles.ts';
import type { VolumeSources } from './volume-sources.ts';

const situation = { podIps: [], hostIps: [], nodeName: 'n', allocatable: { memory: '8Gi' } };

let harness: ReturnType<typeof kubeletHarness>;
let sources: VolumeSources;

beforeEach(() => {
  harness = kubeletHarness(new FakeClock());
  const { context: parts } = harness.context();
  sources = {
    client: harness.client,
    objects: new ReferencedObjects({ ...parts, watch: false, onChange() {} }),
    tokens: new ServiceAccountTokens(parts),
    trust: new TrustBundles({ ...parts, enabled: true, onChange() {} }),
    certificates: new PodCertificates({
      ...parts,
      enabled: true,
      nodeName: 'n',
      node: () => undefined,
      event() {},
      onChange() {},
    }),
  };
});

function testPod(spec: Partial<Pod['spec']> = {}): Pod {
  return { metadata: { name: 'web', namespace: 'shop', uid: 'u' }, spec: { containers: [], ...spec } };
}

const resolve = async (volume: Volume, pod = testPod()) =>
  (await resolveVolume(pod, volume, situation, sources)).payload;

describe('an emptyDir', () => {
  const inMemory = (sizeLimit?: string) => ({
    name: 'v',
    emptyDir: { medium: 'Memory', ...(sizeLimit ? { sizeLimit } : {}) },
  });
  const limited = (memory: string) => testPod({ containers: [{ name: 'a', resources: { limits: { memory } } }] });
  const gibibyte = 1024 ** 3;

  it('in memory is as large as it asks for, and never larger than what its Pod or the node may have', async () => {
    const sizes = [];
    for (const [volume, pod] of [
      [inMemory(), testPod()],
      [inMemory('1Gi'), testPod()],
      [inMemory(), limited('2Gi')],
      [inMemory('1Gi'), limited('2Gi')],
      [inMemory('16Gi'), testPod()],
    ] as const) {
      const payload = await resolve(volume, pod);
      sizes.push(payload.kind === 'emptyDir' && payload.medium === 'memory' && payload.sizeLimitBytes);
    }
    assert.deepEqual(
      sizes,
      [8, 1, 2, 1, 8].map((n) => n * gibibyte),
    );
  });

  it('of huge pages has the pages that it names, or those that the containers ask for', async () => {
    const pod = testPod({ containers: [{ name: 'a', resources: { limits: { 'hugepages-2Mi': '4Mi' } } }] });
    const pages = async (medium: string) => {
      const payload = await resolve({ name: 'v', emptyDir: { medium } }, pod);
      return payload.kind === 'emptyDir' && payload.pageBytes;
    };
    assert.deepEqual([await pages('HugePages'), await pages('HugePages-1Gi')], [2 * 1024 ** 2, gibibyte]);
    await assert.rejects(resolve({ name: 'v', emptyDir: { medium: 'HugePages' } }), {
      message:
        'MountVolume.SetUp failed for volume "v" : medium HugePages: hugePages storage requested, but there is no resource request for huge pages',
    });
  });
});

describe('a claim', () => {
  const bound = async (name: string, spec: PersistentVolumeSpec, owner?: string) => {
    const owners = owner ? [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid: owner, controller: true }] : [];
    harness.api.put(persistentVolumeClaims, {
      metadata: { namespace: 'shop', name, ownerReferences: owners },
      spec: { volumeName: `pv-${name}` },
      status: { phase: 'Bound' },
    });
    const claim = await harness.client.get(persistentVolumeClaims, { namespace: 'shop', name });
    await harness.client.create(persistentVolumes, {
      metadata: { name: `pv-${name}` },
      spec: { claimRef: { namespace: 'shop', name, uid: claim.metadata.uid }, ...spec },
    });
  };
  const claimed = (claimName: string): Volume => ({ name: 'v', persistentVolumeClaim: { claimName } });
  const refusal = (message: string) => ({
    message: `Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: ${message}`,
  });

  it('leads to a folder of the node, which its group owns, or to a disk', async () => {
    await bound('folder', { local: { path: '/mnt/a' } });
    await bound('disk', { local: { path: '/dev/sdb' }, volumeMode: 'Block' });
    const pod = testPod({ securityContext: { fsGroup: 7 } });
    assert.deepEqual(await resolve(claimed('folder'), pod), {
      name: 'v',
      kind: 'local',
      path: '/mnt/a',
      fsGroup: 7,
      fsGroupOnRootMismatch: false,
    });
    assert.deepEqual(await resolve(claimed('disk')), { name: 'v', kind: 'block', path: '/dev/sdb', volume: 'pv-disk' });
  });

  it('of an ephemeral volume must have been made for the Pod', async () => {
    await bound('web-v', { hostPath: { path: '/mnt/b' } }, 'u');
    const volume: Volume = { name: 'v', ephemeral: { volumeClaimTemplate: { spec: {} } } };
    assert.equal((await resolve(volume)).kind, 'hostPath');
    const other = { ...testPod(), metadata: { name: 'web', namespace: 'shop', uid: 'another' } };
    await assert.rejects(
      resolve(volume, other),
      refusal('PVC shop/web-v was not created for pod shop/web (pod is not owner)'),
    );
  });

  it('must be bound, both ways', async () => {
    harness.api.put(persistentVolumeClaims, {
      metadata: { namespace: 'shop', name: 'new' },
      spec: {},
      status: { phase: 'Pending' },
    });
    await assert.rejects(resolve(claimed('new')), refusal('error processing PVC shop/new: PVC is not bound'));
    await bound('taken', { local: { path: '/mnt/a' }, claimRef: { uid: 'else' } });
    await assert.rejects(resolve(claimed('taken')), /its pv.Spec.ClaimRef.UID else does not point to claim.UID/);
  });

  it('on a disk is not mounted as a folder', async () => {
    await bound('disk', { local: { path: '/dev/sdb' }, volumeMode: 'Block' });
    const pod = testPod({ containers: [{ name: 'a', volumeMounts: [{ name: 'v', mountPath: '/v' }] }] });
    await assert.rejects(
      resolve(claimed('disk'), pod),
      refusal('volume v has volumeMode Block, but is specified in volumeMounts'),
    );
  });
});
