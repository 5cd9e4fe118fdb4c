/** Whether a token is its provider's, meant for us and in force. The signature is `jose`'s business, which this file alone loads. */
import { compactVerify, decodeProtectedHeader, importJWK, type JWK } from 'jose';
import { quote } from '../../../apimachinery/go-text.ts';
import { messageOf } from '../../../apimachinery/status.ts';
import { formatTime } from '../../../apimachinery/time.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Claims } from './claim-expressions.ts';
import type { KeySet } from './key-set.ts';

export interface TokenExpectations {
  readonly issuer: string;
  /** The token must be for one of these. */
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly clock: Clock;
}

/** All that may be asked for: no shared secrets, and never `none`. */
export const signingAlgorithms = [
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
] as const;

/** A provider's clock may be so far ahead of ours. */
const notBeforeLeewaySeconds = 60;

/** The token's claims. Rejects with an `Error` in upstream's words. */
export async function verifyToken(token: string, keySet: KeySet, expected: TokenExpectations): Promise<Claims> {
  const claims = await verifySignature(token, keySet, expected);
  checkIssuer(claims, expected);
  checkAudience(claims, expected);
  checkTimes(claims, expected.clock);
  return claims;
}

/** The issuer that a token names, unverified; undefined for what is no token at all. */
export function untrustedIssuer(token: string): string | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1]!, 'base64url').toString('utf8'));
    const { iss } = (claims ?? {}) as { iss?: unknown };
    if (iss === 'accounts.google.com') return 'https://accounts.google.com';
    return typeof iss === 'string' ? iss : undefined;
  } catch {
    return undefined;
  }
}

async function verifySignature(token: string, keySet: KeySet, { algorithms }: TokenExpectations): Promise<Claims> {
  const { alg = '', kid = '' } = headerOf(token);
  if (!algorithms.includes(alg)) {
    const list = `[${algorithms.map(quote).join(' ')}]`;
    throw new Error(`oidc: id token signed with unsupported algorithm, expected ${list} got ${quote(alg)}`);
  }
  const payload =
    (await payloadOf(token, alg, keySet.known(kid))) ?? (await payloadOf(token, alg, await refreshed(keySet, kid)));
  if (!payload) throw new Error('failed to verify signature: failed to verify id token signature');
  const text = Buffer.from(payload).toString('utf8');
  try {
    const claims: unknown = JSON.parse(text);
    if (typeof claims === 'object' && claims !== null && !Array.isArray(claims)) return claims as Claims;
  } catch {
    // Told below: what a stranger sent does not belong into messages.
  }
  throw new Error('oidc: failed to unmarshal claims: the payload is not a JSON object');
}

async function refreshed(keySet: KeySet, kid: string): Promise<readonly JWK[]> {
  try {
    return (await keySet.refreshed(kid)) ?? [];
  } catch (error) {
    throw new Error(`failed to verify signature: fetching keys ${messageOf(error)}`, { cause: error });
  }
}

function headerOf(token: string): { readonly alg?: string | undefined; readonly kid?: string | undefined } {
  try {
    const { alg, kid, crit } = decodeProtectedHeader(token) as Record<string, unknown>;
    if (crit !== undefined) throw new Error('unknown critical header');
    return { alg: typeof alg === 'string' ? alg : '', kid: typeof kid === 'string' ? kid : '' };
  } catch (error) {
    throw new Error('oidc: malformed jwt', { cause: error });
  }
}

/** Undefined when none of the keys has signed it. */
async function payloadOf(token: string, alg: string, keys: readonly JWK[]): Promise<Uint8Array | undefined> {
  for (const key of keys) {
    // A key for one algorithm, or for encryption, signs nothing under another.
    if ((key.alg !== undefined && key.alg !== alg) || (key.use !== undefined && key.use !== 'sig')) continue;
    if (key.kty !== 'RSA' && key.kty !== 'EC') continue;
    try {
      return (await compactVerify(token, await importJWK(key, alg), { algorithms: [alg] })).payload;
    } catch {
      // Not this one, or no key at all: the next may be.
    }
  }
  return undefined;
}

function checkIssuer({ iss }: Claims, { issuer }: TokenExpectations): void {
  const isGoogle = issuer === 'https://accounts.google.com' && iss === 'accounts.google.com';
  if (iss === issuer || isGoogle) return;
  const both = `expected ${quote(issuer)} got ${quote(typeof iss === 'string' ? iss : '')}`;
  throw new Error(`oidc: id token issued by a different provider, ${both}`);
}

function checkAudience({ aud }: Claims, { audiences }: TokenExpectations): void {
  const told = (Array.isArray(aud) ? aud : [aud]).filter((one): one is string => typeof one === 'string');
  if (audiences.some((audience) => told.includes(audience))) return;
  const list = (values: readonly string[]) => `[${values.map(quote).join(' ')}]`;
  const expected =
    audiences.length === 1 ? `audience ${quote(audiences[0]!)}` : `audience in ${list(audiences.toSorted())}`;
  throw new Error(`oidc: expected ${expected} got ${list(told)}`);
}

function checkTimes({ exp, nbf }: Claims, clock: Clock): void {
  const nowSeconds = clock.now() / 1000;
  const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
  const shown = (seconds: number) => formatTime(Math.min(Math.max(seconds, 0), 253_402_300_799) * 1000);
  const expiry = isTime(exp) ? exp : 0;
  if (expiry < nowSeconds) throw new Error(`oidc: token is expired (Token Expiry: ${shown(expiry)})`);
  if (nbf === undefined || nbf === null) return;
  if (!isTime(nbf)) throw new Error('oidc: failed to unmarshal claims: nbf is not a number');
  if (nowSeconds + notBeforeLeewaySeconds < nbf)
    throw new Error(`oidc: current time ${shown(nowSeconds)} before the nbf (not before) time: ${shown(nbf)}`);
}
