/**
 * The old tokens of service accounts, which lie in Secrets of type `kubernetes.io/service-account-token`: they never expire, and die with
 * their Secret. Each day's first use is noted on the Secret, so that a controller can put away those that nobody uses.
 */
import { timingSafeEqual } from 'node:crypto';
import { type Secret, type ServiceAccount, secrets } from '../../api/gen/core-v1.ts';
import { messageOf, notFound } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Log } from '../../base/log.ts';
import type { Client } from '../../client/client.ts';
import { legacyIssuer, type TokenClaims, unverifiedClaims } from '../../pki/token-signer.ts';
import type { AuthenticationResult } from './authenticator.ts';
import { acceptedAudiences, type ServiceAccountTokenOptions } from './service-account-tokens.ts';
import { serviceAccountGroups, serviceAccountUsername, splitServiceAccountUsername } from './service-account-users.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';

export interface LegacyTokenOptions extends Omit<ServiceAccountTokenOptions, 'issuers'> {
  /** Whether Secret and account must still be there; else a signature is enough. */
  readonly lookup: boolean;
  /** Writes down when a token was used. */
  readonly client: Client;
  readonly log: Log;
}

interface LegacyIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly secretName: string;
}

const invalidSinceLabel = 'kubernetes.io/legacy-token-invalid-since';
const lastUsedLabel = 'kubernetes.io/legacy-token-last-used';
const annotation = 'authentication.k8s.io/legacy-token';
const dayMs = 24 * 3600 * 1000;

export function legacyServiceAccountTokens(options: LegacyTokenOptions): TokenAuthenticator {
  return {
    name: 'LegacyServiceAccount',
    async authenticateToken(token, audiences) {
      if (unverifiedClaims(token)?.iss !== legacyIssuer) return undefined;
      const claims = await options.signer.verify(token);
      const accepted = acceptedAudiences(claims, audiences, options.apiAudiences);
      const identity = identityOf(claims);
      const { namespace, name, uid } = identity;
      const told = options.lookup ? await lookUp(token, identity, options) : {};
      const user = { name: serviceAccountUsername(namespace, name), uid, groups: serviceAccountGroups(namespace) };
      return { user, audiences: accepted, ...told };
    },
  };
}

function identityOf(claims: TokenClaims): LegacyIdentity {
  const required = (title: string, value: unknown): string => {
    if (typeof value !== 'string' || value === '') throw new Error(`${title} claim is missing`);
    return value;
  };
  const subject = required('sub', claims.sub);
  const namespace = required('namespace', claims['kubernetes.io/serviceaccount/namespace']);
  const secretName = required('secretName', claims['kubernetes.io/serviceaccount/secret.name']);
  const name = required('serviceAccountName', claims['kubernetes.io/serviceaccount/service-account.name']);
  const uid = required('serviceAccountUID', claims['kubernetes.io/serviceaccount/service-account.uid']);
  const named = splitServiceAccountUsername(subject);
  if (named?.namespace !== namespace || named.name !== name) throw new Error('sub claim is invalid');
  return { namespace, name, uid, secretName };
}

/** Throws when the token is no longer what its Secret holds. */
async function lookUp(
  token: string,
  identity: LegacyIdentity,
  options: LegacyTokenOptions,
): Promise<Pick<AuthenticationResult, 'annotations' | 'warnings'>> {
  const { objects, counts } = options;
  const { namespace, name, uid, secretName } = identity;
  const secret = await objects.secret({ namespace, name: secretName });
  if (!secret || secret.metadata.deletionTimestamp) throw new Error('Token has been invalidated');
  if (!sameBytes(Buffer.from(secret.data?.token ?? '', 'base64'), Buffer.from(token))) {
    throw new Error("Token does not match server's copy");
  }
  const account = await objects.serviceAccount({ namespace, name, uid });
  if (!account) throw notFound({ group: '', resource: 'serviceaccounts' }, name);
  if (account.metadata.deletionTimestamp) throw new Error(`ServiceAccount ${namespace}/${name} has been deleted`);
  if (account.metadata.uid !== uid)
    throw new Error(`ServiceAccount UID (${account.metadata.uid}) does not match claim (${uid})`);
  await noteUse(secret, options);
  if (secret.metadata.labels?.[invalidSinceLabel]) {
    counts?.add({ name: 'invalid_legacy_auto_token_uses' });
    throw new Error(invalidated(identity));
  }
  return usage(secretName, account, counts);
}

function usage(secretName: string, account: ServiceAccount, counts: LegacyTokenOptions['counts']) {
  const generated = (account.secrets ?? []).some((reference) => reference.name === secretName);
  counts?.add({ name: generated ? 'legacy_auto_token_uses' : 'legacy_manual_token_uses' });
  if (!generated) return { annotations: { [`${annotation}-manual-secret`]: secretName } };
  const better = 'Use tokens from the TokenRequest API or manually created secret-based tokens';
  return {
    annotations: { [`${annotation}-autogenerated-secret`]: secretName },
    warnings: [`${better} instead of auto-generated secret-based tokens.`],
  };
}

function invalidated({ namespace, name, secretName }: LegacyIdentity): string {
  const use = 'Use tokens from the TokenRequest API or manually created secret-based tokens';
  const which = `the token in secret ${namespace}/${secretName} for service account ${namespace}/${name}`;
  const instead = `or remove the '${invalidSinceLabel}' label from the secret to temporarily allow use of this token`;
  return `${which} has been marked invalid. ${use}, ${instead}`;
}

/** Once a day; a clock of another server may be in the next day already. */
async function noteUse({ metadata }: Secret, { client, clock, log }: LegacyTokenOptions): Promise<void> {
  const { namespace, name = '', uid } = metadata;
  const [today, tomorrow] = [0, dayMs].map((aheadMs) => formatTime(clock.now() + aheadMs).slice(0, 10)) as [
    string,
    string,
  ];
  const lastUsed = metadata.labels?.[lastUsedLabel];
  if (lastUsed === today || lastUsed === tomorrow) return;
  const body = { metadata: { uid, labels: { [lastUsedLabel]: today } } };
  await client.patch(secrets, { namespace, name }, { type: 'merge', body }).catch((error: unknown) => {
    log.error('the use of a token of a Secret could not be noted', { namespace, name, error: messageOf(error) });
  });
}

function sameBytes(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
