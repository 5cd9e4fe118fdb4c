/**
 * Certificate authorities: makes them, and issues certificates with them, for keys of its own making or for somebody's request.
 * Invariant: no certificate outlives its authority, and each is valid from some minutes ago, for clocks differ.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { type Certificate, parseCertificate, parseCertificates } from './certificate.ts';
import type { CertificateRequest } from './certificate-request.ts';
import { context, integer, sequence, time } from './der.ts';
import { encodeExtensions, keyIdentifier, type Usage } from './extensions.ts';
import { encodePrivateKey, type KeySource, parsePrivateKey, publicKeyBytes } from './keys.ts';
import { type AlternativeNames, encodeSubject, type Subject } from './names.ts';
import { encodePem } from './pem.ts';
import { signatureAlgorithm, signed } from './signature.ts';

/** What is neither subject nor usage: time, chance, keys. */
export interface PkiSources {
  readonly clock: Clock;
  readonly random: Random;
  readonly keys: KeySource;
}

/** A certificate and its private key, as they are written to files. */
export interface CertifiedKey {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface CertificateAuthority extends CertifiedKey {
  readonly certificate: Certificate;
  readonly privateKey: KeyObject;
  readonly sources: PkiSources;
}

export interface AuthorityOptions extends Subject {
  /** Default: ten years, as kubeadm. */
  readonly days?: number | undefined;
}

export interface IssueOptions extends Subject, AlternativeNames {
  /** `server auth`, `client auth` or both; `digital signature` and `key encipherment` are added. */
  readonly usages: readonly Usage[];
  /** Default: one year, as kubeadm. */
  readonly days?: number | undefined;
}

export interface SignOptions {
  readonly usages: readonly Usage[];
  readonly durationSeconds: number;
}

const dayMs = 86_400_000;
/** How long before its making a certificate begins to be valid: upstream's backdate. */
const backdateMs = 5 * 60_000;

export function createCertificateAuthority(options: AuthorityOptions, sources: PkiSources): CertificateAuthority {
  const privateKey = sources.keys.generate();
  const publicKey = publicKeyBytes(privateKey);
  const subject = encodeSubject(options);
  const bytes = certify(
    {
      subject,
      issuer: subject,
      publicKey,
      authorityKeyId: undefined,
      usages: ['digital signature', 'key encipherment', 'cert sign'],
      names: { dnsNames: [options.commonName] },
      isAuthority: true,
      notAfterMs: sources.clock.now() + (options.days ?? 3650) * dayMs,
    },
    privateKey,
    sources,
  );
  const certificatePem = encodePem('CERTIFICATE', bytes);
  const certificate = parseCertificate(bytes);
  return { certificatePem, keyPem: encodePrivateKey(privateKey), certificate, privateKey, sources };
}

/** An authority from its files; throws if the key is not the certificate's or the certificate is not an authority's. */
export function loadCertificateAuthority(files: CertifiedKey, sources: PkiSources): CertificateAuthority {
  const [certificate] = parseCertificates(files.certificatePem);
  if (!certificate) throw new TypeError('the PEM text holds no certificate');
  if (!certificate.isAuthority) throw new TypeError('the certificate is not that of a certificate authority');
  const privateKey = parsePrivateKey(files.keyPem);
  if (!createPublicKey(privateKey).equals(certificate.publicKey)) {
    throw new TypeError('the private key does not belong to the certificate');
  }
  return { ...files, certificate, privateKey, sources };
}

/** A new key and a certificate for it. */
export function issueCertificate(authority: CertificateAuthority, options: IssueOptions): CertifiedKey {
  const { clock, keys } = authority.sources;
  const privateKey = keys.generate();
  const certificatePem = issue(authority, {
    subject: encodeSubject(options),
    publicKey: publicKeyBytes(privateKey),
    usages: ['digital signature', 'key encipherment', ...options.usages],
    names: options,
    notAfterMs: clock.now() + (options.days ?? 365) * dayMs,
  });
  return { certificatePem, keyPem: encodePrivateKey(privateKey) };
}

/**
 * A certificate for a request that has been verified and approved, in PEM. The subject and the alternative names are the
 * request's; what it asks of usages does not count, `usages` does.
 */
export function signCertificateRequest(
  authority: CertificateAuthority,
  request: CertificateRequest,
  { usages, durationSeconds }: SignOptions,
): string {
  const notAfterMs = authority.sources.clock.now() + durationSeconds * 1000;
  const publicKey = publicKeyBytes(request.publicKey);
  return issue(authority, { subject: request.subjectBytes, publicKey, usages, names: request, notAfterMs });
}

interface IssueContent {
  /** In DER, as the other name and the key. */
  readonly subject: Buffer;
  readonly publicKey: Buffer;
  readonly usages: readonly Usage[];
  readonly names: AlternativeNames;
  readonly notAfterMs: number;
}

function issue({ certificate, privateKey, sources }: CertificateAuthority, content: IssueContent): string {
  const bytes = certify(
    {
      ...content,
      issuer: certificate.subjectBytes,
      authorityKeyId: certificate.subjectKeyId,
      isAuthority: false,
      notAfterMs: Math.min(content.notAfterMs, certificate.notAfterMs),
    },
    privateKey,
    sources,
  );
  return encodePem('CERTIFICATE', bytes);
}

interface CertificateContent extends IssueContent {
  readonly issuer: Buffer;
  readonly authorityKeyId: Buffer | undefined;
  readonly isAuthority: boolean;
}

function certify(content: CertificateContent, signer: KeyObject, { clock, random }: PkiSources): Buffer {
  const { subject, issuer, publicKey, authorityKeyId, usages, names, isAuthority, notAfterMs } = content;
  const { dnsNames, ipAddresses, emailAddresses, uris } = names;
  const extensions = encodeExtensions({
    usages,
    authority: { isAuthority },
    subjectKeyId: isAuthority ? keyIdentifier(publicKey) : undefined,
    authorityKeyId,
    dnsNames,
    ipAddresses,
    emailAddresses,
    uris,
  });
  const version3 = context(0, integer(Buffer.from([2])));
  const body = sequence(
    version3,
    integer(serialNumber(random)),
    signatureAlgorithm(signer),
    issuer,
    sequence(time(clock.now() - backdateMs), time(notAfterMs)),
    subject,
    publicKey,
    context(3, extensions!),
  );
  return signed(body, signer);
}

/** 127 random bits: positive, and of the same length each time. */
function serialNumber(random: Random): Uint8Array {
  const bytes = Uint8Array.from(random.bytes(16));
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return bytes;
}
