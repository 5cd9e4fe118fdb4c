/**
 * Bearer tokens: where a request carries one, in which order the kinds of tokens are tried, and a short memory of those found valid,
 * since the same token comes with every request of a client.
 */
import { createHash } from 'node:crypto';
import { aggregate } from '../../apimachinery/go-text.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
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
const webSocketPrefix = 'base64url.bearer.authorization.k8s.io.';
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
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  const encoded = protocols.find((protocol) => protocol.startsWith(webSocketPrefix));
  // The server must have a protocol to answer with other than the token itself.
  if (encoded === undefined || protocols.length < 2) return undefined;
  return Buffer.from(encoded.slice(webSocketPrefix.length), 'base64url').toString('utf8') || undefined;
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

/** Remembers valid tokens for `successTtlMs` (upstream: 10 s), by their hash; failures are asked anew each time. */
export function cachedTokens(
  inner: TokenAuthenticator,
  options: { readonly clock: Clock; readonly successTtlMs: number },
): TokenAuthenticator {
  const { clock, successTtlMs } = options;
  const known = new Map<string, { readonly untilMs: number; readonly result: AuthenticationResult }>();
  return {
    name: inner.name,
    async authenticateToken(token, audiences) {
      const key = createHash('sha256').update(audiences.join('\0')).update('\n').update(token).digest('base64');
      const hit = known.get(key);
      if (hit && hit.untilMs > clock.monotonic()) return hit.result;
      known.delete(key);
      const result = await inner.authenticateToken(token, audiences);
      if (!result) return undefined;
      const oldest = known.keys().next();
      if (known.size >= cacheEntries && !oldest.done) known.delete(oldest.value);
      known.set(key, { untilMs: clock.monotonic() + successTtlMs, result });
      return result;
    },
  };
}
