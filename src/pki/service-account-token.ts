/**
 * The claims of service account tokens: bound ones, which the TokenRequest API gives out, and legacy ones, which lie in Secrets.
 * Names and shapes are upstream's.
 */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { KubernetesClaims, ObjectReference, TokenClaims } from './token-signer.ts';

export interface BoundTokenOptions {
  readonly namespace: string;
  readonly serviceAccount: ObjectReference;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  /** What the token is bound to: it ends with it. A Pod's token names its node too. */
  readonly pod?: ObjectReference | undefined;
  readonly secret?: ObjectReference | undefined;
  readonly node?: { readonly name: string; readonly uid?: string | undefined } | undefined;
  /** For tokens that live longer than was asked: when their use begins to be reported. */
  readonly warnAfterSeconds?: number | undefined;
}

export interface LegacyTokenOptions {
  readonly namespace: string;
  readonly serviceAccount: ObjectReference;
  readonly secretName: string;
}

/** What a verified token says about its bearer, whichever form it has. */
export interface ServiceAccountIdentity {
  readonly namespace: string;
  readonly serviceAccount: ObjectReference;
  readonly pod: ObjectReference | undefined;
  readonly node: { readonly name: string; readonly uid?: string | undefined } | undefined;
  readonly secret: { readonly name: string; readonly uid?: string | undefined } | undefined;
  readonly warnAfter: number | undefined;
  readonly tokenId: string | undefined;
  readonly isLegacy: boolean;
}

/**
 * What ServiceAccount admission asks for: its tokens live longer than they say, so that old clients that never re-read them go on, and their
 * use is told.
 */
export const warnOnlyExpirationSeconds = 3607;
/** How much longer: a year. */
export const extendedExpirationSeconds: number = 365 * 24 * 3600;

const prefix = 'system:serviceaccount:';
const legacyClaim = 'kubernetes.io/serviceaccount/';

export function boundTokenClaims(
  options: BoundTokenOptions,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Omit<TokenClaims, 'iss'> {
  const { namespace, serviceAccount, audiences, expirationSeconds, pod, secret, node, warnAfterSeconds } = options;
  const now = Math.floor(clock.now() / 1000);
  const kubernetes: KubernetesClaims = {
    namespace,
    ...(node && { node }),
    ...(pod && { pod }),
    ...(secret && { secret }),
    serviceaccount: serviceAccount,
    ...(warnAfterSeconds && { warnafter: now + warnAfterSeconds }),
  };
  return {
    aud: audiences,
    exp: now + expirationSeconds,
    iat: now,
    jti: random.uuid(),
    'kubernetes.io': kubernetes,
    nbf: now,
    sub: `${prefix}${namespace}:${serviceAccount.name}`,
  };
}

/** Signed by a signer whose issuer is `legacyIssuer`. */
export function legacyTokenClaims({
  namespace,
  serviceAccount,
  secretName,
}: LegacyTokenOptions): Omit<TokenClaims, 'iss'> {
  return {
    [`${legacyClaim}namespace`]: namespace,
    [`${legacyClaim}secret.name`]: secretName,
    [`${legacyClaim}service-account.name`]: serviceAccount.name,
    [`${legacyClaim}service-account.uid`]: serviceAccount.uid,
    sub: `${prefix}${namespace}:${serviceAccount.name}`,
  };
}

/** Undefined: the claims are not those of a service account, or contradict one another. */
export function readIdentity(claims: TokenClaims): ServiceAccountIdentity | undefined {
  const identity = claims['kubernetes.io'] ? readBound(claims) : readLegacy(claims);
  if (!identity?.namespace || !identity.serviceAccount.name) return undefined;
  const subject = `${prefix}${identity.namespace}:${identity.serviceAccount.name}`;
  return claims.sub === subject ? identity : undefined;
}

function readBound(claims: TokenClaims): ServiceAccountIdentity | undefined {
  const { namespace, serviceaccount, pod, node, secret, warnafter } = claims['kubernetes.io']!;
  if (typeof namespace !== 'string' || typeof serviceaccount?.name !== 'string') return undefined;
  return {
    namespace,
    serviceAccount: serviceaccount,
    pod,
    node,
    secret,
    warnAfter: warnafter,
    tokenId: claims.jti,
    isLegacy: false,
  };
}

function readLegacy(claims: TokenClaims): ServiceAccountIdentity {
  const claim = (name: string) => {
    const value = claims[`${legacyClaim}${name}`];
    return typeof value === 'string' ? value : '';
  };
  return {
    namespace: claim('namespace'),
    serviceAccount: { name: claim('service-account.name'), uid: claim('service-account.uid') },
    pod: undefined,
    node: undefined,
    secret: { name: claim('secret.name') },
    warnAfter: undefined,
    tokenId: undefined,
    isLegacy: true,
  };
}
