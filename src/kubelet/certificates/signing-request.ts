/**
 * Asks the cluster for a certificate through a CertificateSigningRequest, and waits until somebody has approved and signed it. A request of
 * a fixed name that is there already is taken up again, if it is for the same key: an agent that was restarted while it waited does not
 * ask twice.
 */
import { createHash, type KeyObject } from 'node:crypto';
import {
  type CertificateSigningRequest,
  certificateSigningRequests,
  type KeyUsage,
} from '../../api/gen/certificates-v1.ts';
import { isAlreadyExists, messageOf } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import {
  createCertificateRequest,
  parseCertificateRequest,
  type RequestOptions,
} from '../../pki/certificate-request.ts';
import { publicKeyBytes } from '../../pki/keys.ts';

/** What a certificate is asked for. */
export type CertificateTemplate = Required<Pick<RequestOptions, 'commonName' | 'organizations'>> &
  Pick<RequestOptions, 'dnsNames' | 'ipAddresses'>;

export interface SigningRequest {
  readonly template: CertificateTemplate;
  readonly key: KeyObject;
  readonly signerName: string;
  /** What the certificate will be used for besides signing: keys of elliptic curves encipher nothing. */
  readonly use: 'client auth' | 'server auth';
  /** Absent: the server finds one that begins with `csr-`. */
  readonly name?: string | undefined;
}

/** Resolves with the certificate in PEM; rejects when the request is denied, failed, deleted or replaced, and when `signal` is aborted. */
export async function requestCertificate(
  client: Client,
  request: SigningRequest,
  signal: AbortSignal,
): Promise<string> {
  const { metadata } = await createRequest(client, request, signal);
  return issued(client, metadata.name ?? '', metadata.uid ?? '', signal);
}

/**
 * One name for one key and purpose: SHA-512/256 over key, subject and usages, each in URL-safe base64 and followed by `|`, as upstream's
 * kubelet names its first request.
 */
export function requestName({ template, key, use }: Omit<SigningRequest, 'signerName' | 'name'>): string {
  const hash = createHash('sha512-256');
  const parts = [publicKeyBytes(key), template.commonName, ...(template.organizations ?? []), ...usagesOf(use)];
  for (const part of parts) hash.update(`${Buffer.from(part).toString('base64url')}|`);
  return `node-csr-${hash.digest('base64url')}`;
}

function usagesOf(use: SigningRequest['use']): readonly KeyUsage[] {
  return ['digital signature', use];
}

async function createRequest(client: Client, request: SigningRequest, signal: AbortSignal) {
  const { name, key, template, signerName, use } = request;
  const pem = createCertificateRequest(key, template);
  const wanted: CertificateSigningRequest = {
    metadata: name === undefined ? { generateName: 'csr-' } : { name },
    spec: { request: Buffer.from(pem).toString('base64'), signerName, usages: usagesOf(use) },
  };
  try {
    return await client.create(certificateSigningRequests, wanted, { signal });
  } catch (error) {
    if (name === undefined || !isAlreadyExists(error))
      throw new Error(`cannot create certificate signing request: ${messageOf(error)}`, { cause: error });
    const found = await client.get(certificateSigningRequests, { name }, { signal });
    checkCompatible(found, request);
    return found;
  }
}

function checkCompatible({ spec }: CertificateSigningRequest, { key, signerName, template }: SigningRequest): void {
  const standing = parseCertificateRequest(Buffer.from(spec.request, 'base64').toString());
  const problem =
    spec.signerName !== signerName
      ? 'csr signerNames differ'
      : standing.subject.commonName !== template.commonName
        ? 'csr subjects differ'
        : !publicKeyBytes(standing.publicKey).equals(publicKeyBytes(key))
          ? 'retrieved csr has a different public key than the one that was asked with'
          : undefined;
  if (problem) throw new Error(`retrieved csr is not compatible: ${problem}`);
}

/** Watches from the state at hand, again whenever the server ends the watch. */
async function issued(client: Client, name: string, uid: string, signal: AbortSignal): Promise<string> {
  for (;;) {
    signal.throwIfAborted();
    for await (const event of client.watch(certificateSigningRequests, {
      fieldSelector: `metadata.name=${name}`,
      signal,
    })) {
      if (event.type === 'BOOKMARK') continue;
      if (event.type === 'DELETED') throw new Error(`csr "${name}" was deleted`);
      const { metadata, status } = event.object;
      if (metadata.uid !== uid) throw new Error(`csr "${name}" changed UIDs`);
      for (const { type, reason, message } of status?.conditions ?? []) {
        if (type === 'Denied')
          throw new Error(`certificate signing request is denied, reason: ${reason}, message: ${message}`);
        if (type === 'Failed')
          throw new Error(`certificate signing request failed, reason: ${reason}, message: ${message}`);
      }
      const approved = status?.conditions?.some(({ type }) => type === 'Approved') ?? false;
      if (approved && status?.certificate) return Buffer.from(status.certificate, 'base64').toString();
    }
  }
}
