/** CertificateSigningRequests, their approval and their status. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CertificateSigningRequest, certificateSigningRequests } from '../../src/api/gen/certificates-v1.ts';
import { createCertificateRequest } from '../../src/pki/certificate-request.ts';
import { systemKeys } from '../../src/pki/keys.ts';
import { startCluster } from './cluster.ts';
import {
  assertDiscovered,
  assertOperations,
  assertSubresourceRead,
  change,
  referenceTo,
  withAnnotation,
} from './operations.ts';

const { client, connection } = await startCluster();
const base64 = (text: string) => Buffer.from(text).toString('base64');

test('[sig-auth] Certificates API [Privileged:ClusterAdmin] should support CSR API operations [Conformance]', async () => {
  const signerName = 'example.com/e2e-conformance';
  const pem = createCertificateRequest(systemKeys.generate(), {
    commonName: 'e2e.example.com',
    dnsNames: ['e2e.example.com'],
  });
  const request: CertificateSigningRequest = {
    metadata: { generateName: 'e2e-example-csr-' },
    spec: {
      request: base64(pem),
      signerName,
      expirationSeconds: 3600,
      usages: ['digital signature', 'key encipherment', 'server auth'],
    },
  };
  const condition = (type: string) => ({ type, status: 'True', reason: 'E2E', message: 'Set from an e2e test' });
  const typesOf = ({ status }: CertificateSigningRequest) => status?.conditions?.map(({ type }) => type);
  const withCondition = (current: CertificateSigningRequest, type: string) => ({
    ...current,
    status: { ...current.status, conditions: [...(current.status?.conditions ?? []), condition(type)] },
  });

  await assertDiscovered(client, certificateSigningRequests, ['approval', 'status']);
  await assertOperations(client, certificateSigningRequests, {
    objects: [request, request, request],
    bystander: { metadata: { name: 'bystander' }, spec: { ...request.spec, signerName: 'example.com/other' } },
    fieldSelector: `spec.signerName=${signerName}`,
    async meanwhile(created) {
      const ref = referenceTo(created);
      assert.equal(created.spec.expirationSeconds, 3600);

      await assertSubresourceRead(client, certificateSigningRequests, created, 'approval');
      const approval = withAnnotation({ metadata: {} }, 'patchedapproval');
      const patchedApproval = await client.patch(
        certificateSigningRequests,
        ref,
        { type: 'merge', body: { ...approval, status: { conditions: [condition('ApprovalPatch')] } } },
        { subresource: 'approval' },
      );
      assert.deepEqual(typesOf(patchedApproval), ['ApprovalPatch']);
      assert.equal(patchedApproval.metadata.annotations?.patchedapproval, 'true');
      const approve = (current: CertificateSigningRequest) => withCondition(current, 'Approved');
      await change(client, certificateSigningRequests, ref, approve, 'approval');
      assert.deepEqual(typesOf(await client.get(certificateSigningRequests, ref)), ['ApprovalPatch', 'Approved']);

      await assertSubresourceRead(client, certificateSigningRequests, created);
      const certificate = base64(String(connection.tls?.ca));
      const patchedStatus = await client.patch(
        certificateSigningRequests,
        ref,
        { type: 'merge', body: { ...withAnnotation({ metadata: {} }, 'patchedstatus'), status: { certificate } } },
        { subresource: 'status' },
      );
      assert.equal(patchedStatus.status?.certificate, certificate);
      assert.equal(patchedStatus.metadata.annotations?.patchedstatus, 'true');
      const note = (current: CertificateSigningRequest) => withCondition(current, 'StatusUpdate');
      await change(client, certificateSigningRequests, ref, note, 'status');
      const last = await client.get(certificateSigningRequests, ref);
      assert.deepEqual(typesOf(last), ['ApprovalPatch', 'Approved', 'StatusUpdate']);
      assert.equal(last.status?.certificate, certificate);
    },
  });
});
