/** The OpenID Connect documents with which others can verify service account tokens. */
import type { TokenSigner } from './token-signer.ts';

export const discoveryPath = '/.well-known/openid-configuration';
export const keySetPath = '/openid/v1/jwks';
/** What the documents are served as. */
export const discoveryContentType = 'application/json';
export const keySetContentType = 'application/jwk-set+json';
/** How long others may keep them, in seconds. */
export const discoveryMaxAgeSeconds = 3600;

export interface DiscoveryDocument {
  readonly issuer: string;
  readonly jwks_uri: string;
  readonly response_types_supported: readonly string[];
  readonly subject_types_supported: readonly string[];
  readonly id_token_signing_alg_values_supported: readonly string[];
}

/** `--service-account-jwks-uri`, or the server's external address (host and port) under which it serves the keys itself. */
export type KeySetLocation = { readonly uri: string } | { readonly externalAddress: string };

/** Throws TypeError where upstream refuses to serve the documents: issuer and key set must be under https. */
export function discoveryDocument(signer: TokenSigner, location: KeySetLocation): DiscoveryDocument {
  const { issuer } = signer;
  const parsed = URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (parsed?.protocol !== 'https:') throw new TypeError(`issuer URL must use https scheme, got: ${issuer}`);
  if (parsed.search) throw new TypeError(`issuer URL may not include a query, got: ${issuer}`);
  if (parsed.hash) throw new TypeError(`issuer URL may not include a fragment, got: ${issuer}`);
  const uri = 'uri' in location ? location.uri : `https://${location.externalAddress}${keySetPath}`;
  if (!uri.startsWith('https://')) throw new TypeError(`jwksURI requires https scheme, parsed as: ${uri}`);
  return {
    issuer,
    jwks_uri: uri,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(signer.jwks().keys.map(({ alg }) => alg))].sort(),
  };
}
