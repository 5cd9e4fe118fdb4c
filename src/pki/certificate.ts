/**
 * What a certificate says, and whether it may be believed. Trust is decided by `verifyCertificate` alone: signature by signature
 * up to a root that the caller trusts, dates and usage included.
 */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { children, DerError, type DerValue, readDer, readTime } from './der.ts';
import { type Extensions, readExtensions, type Usage } from './extensions.ts';
import { type ReadSubject, readSubject } from './names.ts';
import { decodePem } from './pem.ts';
import { isSignedBy } from './signature.ts';

export interface Certificate extends Extensions {
  readonly subject: ReadSubject;
  readonly issuer: ReadSubject;
  /** The names in DER, for comparison, and for those who write them into another certificate. */
  readonly subjectBytes: Buffer;
  readonly issuerBytes: Buffer;
  /** Lower-case hexadecimal. */
  readonly serialNumber: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** SHA-256 of the certificate in lower-case hexadecimal. */
  readonly fingerprint: string;
  readonly publicKey: KeyObject;
  /** The certificate in DER. */
  readonly bytes: Buffer;
}

export interface VerifyOptions {
  readonly roots: readonly Certificate[];
  readonly intermediates?: readonly Certificate[] | undefined;
  /** What the certificate must be good for. */
  readonly usage: Usage;
  readonly nowMs: number;
}

/** Why a certificate is not believed, in the words of Go's crypto/x509, which users know from upstream. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
  readonly reason: 'unknownAuthority' | 'expired' | 'notYetValid' | 'usage';
  constructor(reason: CertificateError['reason'], message: string) {
    super(`x509: ${message}`);
    this.reason = reason;
  }
}

/** Throws `DerError` (or a TypeError for a key that is not understood) if `bytes` is no certificate. */
export function parseCertificate(bytes: Buffer): Certificate {
  const [body] = children(readDer(bytes));
  const fields = children(body);
  // Version 1 certificates begin without the version field.
  if (fields[0]?.tag === 0xa0) fields.shift();
  const [serial, , issuer, validity, subject, publicKey] = fields;
  const [notBefore, notAfter] = children(validity);
  const extensions = fields.find(({ tag }) => tag === 0xa3);
  if (!serial || !publicKey) throw new DerError('not a certificate');
  return {
    ...readExtensions(extensions && readDer(extensions.content)),
    subject: readSubject(subject),
    issuer: readSubject(issuer),
    subjectBytes: subject!.whole,
    issuerBytes: issuer!.whole,
    serialNumber: serial.content.toString('hex').replace(/^0+(?=.)/, ''),
    notBeforeMs: readTime(notBefore),
    notAfterMs: readTime(notAfter),
    fingerprint: createHash('sha256').update(bytes).digest('hex'),
    publicKey: createPublicKey({ key: publicKey.whole, format: 'der', type: 'spki' }),
    bytes,
  };
}

/** All certificates of a PEM text, in order. */
export function parseCertificates(pem: string): Certificate[] {
  return decodePem(pem)
    .filter(({ label }) => label === 'CERTIFICATE')
    .map(({ bytes }) => parseCertificate(bytes));
}

/** Returns the chain from the leaf to a trusted root; throws `CertificateError`. */
export function verifyCertificate(leaf: Certificate, options: VerifyOptions): readonly Certificate[] {
  const chain = findChain(leaf, options, new Set());
  if (!chain) throw new CertificateError('unknownAuthority', 'certificate signed by unknown authority');
  for (const certificate of chain) checkDates(certificate, options.nowMs);
  const purposes = leaf.usages.filter((usage) => usage.endsWith(' auth') || usage === 'any');
  if (purposes.length > 0 && !purposes.includes('any') && !purposes.includes(options.usage)) {
    throw new CertificateError('usage', 'certificate specifies an incompatible key usage');
  }
  return chain;
}

/** Whether `issuer` signed `certificate`. */
export function isIssuedBy(certificate: Certificate, issuer: Certificate): boolean {
  return isSignedBy(issuer.publicKey, parts(certificate));
}

function findChain(
  leaf: Certificate,
  options: VerifyOptions,
  seen: ReadonlySet<Certificate>,
): readonly Certificate[] | undefined {
  const { roots, intermediates = [] } = options;
  const trusted = roots.find(({ bytes }) => bytes.equals(leaf.bytes));
  if (trusted) return [leaf];
  const mayIssue = (issuer: Certificate) => issuer.isAuthority && issuer.subjectBytes.equals(leaf.issuerBytes);
  const root = roots.find((issuer) => mayIssue(issuer) && isIssuedBy(leaf, issuer));
  if (root) return [leaf, root];
  for (const issuer of intermediates) {
    if (seen.has(issuer) || !mayIssue(issuer) || !isIssuedBy(leaf, issuer)) continue;
    const rest = findChain(issuer, options, new Set([...seen, issuer]));
    if (rest) return [leaf, ...rest];
  }
  return undefined;
}

function checkDates({ notBeforeMs, notAfterMs }: Certificate, nowMs: number): void {
  const text = (atMs: number) => `${new Date(atMs).toISOString().slice(0, 19)}Z`;
  const because = 'certificate has expired or is not yet valid: current time';
  if (nowMs > notAfterMs) {
    throw new CertificateError('expired', `${because} ${text(nowMs)} is after ${text(notAfterMs)}`);
  }
  if (nowMs < notBeforeMs) {
    throw new CertificateError('notYetValid', `${because} ${text(nowMs)} is before ${text(notBeforeMs)}`);
  }
}

function parts({ bytes }: Certificate): DerValue[] {
  return children(readDer(bytes));
}
