/**
 * Bearer tokens: where a request carries one, in which order the kinds of tokens are tried, and a short memory of those found valid,
 * since the same token comes with every request of a client.
 */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { aggregate } from '../../apimachinery/go-text.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import type { IdentityStatistics } from '../metrics/identity-statistics.ts';
import type { ApiRequest } from '../request.ts';
import type { AuthenticationResult, Authenticator } from './authenticator.ts';

export interface TokenAuthenticator {
  readonly name: string;
  /**
   * Undefined: no token of my kind. Throwing: one of my kind that is not valid. `audiences` are those the token must be meant for; the
   * result's are those that it is meant for and were asked.
   */
  authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResult | undefined>;
}

/** Upstream's words for a token that nobody knows. */
export const invalidTokenMessage = 'invalid bearer token';
/** Before the token, in a sub-protocol of a WebSocket: the only place where a page can put one. */
export const bearerProtocolPrefix = 'base64url.bearer.authorization.k8s.io.';
const cacheEntries = 4096;

/** Takes the token from the `Authorization` header, or from a WebSocket's subprotocols, where browsers can put it. */
export function bearerAuthenticator(tokens: TokenAuthenticator, audiences: readonly string[]): Authenticator {
  return {
    name: 'BearerToken',
    async authenticate(request) {
      const token = bearerToken(request);
      if (token === undefined) return undefined;
      const result = await tokens.authenticateToken(token, audiences);
      if (!result) throw new Error(invalidTokenMessage);
      return result;
    },
  };
}

export function bearerToken({ headers }: ApiRequest): string | undefined {
  const [scheme, token] = (headers.authorization ?? '').trim().split(' ', 3);
  if (scheme?.toLowerCase() === 'bearer' && token) return token;
  if (headers.upgrade?.toLowerCase() !== 'websocket') return undefined;
  return protocolToken((headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim()));
}

/** Throws for a token that is there and cannot be one. */
function protocolToken(protocols: readonly string[]): string | undefined {
  const [first, ...more] = protocols.filter((protocol) => protocol.startsWith(bearerProtocolPrefix));
  if (first === undefined) return undefined;
  if (more.length > 0) throw new Error('multiple base64.bearer.authorization tokens specified');
  const encoded = first.slice(bearerProtocolPrefix.length);
  if (!/^[\w-]*$/.test(encoded)) throw new Error('invalid base64.bearer.authorization token encoding');
  const token = Buffer.from(encoded, 'base64url');
  if (!isUtf8(token)) throw new Error('invalid base64.bearer.authorization token');
  // The server must have a protocol to answer with other than the token itself.
  if (token.length > 0 && protocols.length < 2) throw new Error('missing additional subprotocol');
  return token.toString() || undefined;
}

/** The first that knows the token decides; when none does, the failures met on the way are thrown as one. */
export function unionTokens(authenticators: readonly TokenAuthenticator[]): TokenAuthenticator {
  return {
    name: 'TokenUnion',
    async authenticateToken(token, audiences) {
      const failures: string[] = [];
      for (const authenticator of authenticators) {
        try {
          const result = await authenticator.authenticateToken(token, audiences);
          if (result) return result;
        } catch (error) {
          failures.push(messageOf(error));
        }
      }
      if (failures.length > 0) throw new Error(aggregate(failures));
      return undefined;
    },
  };
}

/** As `unionTokens`, but the first failure is the answer: only the issuer of a token can say what is wrong with it. */
export function firstTokens(authenticators: readonly TokenAuthenticator[]): TokenAuthenticator {
  return {
    name: 'TokenUnionFailOnError',
    async authenticateToken(token, audiences) {
      for (const authenticator of authenticators) {
        const result = await authenticator.authenticateToken(token, audiences);
        if (result) return result;
      }
      return undefined;
    },
  };
}

/** For tokens that know no audience: they are meant for the API server itself, and for nobody else. */
export function audienceAgnostic(inner: TokenAuthenticator, apiAudiences: readonly string[]): TokenAuthenticator {
  return {
    name: inner.name,
    async authenticateToken(token, audiences) {
      if (audiences.length === 0) return inner.authenticateToken(token, audiences);
      const granted = apiAudiences.filter((audience) => audiences.includes(audience));
      if (granted.length === 0) return undefined;
      const result = await inner.authenticateToken(token, audiences);
      return result && { ...result, audiences: granted };
    },
  };
}

export interface TokenCacheOptions {
  readonly clock: Clock;
  readonly successTtlMs: number;
  /** Of tokens that nobody knows; errors are never remembered. Default 0: asked anew each time. */
  readonly failureTtlMs?: number | undefined;
  readonly statistics?: IdentityStatistics['tokenCache'] | undefined;
}

interface Remembered {
  readonly untilMs: number;
  readonly result: AuthenticationResult | undefined;
}

/** Remembers answers by the tokens' hashes; those who ask for the same token at the same time share one answer. */
export function cachedTokens(inner: TokenAuthenticator, options: TokenCacheOptions): TokenAuthenticator {
  const { clock, successTtlMs, failureTtlMs = 0, statistics } = options;
  const known = new Map<string, Remembered>();
  const asked = new Map<string, Promise<AuthenticationResult | undefined>>();

  async function fetch(key: string, token: string, audiences: readonly string[]) {
    statistics?.active.add({ status: 'in_flight' });
    let status = 'error';
    try {
      const result = await inner.authenticateToken(token, audiences);
      status = 'ok';
      const ttlMs = result ? successTtlMs : failureTtlMs;
      const oldest = known.keys().next();
      if (known.size >= cacheEntries && !oldest.done) known.delete(oldest.value);
      if (ttlMs > 0) known.set(key, { untilMs: clock.monotonic() + ttlMs, result });
      return result;
    } finally {
      asked.delete(key);
      statistics?.active.add({ status: 'in_flight' }, -1);
      statistics?.fetches.add({ status });
    }
  }

  return {
    name: inner.name,
    async authenticateToken(token, audiences) {
      const startMs = clock.monotonic();
      const key = createHash('sha256')
        .update(JSON.stringify([audiences, token]))
        .digest('base64');
      const hit = known.get(key);
      if (hit && hit.untilMs > startMs) {
        statistics?.requests.add({ status: 'hit' }, 0);
        return hit.result;
      }
      known.delete(key);
      let answer = asked.get(key);
      if (!answer) {
        answer = fetch(key, token, audiences);
        asked.set(key, answer);
      }
      try {
        return await answer;
      } finally {
        statistics?.requests.add({ status: 'miss' }, clock.monotonic() - startMs);
      }
    },
  };
}
