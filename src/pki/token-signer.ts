/**
 * Signs and verifies the tokens of service accounts: JSON Web Tokens (RFC 7519) in the form and with the claims of upstream.
 * A `TokenSigner` says whether a token is genuine and in force; whether the account, Pod, Node or Secret that it names still exists,
 * and whether it is meant for this audience, is for the authenticator to ask.
 *
 * With an EC or RSA key the work is node:crypto's, called synchronously: 0.1 ms a token, and in the order asked for, which a
 * simulation depends on. `sharedSecretSigner` is wholly deterministic.
 */
import { createHmac, createPublicKey, type KeyObject, sign, timingSafeEqual, verify } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { keyId, parsePrivateKey, parsePublicKeys } from './keys.ts';
import { type JsonWebKeySet, type TokenAlgorithm, toJsonWebKey, tokenAlgorithm } from './token-keys.ts';

export interface ObjectReference {
  readonly name: string;
  readonly uid: string;
}

/** The claim `kubernetes.io`. */
export interface KubernetesClaims {
  readonly namespace: string;
  readonly serviceaccount: ObjectReference;
  readonly pod?: ObjectReference | undefined;
  readonly secret?: ObjectReference | undefined;
  readonly node?: { readonly name: string; readonly uid?: string | undefined } | undefined;
  /** When the use of this token begins to be reported, in seconds since 1970. */
  readonly warnafter?: number | undefined;
}

/** All claims of a token; times in seconds since 1970. */
export interface TokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly aud?: readonly string[] | undefined;
  readonly exp?: number | undefined;
  readonly iat?: number | undefined;
  readonly nbf?: number | undefined;
  readonly jti?: string | undefined;
  readonly 'kubernetes.io'?: KubernetesClaims | undefined;
  readonly [name: string]: unknown;
}

export interface TokenSigner {
  /** The issuer that signed tokens get. */
  readonly issuer: string;
  /** `iss` is set by the signer. */
  sign(claims: Omit<TokenClaims, 'iss'>): Promise<string>;
  /** Rejects with `TokenError`. */
  verify(token: string): Promise<TokenClaims>;
  /** The public keys with which others can verify; none if the key is a shared secret. */
  jwks(): JsonWebKeySet;
  /** How long others may keep `jwks`; absent: as long as they like. */
  keySetMaxAgeSeconds?(): number;
}

/** Why a token is not accepted. `issuer`: it is somebody else's, and another authenticator may know it. */
export class TokenError extends Error {
  override readonly name = 'TokenError';
  readonly reason: 'malformed' | 'issuer' | 'signature' | 'expired' | 'notYetValid';
  constructor(reason: TokenError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface TokenSignerOptions {
  readonly clock: Clock;
  /** `--service-account-issuer`: the first one signs, all are accepted. */
  readonly issuers: readonly [string, ...string[]];
  /** `--service-account-signing-key-file`: a private key in PEM. */
  readonly signingKeyPem: string;
  /** `--service-account-key-file`: further keys that are accepted, private or public, in PEM. */
  readonly verificationKeyPems?: readonly string[] | undefined;
}

/** The issuer of the tokens that lie in Secrets, and never expire. */
export const legacyIssuer = 'kubernetes/serviceaccount';

export interface VerificationKey {
  readonly id: string;
  readonly key: KeyObject;
  readonly algorithm: TokenAlgorithm;
}

export function createTokenSigner({
  clock,
  issuers,
  signingKeyPem,
  verificationKeyPems = [],
}: TokenSignerOptions): TokenSigner {
  const signingKey = parsePrivateKey(signingKeyPem);
  const publicKeys = [createPublicKey(signingKey), ...verificationKeyPems.flatMap(parsePublicKeys)];
  const keys = new Map(publicKeys.map((key) => [keyId(key), key]));
  const verificationKeys = [...keys].map(([id, key]): VerificationKey => ({ id, key, algorithm: tokenAlgorithm(key) }));
  const { id: kid, algorithm } = verificationKeys[0]!;
  const [issuer] = issuers;
  return {
    issuer,
    async sign(claims) {
      const text = signingInput({ alg: algorithm.name, kid }, { ...claims, iss: issuer });
      const signature = sign(algorithm.digest, Buffer.from(text), { key: signingKey, dsaEncoding: 'ieee-p1363' });
      return `${text}.${signature.toString('base64url')}`;
    },
    verify: (token) =>
      verifyToken(token, {
        clock,
        issuers,
        keysNamed: (named) => (named === '' ? verificationKeys : verificationKeys.filter(({ id }) => id === named)),
      }),
    jwks: () => ({ keys: verificationKeys.map(({ id, key, algorithm: { name } }) => toJsonWebKey(key, name, id)) }),
  };
}

export interface VerificationOptions {
  readonly clock: Clock;
  readonly issuers: readonly string[];
  /** The keys of an id; all of them for a token that names none. */
  readonly keysNamed: (id: string) => readonly VerificationKey[] | Promise<readonly VerificationKey[]>;
}

/** Rejects with `TokenError`. */
export async function verifyToken(
  token: string,
  { clock, issuers, keysNamed }: VerificationOptions,
): Promise<TokenClaims> {
  const { header, claims, input, signature } = parseToken(token);
  checkIssuer(claims, issuers);
  const { kid = '' } = header;
  const candidates = typeof kid === 'string' ? await keysNamed(kid) : [];
  if (candidates.length === 0) throw new TokenError('signature', 'invalid signature, no keys found');
  const genuine = candidates.some(
    ({ key, algorithm: { name, digest } }) =>
      header.alg === name && verify(digest, input, { key, dsaEncoding: 'ieee-p1363' }, signature),
  );
  if (!genuine) throw new TokenError('signature', 'invalid signature');
  checkTimes(claims, clock);
  return claims;
}

/** For simulations: tokens that depend on the secret and the claims alone (HS256). No other program can verify them. */
export function sharedSecretSigner(options: {
  readonly clock: Clock;
  /** The first one signs, all are accepted. */
  readonly issuers: readonly [string, ...string[]];
  readonly secret: Uint8Array;
}): TokenSigner {
  const { clock, issuers, secret } = options;
  const [issuer] = issuers;
  const mac = (input: Uint8Array | string) => createHmac('sha256', secret).update(input).digest();
  return {
    issuer,
    async sign(claims) {
      const text = signingInput({ alg: 'HS256' }, { ...claims, iss: issuer });
      return `${text}.${mac(text).toString('base64url')}`;
    },
    async verify(token) {
      const { header, claims, input, signature } = parseToken(token);
      checkIssuer(claims, issuers);
      const expected = mac(input);
      const genuine =
        header.alg === 'HS256' && signature.length === expected.length && timingSafeEqual(signature, expected);
      if (!genuine) throw new TokenError('signature', 'invalid signature');
      checkTimes(claims, clock);
      return claims;
    },
    jwks: () => ({ keys: [] }),
  };
}

/** What a token claims to be, unverified: for finding out whose it is, never for deciding anything. */
export function unverifiedClaims(token: string): TokenClaims | undefined {
  try {
    return parseToken(token).claims;
  } catch {
    return undefined;
  }
}

interface ParsedToken {
  readonly header: { readonly alg?: unknown; readonly kid?: unknown };
  readonly claims: TokenClaims;
  readonly input: Buffer;
  readonly signature: Buffer;
}

function signingInput(header: object, claims: object): string {
  return `${encodedPart(header)}.${encodedPart(claims)}`;
}

/** A header or a payload as it stands in a token. */
export function encodedPart(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function parseToken(token: string): ParsedToken {
  const [header, payload, signature, ...more] = token.split('.');
  const wellFormed = [header, payload, signature].every((part) => part !== undefined && /^[\w-]+$/.test(part));
  if (!wellFormed || more.length > 0) throw new TokenError('malformed', 'not a compact JSON Web Token');
  const claims = parsePart(payload!) as TokenClaims & { readonly aud?: unknown };
  const aud = typeof claims.aud === 'string' ? [claims.aud] : claims.aud;
  const audiencesAreText = aud === undefined || (Array.isArray(aud) && aud.every((one) => typeof one === 'string'));
  if (!audiencesAreText) throw new TokenError('malformed', 'the audience of the token is not text');
  return {
    header: parsePart(header!),
    claims: aud === undefined ? claims : { ...claims, aud },
    input: Buffer.from(`${header}.${payload}`),
    signature: Buffer.from(signature!, 'base64url'),
  };
}

function parsePart(part: string): object {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(part, 'base64url').toString());
  } catch {
    throw new TokenError('malformed', 'a part of the token is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TokenError('malformed', 'a part of the token is not a JSON object');
  }
  return value;
}

function checkIssuer({ iss }: TokenClaims, issuers: readonly string[]): void {
  if (!issuers.includes(iss)) throw new TokenError('issuer', `token issuer ${JSON.stringify(iss)} is invalid`);
}

/** Upstream's words. The grace of a minute that others give is not given: upstream gives none. */
function checkTimes({ exp, nbf }: TokenClaims, clock: Clock): void {
  const nowSeconds = clock.now() / 1000;
  const isTime = (value: unknown) => value === undefined || Number.isFinite(value);
  if (!isTime(exp) || !isTime(nbf)) throw new TokenError('malformed', 'a time of the token is not a number');
  if (exp !== undefined && nowSeconds >= exp) throw new TokenError('expired', 'service account token has expired');
  if (nbf !== undefined && nowSeconds < nbf)
    throw new TokenError('notYetValid', 'service account token is not valid yet');
}
