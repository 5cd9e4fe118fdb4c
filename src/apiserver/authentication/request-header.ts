/**
 * A proxy in front of the server tells by headers who is asking. Believed only from a proxy that shows a certificate of its own CA,
 * with one of the allowed common names.
 */
import type { ApiRequest } from '../request.ts';
import type { Authenticator } from './authenticator.ts';
import { headerValues } from './header-values.ts';
import type { CertificateVerifier } from './x509-authenticator.ts';

export interface RequestHeaderOptions {
  /** Over `--requestheader-client-ca-file`. */
  readonly verifier: CertificateVerifier;
  /** `--requestheader-allowed-names`; empty: any certificate of that CA. */
  readonly allowedNames: readonly string[];
  /** `--requestheader-username-headers`, usually `X-Remote-User`. */
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  /** `--requestheader-extra-headers-prefix`, usually `X-Remote-Extra-`. */
  readonly extraHeaderPrefixes: readonly string[];
}

export function requestHeaderAuthenticator(options: RequestHeaderOptions): Authenticator {
  return {
    name: 'RequestHeader',
    async authenticate(request: ApiRequest) {
      const first = (names: readonly string[]) =>
        names.map((name) => request.headers[name.toLowerCase()]).find((value) => value);
      const name = first(options.usernameHeaders);
      // Who names nobody is no proxy: his certificate is looked at once, by who comes next.
      if (!name || request.clientCertificates.length === 0) return undefined;
      const { commonName } = options.verifier.verify(request.clientCertificates).subject;
      const { allowedNames } = options;
      if (allowedNames.length > 0 && !allowedNames.includes(commonName)) {
        throw new Error(`x509: subject with cn=${commonName} is not in the allowed list`);
      }
      const uid = first(options.uidHeaders);
      const groups = options.groupHeaders.flatMap((header) => headerValues(request.headers[header.toLowerCase()]));
      return { user: { name, ...(uid ? { uid } : {}), groups, extra: extraOf(request, options.extraHeaderPrefixes) } };
    },
  };
}

function extraOf(request: ApiRequest, prefixes: readonly string[]): Record<string, readonly string[]> {
  const extra: Record<string, readonly string[]> = {};
  for (const prefix of prefixes.map((text) => text.toLowerCase())) {
    for (const [header, value] of Object.entries(request.headers)) {
      if (header.startsWith(prefix)) extra[unescapeKey(header.slice(prefix.length))] = headerValues(value);
    }
  }
  return extra;
}

/** Keys of extra values are percent-encoded, since header names take few characters; a malformed one is taken as it is. */
export function unescapeKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
