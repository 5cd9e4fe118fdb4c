/**
 * Certificate requests (PKCS 10): what a kubelet or user sends in a CertificateSigningRequest. A parsed request has proven that
 * its sender holds the private key; whether it may have what it asks for is the approver's to decide.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { children, context, DerError, integer, readDer, sequence } from './der.ts';
import { encodeExtensionRequest, readExtensionRequest, type Usage } from './extensions.ts';
import { publicKeyBytes } from './keys.ts';
import {
  type AlternativeNames,
  encodeSubject,
  type ReadAlternativeNames,
  type ReadSubject,
  readSubject,
  type Subject,
} from './names.ts';
import { decodePem, encodePem } from './pem.ts';
import { isSignedBy, signed } from './signature.ts';

export interface CertificateRequest extends ReadAlternativeNames {
  readonly usages: readonly Usage[];
  readonly subject: ReadSubject;
  /** The subject in DER. */
  readonly subjectBytes: Buffer;
  readonly publicKey: KeyObject;
}

export interface RequestOptions extends Subject, AlternativeNames {
  /** Written into the request; Kubernetes takes the usages of the API object instead, so requests mostly have none. */
  readonly usages?: readonly Usage[] | undefined;
}

/** A request in PEM, signed with the key that it asks a certificate for. */
export function createCertificateRequest(privateKey: KeyObject, options: RequestOptions): string {
  const { usages, dnsNames, ipAddresses, emailAddresses, uris } = options;
  const wanted = encodeExtensionRequest({ usages, dnsNames, ipAddresses, emailAddresses, uris });
  const body = sequence(
    integer(Buffer.from([0])),
    encodeSubject(options),
    publicKeyBytes(privateKey),
    context(0, ...(wanted ? [wanted] : [])),
  );
  return encodePem('CERTIFICATE REQUEST', signed(body, privateKey));
}

/** Throws `DerError` or TypeError if the text is not one request in PEM, or is not signed by the key that it is for. */
export function parseCertificateRequest(pem: string): CertificateRequest {
  const [block] = decodePem(pem);
  if (block?.label !== 'CERTIFICATE REQUEST' && block?.label !== 'NEW CERTIFICATE REQUEST') {
    throw new TypeError('PEM block type must be CERTIFICATE REQUEST');
  }
  const parts = children(readDer(block.bytes));
  const [, subject, keyInfo, attributes] = children(parts[0]);
  if (!keyInfo) throw new DerError('not a certificate request');
  const publicKey = createPublicKey({ key: keyInfo.whole, format: 'der', type: 'spki' });
  if (!isSignedBy(publicKey, parts)) throw new TypeError('the request is not signed by the key that it is for');
  const { usages, dnsNames, ipAddresses, emailAddresses, uris } = readExtensionRequest(attributes);
  const subjectBytes = subject!.whole;
  return {
    subject: readSubject(subject),
    subjectBytes,
    publicKey,
    usages,
    dnsNames,
    ipAddresses,
    emailAddresses,
    uris,
  };
}
