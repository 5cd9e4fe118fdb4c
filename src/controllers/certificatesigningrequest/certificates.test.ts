import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CertificateSigningRequest, certificateSigningRequests } from '../../api/gen/certificates-v1.ts';
import { nodes } from '../../api/gen/core-v1.ts';
import { seededRandom } from '../../base/random.ts';
import { createCertificateAuthority } from '../../pki/authority.ts';
import { parseCertificates } from '../../pki/certificate.ts';
import { createCertificateRequest, type RequestOptions } from '../../pki/certificate-request.ts';
import { systemKeys } from '../../pki/keys.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runCertificateApprovingController } from './approving-controller.ts';
import { runCertificateCleanerController } from './cleaner-controller.ts';
import { signerNames } from './requests.ts';
import { runCertificateSigningController } from './signing-controller.ts';

const node = { commonName: 'system:node:n1', organizations: ['system:nodes'] };

function csr(
  name: string,
  request: RequestOptions,
  spec: Partial<CertificateSigningRequest['spec']> = {},
): CertificateSigningRequest {
  const pem = createCertificateRequest(systemKeys.generate(), request);
  return {
    metadata: { name },
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: signerNames.kubeletClient,
      usages: ['digital signature', 'client auth'],
      username: 'system:bootstrap:abcdef',
      groups: ['system:bootstrappers'],
      ...spec,
    },
  };
}

const serving = {
  signerName: signerNames.kubeletServing,
  usages: ['digital signature', 'server auth'] as const,
  username: 'system:node:n1',
};

/** `rights` are the subresources that the asking user may create. */
async function start(rights: readonly string[] = []): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  const sources = { clock: cluster.clock, random: seededRandom(3), keys: systemKeys };
  const authority = createCertificateAuthority({ commonName: 'kubernetes' }, sources);
  const { send } = cluster.api;
  cluster.api.send = async (request) => {
    if (!request.path.endsWith('/subjectaccessreviews')) return await send.call(cluster.api, request);
    const { spec } = request.body as { spec: { resourceAttributes: { subresource: string } } };
    return { metadata: {}, spec, status: { allowed: rights.includes(spec.resourceAttributes.subresource) } };
  };
  cluster.run(runCertificateApprovingController);
  cluster.run((context) =>
    runCertificateSigningController(context, { authorities: { kubeletClient: authority, kubeletServing: authority } }),
  );
  cluster.run(runCertificateCleanerController);
  return cluster;
}

const find = (cluster: MemoryCluster, name: string) => cluster.api.find(certificateSigningRequests, name);
const conditions = (cluster: MemoryCluster, name: string) =>
  find(cluster, name)?.status?.conditions?.map(({ type, reason, message }) => `${type} ${reason}: ${message}`) ?? [];

test('a joining kubelet that may ask for node certificates gets one, for its name and no longer than a year', async () => {
  await using cluster = await start(['nodeclient']);
  await cluster.client.create(certificateSigningRequests, csr('join', node));
  await cluster.settle();
  assert.deepEqual(conditions(cluster, 'join'), [
    'Approved AutoApproved: Auto approving kubelet client certificate after SubjectAccessReview.',
  ]);
  const pem = Buffer.from(find(cluster, 'join')?.status?.certificate ?? '', 'base64').toString();
  const [certificate] = parseCertificates(pem);
  assert.equal(certificate?.subject.commonName, 'system:node:n1');
  assert.ok(certificate && certificate.notAfterMs - cluster.clock.now() <= 365 * 86_400_000);
  assert.deepEqual(cluster.complaints, []);
});

test('one who may not ask waits for people', async () => {
  await using cluster = await start(['selfnodeclient']);
  await cluster.client.create(certificateSigningRequests, csr('join', node));
  await cluster.client.create(certificateSigningRequests, csr('renew', node, { username: 'system:node:n1' }));
  await cluster.settle();
  assert.deepEqual(conditions(cluster, 'join'), []);
  assert.equal(conditions(cluster, 'renew').length, 1);
});

test('what is no kubelet request is left alone', async () => {
  await using cluster = await start(['nodeclient', 'selfnodeclient']);
  const odd: readonly (readonly [string, CertificateSigningRequest])[] = [
    ['group', csr('group', { ...node, organizations: ['system:masters'] })],
    ['name', csr('name', { ...node, commonName: 'admin' })],
    ['usage', csr('usage', node, { usages: ['digital signature', 'server auth'] })],
    ['names', csr('names', { ...node, dnsNames: ['n1'] })],
    ['garbage', { metadata: { name: 'garbage' }, spec: { ...csr('x', node).spec, request: 'AAAA' } }],
  ];
  for (const [, request] of odd) await cluster.client.create(certificateSigningRequests, request);
  await cluster.settle();
  for (const [name] of odd) assert.deepEqual(conditions(cluster, name), [], name);
});

test('a serving request is approved once every address is the Node’s own', async () => {
  await using cluster = await start();
  const names = { ...node, dnsNames: ['n1'], ipAddresses: ['10.0.0.7'] };
  await cluster.client.create(
    certificateSigningRequests,
    csr('serve', names, { ...serving, usages: [...serving.usages] }),
  );
  await cluster.client.create(nodes, { metadata: { name: 'n1' }, spec: {} });
  await cluster.settle();
  assert.deepEqual(conditions(cluster, 'serve'), []);
  cluster.api.alter(nodes, 'n1', (live) => {
    live.status = { addresses: [{ type: 'InternalIP', address: '10.0.0.7' }] };
  });
  await cluster.settle();
  assert.equal(conditions(cluster, 'serve').length, 1);
  assert.ok(find(cluster, 'serve')?.status?.certificate);
});

test('a serving request for another’s address, or by another, is not approved', async () => {
  await using cluster = await start();
  await cluster.client.create(nodes, { metadata: { name: 'n1' }, spec: {} });
  cluster.api.alter(nodes, 'n1', (live) => {
    live.status = { addresses: [{ type: 'InternalIP', address: '10.0.0.7' }] };
  });
  const ask = (name: string, request: RequestOptions, username: string) =>
    cluster.client.create(
      certificateSigningRequests,
      csr(name, request, { ...serving, usages: [...serving.usages], username }),
    );
  await ask('address', { ...node, ipAddresses: ['10.0.0.8'] }, 'system:node:n1');
  await ask('dns', { ...node, dnsNames: ['kubernetes.default'] }, 'system:node:n1');
  await ask('user', { ...node, ipAddresses: ['10.0.0.7'] }, 'system:node:n2');
  await cluster.settle();
  for (const name of ['address', 'dns', 'user']) assert.deepEqual(conditions(cluster, name), [], name);
});

test('what the signer’s rules forbid fails although somebody approved it', async () => {
  await using cluster = await start();
  await cluster.client.create(certificateSigningRequests, csr('bad', { ...node, organizations: ['system:masters'] }));
  cluster.api.alter(certificateSigningRequests, 'bad', (request) => {
    request.status = { conditions: [{ type: 'Approved', status: 'True' }] };
  });
  await cluster.settle();
  assert.equal(find(cluster, 'bad')?.status?.certificate, undefined);
  assert.equal(
    conditions(cluster, 'bad')[1],
    'Failed SignerValidationFailure: subject organization is not system:nodes',
  );
});

test('approved requests go after an hour, undecided ones after a day', async () => {
  await using cluster = await start(['nodeclient']);
  await cluster.client.create(certificateSigningRequests, csr('done', node));
  await cluster.client.create(certificateSigningRequests, csr('waiting', { ...node, commonName: 'somebody' }));
  await cluster.settle();
  await cluster.clock.advance(2.1 * 3_600_000);
  assert.equal(find(cluster, 'done'), undefined);
  assert.ok(find(cluster, 'waiting'));
  await cluster.clock.advance(24 * 3_600_000);
  assert.equal(find(cluster, 'waiting'), undefined);
});
