/**
 * Client certificates: the subject's common name is the user, its organizations are the groups. The chain is verified here against
 * the client CA bundle (TLS only asks for a certificate, and a foreign one must not end the connection), with the injected clock, and
 * the certificate must be meant for clients.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { type Certificate, parseCertificate, parseCertificates, verifyCertificate } from '../../pki/certificate.ts';
import type { ApiRequest } from '../request.ts';
import type { Authenticator } from './authenticator.ts';

export interface CertificateVerifier {
  /** The leaf, when the chain (DER, leaf first) leads to the bundle and is meant for clients now; throws otherwise. */
  verify(chain: readonly Buffer[]): Certificate;
}

const cacheEntries = 1000;

export function x509Authenticator(verifier: CertificateVerifier): Authenticator {
  return {
    name: 'x509',
    async authenticate({ clientCertificates }: ApiRequest) {
      if (clientCertificates.length === 0) return undefined;
      const { subject, fingerprint } = verifier.verify(clientCertificates);
      if (subject.commonName === '') return undefined;
      const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] };
      return { user: { name: subject.commonName, groups: subject.organizations, extra } };
    },
  };
}

/** `bundle` (PEM) is asked each time, so that a renewed CA file is taken; parsing is done once per content. */
export function certificateVerifier(options: {
  readonly bundle: () => string;
  readonly clock: Clock;
}): CertificateVerifier {
  const { bundle, clock } = options;
  let trusted: { readonly text: string; readonly roots: readonly Certificate[] } = { text: '', roots: [] };
  /** Signatures do not become invalid, only time passes: of each chain seen the certificates, whose dates are looked at again. */
  const verified = new Map<string, readonly Certificate[]>();
  /** A connection shows the same chain with every request, and need not have it hashed again. */
  const keys = new WeakMap<readonly Buffer[], string>();
  const keyOf = (chain: readonly Buffer[]) => {
    let key = keys.get(chain);
    if (key === undefined) {
      key = chain.map((der) => createHash('sha256').update(der).digest('base64')).join(' ');
      keys.set(chain, key);
    }
    return key;
  };

  return {
    verify(chain) {
      const text = bundle();
      if (text !== trusted.text) {
        trusted = { text, roots: parseCertificates(text) };
        verified.clear();
      }
      const nowMs = clock.now();
      const key = keyOf(chain);
      const known = verified.get(key);
      if (known?.every(({ notBeforeMs, notAfterMs }) => nowMs >= notBeforeMs && nowMs <= notAfterMs)) return known[0]!;
      const [leaf, ...intermediates] = chain.map(parseCertificate);
      const path = verifyCertificate(leaf!, { roots: trusted.roots, intermediates, usage: 'client auth', nowMs });
      if (verified.size >= cacheEntries) verified.clear();
      verified.set(key, path);
      return path[0]!;
    },
  };
}
