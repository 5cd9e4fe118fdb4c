/**
 * Bootstrap tokens, `abcdef.0123456789abcdef`: what a new node shows to ask for its first certificate. They live in Secrets of
 * kube-system, say what they may be used for, and expire.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { secrets } from '../../api/gen/core-v1.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import { parseTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';

const tokenPattern = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const groupPattern = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;
const defaultGroup = 'system:bootstrappers';

export function bootstrapTokens(options: { readonly client: Client; readonly clock: Clock }): TokenAuthenticator {
  const { client, clock } = options;
  return {
    name: 'BootstrapToken',
    async authenticateToken(token) {
      const [, id, secretPart] = tokenPattern.exec(token) ?? [];
      if (id === undefined || secretPart === undefined) return undefined;
      const name = `bootstrap-token-${id}`;
      const secret = await client.get(secrets, { namespace: 'kube-system', name }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      if (!secret || secret.metadata.deletionTimestamp || secret.type !== 'bootstrap.kubernetes.io/token')
        return undefined;
      const data = (key: string) => Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');
      if (!sameText(data('token-secret'), secretPart) || data('token-id') !== id) return undefined;
      if (hasExpired(data('expiration'), clock.now()) || data('usage-bootstrap-authentication') !== 'true')
        return undefined;
      const groups = groupsOf(data('auth-extra-groups'));
      return groups && { user: { name: `system:bootstrap:${id}`, groups } };
    },
  };
}

/** A time that cannot be read counts as passed. */
function hasExpired(expiration: string, nowMs: number): boolean {
  if (expiration === '') return false;
  const atMs = parseTime(expiration);
  return atMs === undefined || nowMs >= atMs;
}

/** Undefined when one of the extra groups is not a bootstrapper's: the token is then worth nothing. */
function groupsOf(extra: string): readonly string[] | undefined {
  if (extra === '') return [defaultGroup];
  const groups = extra.split(',');
  return groups.every((group) => groupPattern.test(group)) ? [...new Set([defaultGroup, ...groups])].sort() : undefined;
}

/** In a time that does not tell where the texts differ. */
function sameText(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
