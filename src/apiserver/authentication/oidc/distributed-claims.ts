/**
 * Groups that a token does not hold but points to (OpenID Connect Core 1.0, section 5.6.2): they are fetched as a token of their own, which
 * must be as good as the first.
 */
import { messageOf } from '../../../apimachinery/status.ts';
import type { Claims } from './claim-expressions.ts';
import { type HttpsGetOptions, httpsGet } from './https-get.ts';

export interface DistributedClaimOptions extends Omit<HttpsGetOptions, 'authorization'> {
  /** The claim that may be elsewhere. */
  readonly claim: string;
  /** The claims of a token from there, verified under the issuer that it names. */
  verify(token: string): Promise<Claims>;
}

/** The claims with the one that is elsewhere; rejects in upstream's words. */
export async function withDistributedClaim(claims: Claims, options: DistributedClaimOptions): Promise<Claims> {
  const { claim } = options;
  if (Object.hasOwn(claims, claim) || !Object.hasOwn(claims, '_claim_names')) return claims;
  const names = objectOf(claims._claim_names);
  if (!names) throw new Error('oidc: error parsing distributed claim names');
  if (!Object.hasOwn(claims, '_claim_sources')) throw new Error('oidc: no claim sources');
  const sources = objectOf(claims._claim_sources);
  if (!sources) throw new Error('oidc: could not parse claim sources');
  const name = Object.hasOwn(names, claim) ? names[claim] : undefined;
  if (typeof name !== 'string') return claims;
  const source = objectOf(Object.hasOwn(sources, name) ? sources[name] : undefined);
  if (!source) throw new Error(`id token _claim_names contained a source ${name} missing in _claims_sources`);
  const { endpoint, access_token: accessToken } = source;
  // Without an address it is a claim that the token holds in another way, which nobody reads.
  if (typeof endpoint !== 'string' || endpoint === '') return claims;
  const token = await fetched(endpoint, typeof accessToken === 'string' ? accessToken : '', options);
  const found = await options.verify(token);
  if (!Object.hasOwn(found, claim)) {
    const from = JSON.stringify(endpoint);
    throw new Error(`jwt returned by distributed claim endpoint ${from} did not contain claim: ${claim}`);
  }
  return { ...claims, [claim]: found[claim] };
}

async function fetched(endpoint: string, accessToken: string, options: DistributedClaimOptions): Promise<string> {
  try {
    const authorization = accessToken === '' ? undefined : `Bearer ${accessToken}`;
    const { status, statusText, text } = await httpsGet(endpoint, { ...options, authorization });
    if (status < 200 || status > 226) throw new Error(`error while getting distributed claim JWT: ${statusText}`);
    return text.trim();
  } catch (error) {
    const problem = `while getting distributed claim ${JSON.stringify(options.claim)}: ${messageOf(error)}`;
    throw new Error(problem, { cause: error });
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}
