/**
 * Who is asking a component's own server (kubelet, scheduler, controller manager)? Client certificates are verified against a CA bundle
 * here, bearer tokens are asked of the API server (TokenReview) and remembered for a while. A credential that is presented and not valid
 * is never taken for anonymous.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { tokenReviews } from '../api/gen/authentication-v1.ts';
import { messageOf } from '../apimachinery/status.ts';
import type { Clock } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import { type Certificate, parseCertificate, parseCertificates, verifyCertificate } from '../pki/certificate.ts';
import { peerChain } from './peer-chain.ts';
import { TimedCache } from './timed-cache.ts';
import type { UserInfo } from './user-info.ts';

export type { UserInfo } from './user-info.ts';

/** Undefined: nobody known. Rejects when a credential is not valid, or cannot be checked. Both are 401. */
export type Authenticate = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => Promise<UserInfo | undefined>;

export interface DelegatedAuthenticationOptions {
  readonly clock: Clock;
  /** PEM of the authorities of client certificates, asked each time so that a renewed file is taken; absent: certificates count nothing. */
  readonly clientAuthorities?: (() => string) | undefined;
  /** Asks the API server about bearer tokens; absent: tokens count nothing. */
  readonly tokenReviews?: Client | undefined;
  /** How long an answer about a token is believed, yes or no. Default 2 minutes, as the kubelet's `authentication.webhook.cacheTTL`. */
  readonly cacheTtlMs?: number | undefined;
  /** Requests without any credential are `system:anonymous`. Default false. */
  readonly anonymous?: boolean | undefined;
}

export const anonymousUser: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

const authenticated = 'system:authenticated';
const cacheEntries = 4096;

export function delegatedAuthentication(options: DelegatedAuthenticationOptions): Authenticate {
  const { clock, clientAuthorities, tokenReviews: reviewer, cacheTtlMs = 120_000, anonymous = false } = options;
  const certificates = clientAuthorities && certificateCheck(clientAuthorities, clock);
  const tokens = reviewer && tokenCheck(reviewer, new TimedCache(clock, cacheEntries), cacheTtlMs);
  return async (request) => {
    const failures: string[] = [];
    const attempt = async (check: () => Promise<UserInfo | undefined> | UserInfo | undefined) => {
      try {
        return await check();
      } catch (error) {
        failures.push(messageOf(error));
        return undefined;
      }
    };
    const token = bearerToken(request.headers.authorization);
    const user =
      (certificates && (await attempt(() => certificates(request.socket as TLSSocket)))) ??
      (tokens && token !== undefined ? await attempt(() => tokens(token)) : undefined);
    if (user) return withAuthenticated(user);
    if (failures.length > 0) throw new Error(failures.join(', '));
    return anonymous ? anonymousUser : undefined;
  };
}

export function bearerToken(header: string | undefined): string | undefined {
  const [scheme, token] = (header ?? '').trim().split(' ', 3);
  return scheme?.toLowerCase() === 'bearer' && token ? token : undefined;
}

function withAuthenticated(user: UserInfo): UserInfo {
  const known = user.groups.includes(authenticated) || user.groups.includes('system:unauthenticated');
  return known ? user : { ...user, groups: [...user.groups, authenticated] };
}

/** Chains that were verified are remembered for as long as the bundle is the same; their dates are looked at each time. */
function certificateCheck(bundle: () => string, clock: Clock): (socket: TLSSocket) => UserInfo | undefined {
  let trusted: { readonly text: string; readonly roots: readonly Certificate[] } = { text: '', roots: [] };
  return (socket) => {
    const [leafBytes, ...rest] = peerChain(socket);
    if (!leafBytes) return undefined;
    const text = bundle();
    if (text !== trusted.text) trusted = { text, roots: parseCertificates(text) };
    const leaf = parseCertificate(leafBytes);
    verifyCertificate(leaf, {
      roots: trusted.roots,
      intermediates: rest.map(parseCertificate),
      usage: 'client auth',
      nowMs: clock.now(),
    });
    const { commonName, organizations } = leaf.subject;
    if (commonName === '') return undefined;
    const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${leaf.fingerprint}`] };
    return { name: commonName, groups: organizations, extra };
  };
}

function tokenCheck(
  client: Client,
  known: TimedCache<Promise<UserInfo | undefined>>,
  ttlMs: number,
): (token: string) => Promise<UserInfo> {
  return async (token) => {
    const key = createHash('sha256').update(token).digest('base64');
    let review = known.get(key);
    if (!review) {
      review = reviewToken(client, token);
      known.set(key, review, ttlMs);
      // Only answers are remembered, not the failure to get one.
      review.catch(() => known.delete(key));
    }
    const user = await review;
    if (!user) throw new Error('invalid bearer token');
    return user;
  };
}

async function reviewToken(client: Client, token: string): Promise<UserInfo | undefined> {
  const { status } = await client.create(tokenReviews, { metadata: {}, spec: { token } });
  if (!status?.authenticated) {
    if (status?.error) throw new Error(status.error);
    return undefined;
  }
  const { username = '', uid, groups = [], extra } = status.user ?? {};
  return { name: username, ...(uid ? { uid } : {}), groups, ...(extra ? { extra } : {}) };
}
