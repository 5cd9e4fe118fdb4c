/**
 * What a CertificateSigningRequest asks for and whether that is what its signer gives: upstream's rules for the four built-in signers.
 * Pure.
 */
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { type CertificateRequest, parseCertificateRequest } from '../../pki/certificate-request.ts';

export const signerNames = {
  apiServerClient: 'kubernetes.io/kube-apiserver-client',
  kubeletClient: 'kubernetes.io/kube-apiserver-client-kubelet',
  kubeletServing: 'kubernetes.io/kubelet-serving',
  legacyUnknown: 'kubernetes.io/legacy-unknown',
} as const;

export const nodeUserPrefix = 'system:node:';
const nodesGroup = 'system:nodes';

/** The request within; throws where it is none. */
export function requestOf({ spec }: CertificateSigningRequest): CertificateRequest {
  return parseCertificateRequest(Buffer.from(spec.request, 'base64').toString());
}

export function isTrue(request: CertificateSigningRequest, type: string): boolean {
  const condition = findCondition(request.status?.conditions, type);
  // Older writers left the status of these conditions out.
  return condition !== undefined && condition.status !== 'False';
}

/** Approved and waiting for its certificate. */
export function isToBeSigned(request: CertificateSigningRequest): boolean {
  return (
    isTrue(request, 'Approved') &&
    !isTrue(request, 'Denied') &&
    !isTrue(request, 'Failed') &&
    !request.status?.certificate
  );
}

export function isUndecided(request: CertificateSigningRequest): boolean {
  return !isTrue(request, 'Approved') && !isTrue(request, 'Denied') && !request.status?.certificate;
}

/** Why this is no kubelet's client request; undefined when it is one. */
export function kubeletClientError(request: CertificateRequest, usages: readonly string[]): string | undefined {
  if (!isNodesGroup(request)) return 'subject organization is not system:nodes';
  if (request.dnsNames.length > 0) return 'DNS subjectAltNames are not allowed';
  if (request.emailAddresses.length > 0) return 'Email subjectAltNames are not allowed';
  if (request.ipAddresses.length > 0) return 'IP subjectAltNames are not allowed';
  if (request.uris.length > 0) return 'URI subjectAltNames are not allowed';
  return commonNameError(request) ?? usagesError(usages, 'client auth');
}

/** Why this is no kubelet's serving request; undefined when it is one. */
export function kubeletServingError(request: CertificateRequest, usages: readonly string[]): string | undefined {
  if (!isNodesGroup(request)) return 'subject organization is not system:nodes';
  if (request.dnsNames.length === 0 && request.ipAddresses.length === 0) return 'DNS or IP subjectAltName is required';
  if (request.emailAddresses.length > 0) return 'Email subjectAltNames are not allowed';
  if (request.uris.length > 0) return 'URI subjectAltNames are not allowed';
  return usagesError(usages, 'server auth') ?? commonNameError(request);
}

/** Why the signer refuses the request; undefined when it signs it. */
export function signingError(
  signerName: string,
  request: CertificateRequest,
  usages: readonly string[],
): string | undefined {
  if (signerName === signerNames.kubeletClient) return kubeletClientError(request, usages);
  if (signerName === signerNames.kubeletServing) return kubeletServingError(request, usages);
  if (signerName === signerNames.apiServerClient) {
    const allowed = ['digital signature', 'key encipherment', 'client auth'];
    const only = usages.every((usage) => allowed.includes(usage));
    return usages.includes('client auth') && only
      ? undefined
      : 'usages did not match [client auth digital signature key encipherment]';
  }
  return undefined;
}

function isNodesGroup({ subject }: CertificateRequest): boolean {
  return subject.organizations.length === 1 && subject.organizations[0] === nodesGroup;
}

function commonNameError({ subject }: CertificateRequest): string | undefined {
  return subject.commonName.startsWith(nodeUserPrefix)
    ? undefined
    : 'subject common name does not begin with system:node:';
}

/** Key encipherment means something for RSA keys only and may be left out. */
function usagesError(usages: readonly string[], purpose: 'client auth' | 'server auth'): string | undefined {
  const required = ['digital signature', 'key encipherment', purpose].sort();
  const given = [...new Set(usages)].sort().join();
  const matches =
    given === required.join() || given === required.filter((usage) => usage !== 'key encipherment').join();
  return matches ? undefined : `usages did not match [${required.join(' ')}]`;
}
