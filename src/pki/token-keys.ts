/** Which algorithm a key signs tokens with, and how it is published as a JSON Web Key. */
import type { KeyObject } from 'node:crypto';

export interface TokenAlgorithm {
  readonly name: 'ES256' | 'ES384' | 'ES512' | 'RS256';
  readonly digest: 'sha256' | 'sha384' | 'sha512';
}

/** Key order as upstream's encoder writes it. */
export interface PublishedKey {
  readonly use: 'sig';
  readonly kty: string;
  readonly kid: string;
  readonly crv?: string;
  readonly alg: string;
  readonly x?: string;
  readonly y?: string;
  readonly n?: string;
  readonly e?: string;
}

export interface JsonWebKeySet {
  readonly keys: readonly PublishedKey[];
}

const curves: Readonly<Record<string, TokenAlgorithm>> = {
  prime256v1: { name: 'ES256', digest: 'sha256' },
  secp384r1: { name: 'ES384', digest: 'sha384' },
  secp521r1: { name: 'ES512', digest: 'sha512' },
};

export function tokenAlgorithm(key: KeyObject): TokenAlgorithm {
  if (key.asymmetricKeyType === 'rsa') return { name: 'RS256', digest: 'sha256' };
  const algorithm = key.asymmetricKeyType === 'ec' && curves[key.asymmetricKeyDetails?.namedCurve ?? ''];
  if (!algorithm)
    throw new TypeError('service account tokens are signed with RSA keys or EC keys on P-256, P-384 or P-521');
  return algorithm;
}

export function toJsonWebKey(key: KeyObject, alg: string, kid: string): PublishedKey {
  const { kty, crv, x, y, n, e } = key.export({ format: 'jwk' });
  if (kty === 'RSA') return { use: 'sig', kty, kid, alg, n: n!, e: e! };
  return { use: 'sig', kty: kty!, kid, crv: crv!, alg, x: x!, y: y! };
}
