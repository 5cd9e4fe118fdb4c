/**
 * Tokens of service accounts as TokenRequest gives them out, bound to a Pod, Node or Secret and valid only while that object
 * is. A signature alone is never enough: the account must still exist under the uid the token names.
 */
import { quote } from '../../apimachinery/go-text.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { notFound } from '../../apimachinery/status.ts';
import { parseTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import { readIdentity, type ServiceAccountIdentity } from '../../pki/service-account-token.ts';
import { type TokenClaims, type TokenSigner, unverifiedClaims } from '../../pki/token-signer.ts';
import type { IdentityStatistics } from '../metrics/identity-statistics.ts';
import type { UserInfo } from '../request.ts';
import { serviceAccountGroups, serviceAccountUsername } from './service-account-users.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';
import type { TokenObjects } from './token-objects.ts';

export interface ServiceAccountTokenOptions {
  /** Accepts our issuers, and the legacy one. */
  readonly signer: Pick<TokenSigner, 'verify'>;
  /** Values of `iss` that are ours; the first signs. */
  readonly issuers: readonly string[];
  /** What tokens without audience are taken to be for. */
  readonly apiAudiences: readonly string[];
  readonly objects: TokenObjects;
  readonly clock: Clock;
  readonly counts?: IdentityStatistics['serviceAccountTokens'] | undefined;
}

/** An object may be deleted so long before the tokens bound to it die. */
const leewayMs = 60_000;

export function serviceAccountTokens(options: ServiceAccountTokenOptions): TokenAuthenticator {
  const { signer, issuers, apiAudiences } = options;
  return {
    name: 'ServiceAccount',
    async authenticateToken(token, audiences) {
      const issuer = unverifiedClaims(token)?.iss;
      if (issuer === undefined || !issuers.includes(issuer)) return undefined;
      const claims = await signer.verify(token);
      const accepted = acceptedAudiences(claims, audiences, apiAudiences);
      const identity = readIdentity(claims);
      if (!identity || identity.isLegacy) throw new Error('service account token claims could not be validated');
      const user = await userOf(identity, options);
      return { user, audiences: accepted, annotations: staleness(claims, identity, options) };
    },
  };
}

/** Of the audiences asked for, those that the token is for. Throws when there are none. */
export function acceptedAudiences(
  { aud }: TokenClaims,
  wanted: readonly string[],
  apiAudiences: readonly string[],
): readonly string[] {
  const own = aud?.length ? aud : apiAudiences;
  if (wanted.length === 0) return own;
  const accepted = own.filter((audience) => wanted.includes(audience));
  if (accepted.length > 0) return accepted;
  const list = (values: readonly string[]) => `[${values.map(quote).join(' ')}]`;
  throw new Error(`token audiences ${list(own)} is invalid for the target audiences ${list(wanted)}`);
}

async function userOf(identity: ServiceAccountIdentity, options: ServiceAccountTokenOptions): Promise<UserInfo> {
  const { objects, clock } = options;
  const { namespace, pod, secret, node } = identity;
  const { name, uid } = identity.serviceAccount;
  const deadBeforeMs = clock.now() - leewayMs;

  const account = await objects.serviceAccount({ namespace, name, uid });
  if (!account) throw notFound({ group: '', resource: 'serviceaccounts' }, name);
  if (account.metadata.uid !== uid) {
    throw new Error(`service account UID (${account.metadata.uid}) does not match claim (${uid})`);
  }
  if (isDead(account, deadBeforeMs)) throw new Error(`service account ${namespace}/${name} has been deleted`);

  const check = (title: string, object: KubeObject | undefined, claimedUid: string | undefined) => {
    if (!object || isDead(object, deadBeforeMs)) throw new Error('service account token has been invalidated');
    if (object.metadata.uid === claimedUid) return;
    const claim = `service account ${title.toLowerCase()} ref claim (${claimedUid})`;
    throw new Error(`${title} UID (${object.metadata.uid}) does not match ${claim}`);
  };
  if (secret) check('secret', await objects.secret({ ...secret, namespace }), secret.uid);
  if (pod) check('pod', await objects.pod({ ...pod, namespace }), pod.uid);
  // A Pod's token only tells its node; a token bound to a node alone dies with it.
  else if (node) check('node', await objects.node(node), node.uid);
  return {
    name: serviceAccountUsername(namespace, name),
    uid,
    groups: serviceAccountGroups(namespace),
    ...extraOf(identity),
  };
}

function extraOf({ pod, node, tokenId }: ServiceAccountIdentity): Pick<UserInfo, 'extra'> {
  const values = {
    'credential-id': tokenId && `JTI=${tokenId}`,
    'node-name': node?.name,
    'node-uid': node?.uid,
    'pod-name': pod?.name,
    'pod-uid': pod?.uid,
  };
  const present = Object.entries(values).filter((entry): entry is [string, string] => !!entry[1]);
  if (present.length === 0) return {};
  return {
    extra: Object.fromEntries(present.map(([name, value]) => [`authentication.kubernetes.io/${name}`, [value]])),
  };
}

/** Tokens that live longer than their clients asked for are told of once a client should have had a new one. */
function staleness(
  { sub }: TokenClaims,
  { warnAfter }: ServiceAccountIdentity,
  { clock, counts }: ServiceAccountTokenOptions,
): Readonly<Record<string, string>> {
  if (!warnAfter) return {};
  const overdueSeconds = Math.floor(clock.now() / 1000) - warnAfter;
  const isStale = clock.now() > warnAfter * 1000;
  counts?.add({ name: isStale ? 'stale_tokens' : 'valid_tokens' });
  if (!isStale) return {};
  const told = `subject: ${sub}, seconds after warning threshold: ${overdueSeconds}`;
  return { 'authentication.k8s.io/stale-token': told };
}

function isDead({ metadata }: KubeObject, beforeMs: number): boolean {
  const deletedAt = metadata.deletionTimestamp === undefined ? undefined : parseTime(metadata.deletionTimestamp);
  return deletedAt !== undefined && deletedAt < beforeMs;
}
