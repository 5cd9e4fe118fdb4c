/**
 * What a server demands of its clients' TLS, in Go's names for versions and cipher suites, and which certificate it shows under which
 * name. Suites of TLS 1.3 are never up for choice, there as here; those that today's OpenSSL has forgotten are known by name and never
 * agreed upon.
 */
import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureVersion, type TlsOptions } from 'node:tls';
import { isIp } from '../apimachinery/addresses.ts';
import { dns1123Subdomain } from '../apimachinery/names.ts';

/** To be given to whatever makes a TLS server. */
export type TlsParameters = Pick<TlsOptions, 'minVersion' | 'ciphers' | 'SNICallback'>;

export const defaultTlsParameters: TlsParameters = { minVersion: 'TLSv1.2' };

const versions: ReadonlyMap<string, SecureVersion> = new Map([
  ['VersionTLS10', 'TLSv1'],
  ['VersionTLS11', 'TLSv1.1'],
  ['VersionTLS12', 'TLSv1.2'],
  ['VersionTLS13', 'TLSv1.3'],
]);

const newestSuites = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/** OpenSSL's name by Go's. */
const suites: ReadonlyMap<string, string> = new Map([
  ...newestSuites.map((name) => [name, name] as const),
  ...['ECDHE_ECDSA', 'ECDHE_RSA'].flatMap((exchange) => {
    const [go, openssl] = [`TLS_${exchange}_WITH`, exchange.replace('_', '-')];
    return [
      [`${go}_AES_128_CBC_SHA`, `${openssl}-AES128-SHA`],
      [`${go}_AES_256_CBC_SHA`, `${openssl}-AES256-SHA`],
      [`${go}_AES_128_GCM_SHA256`, `${openssl}-AES128-GCM-SHA256`],
      [`${go}_AES_256_GCM_SHA384`, `${openssl}-AES256-GCM-SHA384`],
      [`${go}_CHACHA20_POLY1305`, `${openssl}-CHACHA20-POLY1305`],
      [`${go}_CHACHA20_POLY1305_SHA256`, `${openssl}-CHACHA20-POLY1305`],
      [`${go}_AES_128_CBC_SHA256`, `${openssl}-AES128-SHA256`],
      [`${go}_RC4_128_SHA`, `${openssl}-RC4-SHA`],
    ] as const;
  }),
  ['TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA', 'ECDHE-RSA-DES-CBC3-SHA'],
  ['TLS_RSA_WITH_3DES_EDE_CBC_SHA', 'DES-CBC3-SHA'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA', 'AES128-SHA'],
  ['TLS_RSA_WITH_AES_256_CBC_SHA', 'AES256-SHA'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA256', 'AES128-SHA256'],
  ['TLS_RSA_WITH_AES_128_GCM_SHA256', 'AES128-GCM-SHA256'],
  ['TLS_RSA_WITH_AES_256_GCM_SHA384', 'AES256-GCM-SHA384'],
  ['TLS_RSA_WITH_RC4_128_SHA', 'RC4-SHA'],
]);

/** OpenSSL speaks the oldest versions only where no strength is asked for. */
const anyStrength = '@SECLEVEL=0';

/** Empty texts and lists: the defaults. Throws an `Error` in upstream's words for a name that is none. */
export function tlsParameters(minVersion: string, cipherSuites: readonly string[]): TlsParameters {
  const oldest = minVersion === '' ? 'TLSv1.2' : versions.get(minVersion);
  if (oldest === undefined) throw new Error(`unknown tls version ${JSON.stringify(minVersion)}`);
  const chosen = cipherSuites.map((name) => {
    const suite = suites.get(name);
    if (suite === undefined) throw new Error(`Cipher suite ${name} not supported or doesn't exist`);
    return suite;
  });
  const weak = oldest === 'TLSv1' || oldest === 'TLSv1.1';
  if (chosen.length === 0) return { minVersion: oldest, ...(weak ? { ciphers: `DEFAULT:${anyStrength}` } : {}) };
  const ciphers = [...new Set([...newestSuites, ...chosen]), ...(weak ? [anyStrength] : [])].join(':');
  return { minVersion: oldest, ciphers };
}

export interface NamedPair {
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  /** Given by the administrator; empty: the certificate's own. */
  readonly names: readonly string[];
}

/**
 * The certificate for the name that a client asks for: given names before the certificates' own, earlier pairs before later ones, and
 * `*.example.com` for one label. Without a match the server's first certificate is shown.
 */
export class NamedCertificates {
  readonly #parameters: TlsParameters;
  #byName: ReadonlyMap<string, SecureContext> = new Map();

  constructor(parameters: TlsParameters, pairs: readonly NamedPair[]) {
    this.#parameters = parameters;
    this.replace(pairs);
  }

  /** Throws, and keeps what it had, where a pair does not fit together. */
  replace(pairs: readonly NamedPair[]): void {
    const given = new Map<string, SecureContext>();
    const own = new Map<string, SecureContext>();
    for (const { certificate, key, names } of pairs.toReversed()) {
      const context = createSecureContext({ cert: certificate, key, ...withoutCallback(this.#parameters) });
      for (const name of names) given.set(name, context);
      if (names.length === 0) for (const name of ownNames(certificate)) own.set(name, context);
    }
    this.#byName = new Map([...own, ...given]);
  }

  contextFor(serverName: string): SecureContext | undefined {
    const name = serverName.toLowerCase().replace(/\.$/, '');
    return this.#byName.get(name) ?? this.#byName.get(name.replace(/^[^.]*/, '*'));
  }

  /** The same parameters for a server that chooses among these. */
  get parameters(): TlsParameters {
    return { ...this.#parameters, SNICallback: (name, done) => done(null, this.contextFor(name)) };
  }
}

function withoutCallback({ minVersion, ciphers }: TlsParameters): TlsParameters {
  return { ...(minVersion ? { minVersion } : {}), ...(ciphers ? { ciphers } : {}) };
}

/** Addresses are left out: nobody asks for them by name. */
function ownNames(pem: string): string[] {
  const { subject, subjectAltName = '' } = new X509Certificate(pem);
  const commonName = /^CN=(.*)$/m.exec(subject)?.[1] ?? '';
  const isName = commonName === '*' || dns1123Subdomain(commonName.replace(/^\*\./, '')).length === 0;
  const alternatives = subjectAltName.split(', ').filter((name) => name.startsWith('DNS:'));
  return [
    ...(isName && !isIp(commonName) ? [commonName] : []),
    ...alternatives.map((name) => name.slice('DNS:'.length)),
  ];
}
