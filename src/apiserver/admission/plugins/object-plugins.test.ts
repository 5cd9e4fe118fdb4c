import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deployments } from '../../../api/gen/apps-v1.ts';
import { type CertificateSigningRequest, certificateSigningRequests } from '../../../api/gen/certificates-v1.ts';
import {
  configMaps,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  services,
} from '../../../api/gen/core-v1.ts';
import { ingressClasses, ingresses } from '../../../api/gen/networking-v1.ts';
import { type StorageClass, storageClasses } from '../../../api/gen/storage-v1.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import { seededRandom } from '../../../base/random.ts';
import { createCertificateRequest } from '../../../pki/certificate-request.ts';
import { keysFrom } from '../../../pki/keys.ts';
import { attributesOf, pluginHarness, refusalOf, run } from '../admission.fixture.ts';
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from './certificates.ts';
import { defaultIngressClass, denyServiceExternalIPs } from './network.ts';
import { ownerReferencesPermissionEnforcement } from './owner-references.ts';
import { defaultStorageClass, persistentVolumeClaimResize, storageObjectInUseProtection } from './storage.ts';

const claim = (rest: Partial<PersistentVolumeClaim> = {}): PersistentVolumeClaim => ({
  metadata: { name: 'd', namespace: 'a' },
  spec: {},
  ...rest,
});
const sized = (storage: string, rest: Partial<PersistentVolumeClaim> = {}, storageClassName = 'fast') =>
  claim({ spec: { storageClassName, resources: { requests: { storage } } }, ...rest });
const storageClass = (name: string, creationTimestamp: string, rest: Partial<StorageClass> = {}): StorageClass => ({
  metadata: { name, creationTimestamp, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: 'p',
  ...rest,
});

describe('DefaultStorageClass', () => {
  const chosen = async (object: PersistentVolumeClaim) => {
    const { api, context } = pluginHarness();
    api.put(
      storageClasses,
      storageClass('old', '2026-01-01T00:00:00Z'),
      storageClass('b-new', '2026-01-02T00:00:00Z'),
      storageClass('a-new', '2026-01-02T00:00:00Z'),
    );
    const attributes = attributesOf({ type: persistentVolumeClaims, object });
    await run(defaultStorageClass(context), attributes);
    return (attributes.object as unknown as PersistentVolumeClaim).spec.storageClassName;
  };
  it('is the newest, then the first by name', async () => assert.equal(await chosen(claim()), 'a-new'));
  it('is not given to who asks for none', async () =>
    assert.equal(await chosen(claim({ spec: { storageClassName: '' } })), ''));
  it('is not given to who names one the old way', async () => {
    const metadata = { name: 'd', namespace: 'a', annotations: { 'volume.beta.kubernetes.io/storage-class': 'x' } };
    assert.equal(await chosen(claim({ metadata })), undefined);
  });
});

describe('StorageObjectInUseProtection', () => {
  for (const [type, finalizer] of [
    [persistentVolumes, 'kubernetes.io/pv-protection'],
    [persistentVolumeClaims, 'kubernetes.io/pvc-protection'],
  ] as const) {
    it(`puts ${finalizer} on ${type.resource}, once`, async () => {
      const attributes = attributesOf<KubeObject>({ type, object: { metadata: { name: 'x' } } });
      await run(storageObjectInUseProtection(), attributes);
      await run(storageObjectInUseProtection(), attributes);
      assert.deepEqual(attributes.object?.metadata.finalizers, [finalizer]);
    });
  }
});

describe('PersistentVolumeClaimResize', () => {
  const bound = { status: { phase: 'Bound' as const } };
  const cases: readonly (readonly [string, PersistentVolumeClaim, PersistentVolumeClaim, string | undefined])[] = [
    ['growth of a bound claim whose class allows it', sized('2Gi'), sized('1Gi', bound), undefined],
    ['no change', sized('1Gi'), sized('1Gi'), undefined],
    ['growth of an unbound claim', sized('2Gi'), sized('1Gi'), 'Only bound persistent volume claims can be expanded'],
    [
      'growth where the class does not allow it',
      sized('2Gi', {}, 'fixed'),
      sized('1Gi', bound, 'fixed'),
      'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
    ],
  ];
  for (const [name, object, oldObject, refused] of cases) {
    it(`${refused ? 'refuses' : 'admits'} ${name}`, async () => {
      const { api, context } = pluginHarness();
      api.put(
        storageClasses,
        storageClass('fast', '2026-01-01T00:00:00Z', { allowVolumeExpansion: true }),
        storageClass('fixed', '2026-01-01T00:00:00Z'),
      );
      const message = await refusalOf(
        persistentVolumeClaimResize(context),
        attributesOf({ type: persistentVolumeClaims, object, oldObject }),
      );
      assert.equal(message, refused && `persistentvolumeclaims "d" is forbidden: ${refused}`);
    });
  }
});

describe('Network plugins', () => {
  it('DefaultIngressClass fills in the default class', async () => {
    const { api, context } = pluginHarness();
    api.put(ingressClasses, {
      metadata: { name: 'nginx', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
      spec: {},
    });
    const attributes = attributesOf<KubeObject>({
      type: ingresses,
      object: { metadata: { name: 'i', namespace: 'a' } },
    });
    await run(defaultIngressClass(context), attributes);
    assert.deepEqual((attributes.object as unknown as { spec: unknown }).spec, { ingressClassName: 'nginx' });
  });

  it('DenyServiceExternalIPs refuses new addresses only', async () => {
    const service = (...externalIPs: string[]) => ({ metadata: { name: 's', namespace: 'a' }, spec: { externalIPs } });
    const ask = (object: ReturnType<typeof service>, oldObject?: ReturnType<typeof service>) =>
      refusalOf(
        denyServiceExternalIPs(),
        attributesOf({ type: services, object, ...(oldObject ? { oldObject } : {}) }),
      );
    assert.equal(await ask(service('192.0.2.1'), service('192.0.2.1', '192.0.2.2')), undefined);
    assert.equal(
      await ask(service('192.0.2.1')),
      'services "s" is forbidden: Use of external IPs is denied by admission control',
    );
  });
});

describe('Certificate plugins', () => {
  const csr = (signerName: string, rest: Partial<CertificateSigningRequest> = {}): CertificateSigningRequest => ({
    metadata: { name: 'csr' },
    spec: { signerName, request: '', usages: ['client auth'] },
    ...rest,
  });
  const approval = { type: certificateSigningRequests, subresource: 'approval' };

  it('approval needs the right for the signer, or for its domain', async () => {
    const { context, allowed } = pluginHarness();
    const ask = () =>
      refusalOf(
        certificateApproval(context),
        attributesOf({ ...approval, object: csr('example.com/a'), oldObject: csr('example.com/a') }),
      );
    assert.equal(
      await ask(),
      'certificatesigningrequests.certificates.k8s.io "csr" is forbidden: user not permitted to approve requests with signerName "example.com/a"',
    );
    allowed.add('approve signers/example.com/*');
    assert.equal(await ask(), undefined);
  });

  it('signing needs the right only where the certificate or conditions change', async () => {
    const { context, allowed } = pluginHarness();
    const ask = (object: CertificateSigningRequest) =>
      refusalOf(
        certificateSigning(context),
        attributesOf({
          type: certificateSigningRequests,
          subresource: 'status',
          object,
          oldObject: csr('example.com/a'),
        }),
      );
    assert.equal(await ask(csr('example.com/a')), undefined);
    const signed = csr('example.com/a', { status: { certificate: 'x' } });
    assert.match((await ask(signed))!, /user not permitted to sign requests with signerName "example.com\/a"$/);
    allowed.add('sign signers/example.com/a');
    assert.equal(await ask(signed), undefined);
  });

  for (const [organization, refused] of [
    ['dev', undefined],
    ['system:masters', 'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed'],
  ] as const) {
    it(`a client certificate of ${organization} is ${refused ? 'refused' : 'admitted'}`, async () => {
      const request = createCertificateRequest(keysFrom(seededRandom(1)).generate(), {
        commonName: 'x',
        organizations: [organization],
      });
      const object = csr('kubernetes.io/kube-apiserver-client');
      const withRequest = { ...object, spec: { ...object.spec, request: Buffer.from(request).toString('base64') } };
      const message = await refusalOf(
        certificateSubjectRestriction(),
        attributesOf({ type: certificateSigningRequests, object: withRequest }),
      );
      assert.equal(message?.replace(/^.*? is forbidden: /, ''), refused);
    });
  }
});

describe('OwnerReferencesPermissionEnforcement', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u' };
  const owned = (...ownerReferences: object[]): KubeObject => ({
    metadata: { name: 'c', namespace: 'a', ownerReferences: ownerReferences as never },
  });
  const ask = (harness: ReturnType<typeof pluginHarness>, object: KubeObject, oldObject?: KubeObject) =>
    refusalOf(
      ownerReferencesPermissionEnforcement(harness.context),
      attributesOf({ type: configMaps, object, ...(oldObject ? { oldObject } : {}) }),
    );

  it('lets a creator name owners', async () => assert.equal(await ask(pluginHarness(), owned(owner)), undefined));

  it('asks who changes owners for the right to delete', async () => {
    const harness = pluginHarness();
    assert.equal(
      await ask(harness, owned(owner), owned()),
      'configmaps "c" is forbidden: cannot set an ownerRef on a resource you can\'t delete: no rule, <nil>',
    );
    harness.allowed.add('delete configmaps/c');
    assert.equal(await ask(harness, owned(owner), owned()), undefined);
  });

  it("asks who blocks an owner's deletion for the right to its finalizers", async () => {
    const harness = pluginHarness();
    const blocking = owned({ ...owner, blockOwnerDeletion: true });
    assert.match(
      (await ask(harness, blocking))!,
      /cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: no rule/,
    );
    harness.allowed.add(`update ${deployments.resource}/web`);
    assert.equal(await ask(harness, blocking), undefined);
  });

  it('refuses to block an owner of an unknown kind', async () => {
    const message = await ask(pluginHarness(), owned({ ...owner, kind: 'Nothing', blockOwnerDeletion: true }));
    assert.match(
      message!,
      /cannot find RESTMapping for APIVersion apps\/v1 Kind Nothing: no matches for kind "Nothing" in version "apps\/v1"$/,
    );
  });
});
