/** Certificates of Pods: what is asked for, how long an answer is used, and what a refusal does. */
import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { type PodCertificateRequest, podCertificateRequests } from '../../api/gen/certificates-v1beta1.ts';
import { type Node, type Pod, type PodCertificateProjection, serviceAccounts } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { parseCertificateRequest } from '../../pki/certificate-request.ts';
import { encodePem } from '../../pki/pem.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { kubeletHarness } from '../kubelet.fixture.ts';
import { PodCertificates } from './pod-certificates.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const chain = (text: string) => encodePem('CERTIFICATE', Buffer.from(text));
const pod: Pod = {
  metadata: { name: 'web', namespace: 'shop', uid: 'u' },
  spec: { serviceAccountName: 'till', containers: [] },
};

function setUp(wish: Partial<PodCertificateProjection> = {}) {
  const clock = new FakeClock();
  const harness = kubeletHarness(clock);
  const { context } = harness.context();
  const events: string[] = [];
  const woken: string[] = [];
  const node: Node = { metadata: { name: 'n', uid: 'node-uid' }, spec: {} };
  harness.api.put(serviceAccounts, { metadata: { name: 'till', namespace: 'shop', uid: 'account-uid' } });
  const certificates = new PodCertificates({
    ...context,
    enabled: true,
    nodeName: 'n',
    node: () => node,
    event: (_pod, reason, message) => void events.push(`${reason}: ${message}`),
    onChange: (uid) => void woken.push(uid),
  });
  const projection = { signerName: 'signers.test/one', keyType: 'ED25519', ...wish };
  const certificate = () => certificates.certificate(pod, { volume: 'v', index: 0, projection });
  const requests = () => harness.api.all(podCertificateRequests);
  const answer = async (
    { metadata }: PodCertificateRequest,
    status: NonNullable<PodCertificateRequest['status']> | string,
  ) => {
    const verdict = (type: string, message = '') => [
      { type, status: 'True', reason: 'Because', message, lastTransitionTime: formatTime(clock.now()) },
    ];
    const { name, namespace } = metadata;
    harness.api.alter(podCertificateRequests, `${namespace}/${name}`, (object) => {
      const given = typeof status === 'string' ? { conditions: verdict(status, 'so') } : status;
      Object.assign(object, { status: { conditions: verdict('Issued'), ...given } });
    });
    await clock.advance(1);
  };
  const issue = (request: PodCertificateRequest, text: string) =>
    answer(request, {
      certificateChain: `about it\n${chain(text)}`,
      beginRefreshAt: formatTime(clock.now() + hourMs),
      notAfter: formatTime(clock.now() + 2 * hourMs),
    });
  const asked = async () => {
    await assert.rejects(certificate(), { message: 'credential bundle is not issued yet' });
    return requests().at(-1)!;
  };
  return { ...harness, answer, asked, certificate, certificates, clock, events, issue, requests, woken };
}

describe('the certificate of a Pod', () => {
  it('is asked for once with a new key, for the Pod, its account and its node', async () => {
    const { asked, certificate, issue, requests, woken } = setUp({
      maxExpirationSeconds: 7200,
      userAnnotations: { 'signers.test/a': 'b' },
    });
    const request = await asked();
    await asked();
    assert.equal(requests().length, 1);
    const { stubPKCS10Request, ...spec } = request.spec;
    assert.deepEqual(spec, {
      signerName: 'signers.test/one',
      podName: 'web',
      podUID: 'u',
      serviceAccountName: 'till',
      serviceAccountUID: 'account-uid',
      nodeName: 'n',
      nodeUID: 'node-uid',
      maxExpirationSeconds: 7200,
      unverifiedUserAnnotations: { 'signers.test/a': 'b' },
    });
    assert.deepEqual(request.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'u' }]);
    assert.match(request.metadata.name ?? '', /^req-/);
    await issue(request, 'first');
    assert.equal(woken.at(-1), 'u');
    const { key, chain: issued } = await certificate();
    assert.equal(issued, chain('first'));
    const stub = parseCertificateRequest(encodePem('CERTIFICATE REQUEST', Buffer.from(stubPKCS10Request, 'base64')));
    const spki = (of: ReturnType<typeof createPublicKey>) => of.export({ type: 'spki', format: 'pem' });
    assert.equal(spki(createPublicKey(createPrivateKey(key))), spki(stub.publicKey));
    assert.equal(stub.publicKey.asymmetricKeyType, 'ed25519');
  });

  it('is asked for anew when it is time, and used until the answer is there', async () => {
    const { asked, certificate, clock, events, issue, requests } = setUp({ keyType: 'ECDSAP384' });
    await issue(await asked(), 'first');
    const first = await certificate();
    assert.ok(first.renewAtMs - clock.now() >= 59 * minuteMs);
    await clock.advance(first.renewAtMs - clock.now());
    assert.equal((await certificate()).chain, chain('first'));
    assert.equal(requests().length, 2);
    await clock.advance(hourMs + 1);
    assert.equal((await certificate()).key, first.key);
    await certificate();
    assert.deepEqual(events, [
      'CertificateOverdueForRefresh: PodCertificate refresh overdue',
      'CertificateExpired: PodCertificate expired',
    ]);
    await issue(requests().at(-1)!, 'second');
    const second = await certificate();
    assert.equal(second.chain, chain('second'));
    assert.notEqual(second.key, first.key);
  });

  for (const [type, state] of [
    ['Denied', 'denied'],
    ['Failed', 'failed'],
  ] as const)
    it(`is never asked for again when it was ${state}`, async () => {
      const { answer, asked, certificate, certificates, events, requests } = setUp();
      const request = await asked();
      await answer(request, type);
      const message = `PodCertificateRequest was permanently ${state}: reason="Because" message="so"`;
      await assert.rejects(certificate(), { message });
      await assert.rejects(certificate(), { message });
      assert.equal(requests().length, 1);
      const how = type === 'Denied' ? 'was denied' : 'failed';
      const name = `shop/${request.metadata.name}`;
      assert.deepEqual(events, [`${type}: PodCertificateRequest ${name} ${how}, reason="Because", message="so"`]);
      assert.deepEqual(certificates.states(), [{ signerName: 'signers.test/one', state, count: 1 }]);
      certificates.release('u');
      assert.deepEqual(certificates.states(), []);
    });

  it('leaves nothing behind when its Pod is released while it is asked for', async () => {
    const { certificate, certificates, requests } = setUp();
    const pending = [certificate(), certificate()].map((one) =>
      assert.rejects(one, { message: 'credential bundle is not issued yet' }),
    );
    await Promise.resolve();
    certificates.release('u');
    await Promise.all(pending);
    assert.deepEqual(certificates.states(), []);
    assert.ok(requests().length <= 1, 'who waits for a turn asks for nothing more');
  });

  it('is asked for once more when the request was deleted', async () => {
    const { api, asked, clock, requests } = setUp();
    const { name, namespace } = (await asked()).metadata;
    api.erase(podCertificateRequests, `${namespace}/${name}`);
    await asked();
    assert.equal(requests().length, 0);
    await clock.advance(16 * minuteMs);
    await asked().catch(() => undefined);
    await asked();
    assert.equal(requests().length, 1);
  });

  it('is none without the gate', async () => {
    const { context } = kubeletHarness(new FakeClock()).context();
    const none = { nodeName: 'n', enabled: false, node: () => undefined, event() {}, onChange() {} };
    const projection = { signerName: 'a.test/b', keyType: 'ED25519' };
    const certificates = new PodCertificates({ ...context, ...none });
    await assert.rejects(certificates.certificate(pod, { volume: 'v', index: 0, projection }), {
      message: 'unimplemented',
    });
  });
});
