/**
 * The identities of a cluster: one authority for servers and clients, one for the front proxy, a key for service account tokens, and a
 * certificate for every component under upstream's user name. Kept in files with kubeadm's names; what is there is used, what is
 * missing or soon over is made anew, and the authority itself is never replaced.
 *
 * The room: certificates and keys as they lie in files, made, read and renewed. It writes nothing but them. What `pki/` holds and for whom
 * is said here; when a certificate is looked at again, in `certificate-renewal.ts`; what a kubelet asks for, in `kubelet-certificates.ts`.
 */
import { createPublicKey } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf } from '../../apimachinery/status.ts';
import {
  type CertificateAuthority,
  type CertifiedKey,
  createCertificateAuthority,
  type IssueOptions,
  issueCertificate,
  loadCertificateAuthority,
  type PkiSources,
} from '../../pki/authority.ts';
import { type Certificate, isIssuedBy, parseCertificates } from '../../pki/certificate.ts';
import { encodePrivateKey, parsePrivateKey } from '../../pki/keys.ts';
import { CommandError } from '../command-error.ts';

/** What kubeconfigs of the administrator call the cluster and their context. */
export const contextName = 'coracle';

/** Where certified keys are found again by name, e.g. `apiserver`. */
export interface KeyFiles {
  /** What is there of the two; an empty text stands for the other. Undefined where there is neither. */
  load(name: string): CertifiedKey | undefined;
  save(name: string, pair: CertifiedKey): void;
}

export interface ClusterPki {
  readonly authority: CertificateAuthority;
  /** Made when first asked for. */
  frontProxyAuthority(): CertificateAuthority;
  /** What the API server shows servers behind it, of the front proxy's authority. */
  frontProxyClient(commonName: string): CertifiedKey;
  /** PEM of the private key that signs service account tokens. */
  readonly serviceAccountKeyPem: string;
  /** The server certificate for these names and addresses, in addition to those it always has. */
  apiServer(names: readonly string[], addresses: readonly string[]): CertifiedKey;
  /** A client certificate by user and groups. */
  client(name: string, commonName: string, organizations?: readonly string[]): CertifiedKey;
  /** What a kubelet serves with. */
  kubeletServer(nodeName: string, addresses: readonly string[]): CertifiedKey;
}

const renewBeforeMs = 30 * 86_400_000;

export function clusterPki(files: KeyFiles, sources: PkiSources): ClusterPki {
  const authority = authorityOf(files, 'ca', 'kubernetes', sources);
  let serviceAccount = files.load('sa');
  if (!serviceAccount) {
    serviceAccount = { certificatePem: '', keyPem: encodePrivateKey(sources.keys.generate()) };
    files.save('sa', serviceAccount);
  }
  const frontProxyAuthority = () => authorityOf(files, 'front-proxy-ca', 'front-proxy-ca', sources);
  const issue = (name: string, options: IssueOptions, issuer = authority): CertifiedKey => {
    const known = files.load(name);
    if (known && stillGood(known, options, issuer, sources.clock.now())) return known;
    const pair = issueCertificate(issuer, options);
    files.save(name, pair);
    return pair;
  };
  return {
    authority,
    frontProxyAuthority,
    frontProxyClient: (commonName) =>
      issue('front-proxy-client', { commonName, usages: ['client auth'] }, frontProxyAuthority()),
    serviceAccountKeyPem: serviceAccount.keyPem,
    apiServer: (names, addresses) =>
      issue('apiserver', {
        commonName: 'kube-apiserver',
        dnsNames: [
          ...new Set([
            'kubernetes',
            'kubernetes.default',
            'kubernetes.default.svc',
            'kubernetes.default.svc.cluster.local',
            'localhost',
            ...names,
          ]),
        ],
        ipAddresses: [...new Set(['127.0.0.1', '::1', ...addresses])],
        usages: ['server auth'],
      }),
    client: (name, commonName, organizations = []) =>
      issue(name, { commonName, organizations, usages: ['client auth'] }),
    kubeletServer: (nodeName, addresses) =>
      issue('kubelet-server', {
        commonName: `system:node:${nodeName}`,
        organizations: ['system:nodes'],
        dnsNames: [nodeName],
        ipAddresses: addresses,
        usages: ['server auth'],
      }),
  };
}

function authorityOf(files: KeyFiles, name: string, commonName: string, sources: PkiSources): CertificateAuthority {
  const known = files.load(name);
  if (known) {
    try {
      return loadCertificateAuthority(known, sources);
    } catch (error) {
      throw new CommandError(
        `the cluster's certificate authority, ${name}.crt and ${name}.key in the folder pki, cannot be used: ${messageOf(error)}.`,
        'Put both files back as they were: every certificate of the cluster hangs on them.',
      );
    }
  }
  const authority = createCertificateAuthority({ commonName }, sources);
  files.save(name, authority);
  return authority;
}

/** Whether key and certificate are whole, the authority's, say at least what is asked, and last a while. */
function stillGood(pair: CertifiedKey, options: IssueOptions, authority: CertificateAuthority, nowMs: number): boolean {
  const certificate = certificateOf(pair);
  if (!certificate || certificate.notAfterMs - nowMs < renewBeforeMs) return false;
  if (!isIssuedBy(certificate, authority.certificate)) return false;
  const covers = (has: readonly string[] | undefined, wants: readonly string[] | undefined) =>
    (wants ?? []).every((one) => has?.includes(one));
  return covers(certificate.dnsNames, options.dnsNames) && covers(certificate.ipAddresses, options.ipAddresses);
}

/** Undefined for damaged files, and for a certificate of another key. */
function certificateOf({ certificatePem, keyPem }: CertifiedKey): Certificate | undefined {
  try {
    const [certificate] = parseCertificates(certificatePem);
    return certificate && createPublicKey(parsePrivateKey(keyPem)).equals(certificate.publicKey)
      ? certificate
      : undefined;
  } catch {
    return undefined;
  }
}

/** `NAME.crt` and `NAME.key` in a folder, the keys readable for their owner only. */
export function keyFolder(folder: string): KeyFiles {
  const paths = (name: string) => ({ certificate: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) });
  return {
    load(name) {
      const { certificate, key } = paths(name);
      const read = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined);
      try {
        const [certificatePem, keyPem] = [read(certificate), read(key)];
        return certificatePem === undefined && keyPem === undefined
          ? undefined
          : { certificatePem: certificatePem ?? '', keyPem: keyPem ?? '' };
      } catch (error) {
        throw new CommandError(
          `${join(folder, name)}.crt or .key cannot be read (${(error as NodeJS.ErrnoException).code}).`,
          'Run as the user who owns the data directory.',
        );
      }
    },
    save(name, { certificatePem, keyPem }) {
      const { certificate, key } = paths(name);
      mkdirSync(dirname(key), { recursive: true, mode: 0o700 });
      write(key, keyPem, 0o600);
      if (certificatePem !== '') write(certificate, certificatePem, 0o644);
    },
  };
}

/** Renamed into place: a crash leaves the old file or the new one. */
function write(file: string, text: string, mode: number): void {
  writeFileSync(`${file}.new`, text, { mode });
  chmodSync(`${file}.new`, mode);
  renameSync(`${file}.new`, file);
}

/** Keeps nothing: for clusters that live as long as their process. */
export function keysInMemory(): KeyFiles {
  const pairs = new Map<string, CertifiedKey>();
  return { load: (name) => pairs.get(name), save: (name, pair) => void pairs.set(name, pair) };
}
