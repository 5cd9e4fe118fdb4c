/**
 * May they use a component's own server? The API server decides (SubjectAccessReview); its answers are remembered, a yes longer than a no.
 * What cannot be asked is an error, never a yes.
 */
import { subjectAccessReviews } from '../api/gen/authorization-v1.ts';
import type { Clock } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import type { UserInfo } from './delegated-authentication.ts';
import { TimedCache } from './timed-cache.ts';

export interface ResourceAttributes {
  readonly verb: string;
  readonly group?: string | undefined;
  readonly version?: string | undefined;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** A question about a resource, or about a path of the server itself. */
export type AccessQuestion =
  | { readonly user: UserInfo; readonly resource: ResourceAttributes }
  | { readonly user: UserInfo; readonly path: string; readonly verb: string };

export interface AccessDecision {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Rejects when nobody could be asked. */
export type Authorize = (question: AccessQuestion) => Promise<AccessDecision>;

export interface DelegatedAuthorizationOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Default 5 minutes, as the kubelet's `authorization.webhook.cacheAuthorizedTTL`. */
  readonly allowedTtlMs?: number | undefined;
  /** Default 30 seconds, as `cacheUnauthorizedTTL`. */
  readonly refusedTtlMs?: number | undefined;
  /** Paths that anybody may read; a `*` at the end takes everything below. */
  readonly alwaysAllowPaths?: readonly string[] | undefined;
  readonly alwaysAllowGroups?: readonly string[] | undefined;
}

/** `authorization.mode: AlwaysAllow`. */
export const alwaysAllow: Authorize = async () => ({ allowed: true, reason: '' });

const cacheEntries = 8192;

export function delegatedAuthorization(options: DelegatedAuthorizationOptions): Authorize {
  const { client, clock, allowedTtlMs = 300_000, refusedTtlMs = 30_000 } = options;
  const { alwaysAllowPaths = [], alwaysAllowGroups = [] } = options;
  const known = new TimedCache<AccessDecision>(clock, cacheEntries);
  return async (question) => {
    if (question.user.groups.some((group) => alwaysAllowGroups.includes(group))) return { allowed: true, reason: '' };
    if ('path' in question && alwaysAllowPaths.some((pattern) => matches(pattern, question.path))) {
      return { allowed: true, reason: '' };
    }
    const spec = specOf(question);
    const key = JSON.stringify(spec);
    const remembered = known.get(key);
    if (remembered) return remembered;
    const { status } = await client.create(subjectAccessReviews, { metadata: {}, spec });
    const decision = { allowed: status?.allowed === true && status.denied !== true, reason: status?.reason ?? '' };
    known.set(key, decision, decision.allowed ? allowedTtlMs : refusedTtlMs);
    return decision;
  };
}

function specOf(question: AccessQuestion) {
  const { name, uid, groups, extra } = question.user;
  const user = { user: name, ...(uid ? { uid } : {}), groups, ...(extra ? { extra } : {}) };
  if ('resource' in question) return { ...user, resourceAttributes: question.resource };
  return { ...user, nonResourceAttributes: { path: question.path, verb: question.verb } };
}

function matches(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}
