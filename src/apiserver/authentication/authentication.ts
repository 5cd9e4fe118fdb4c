/**
 * Who is asking: all ways to prove it, in upstream's order (front proxy, client certificate, bearer tokens), and `system:anonymous`
 * for who shows nothing. A credential that is shown and not valid is never taken for anonymous.
 */
import { unauthorized } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Client } from '../../client/client.ts';
import type { TokenSigner } from '../../pki/token-signer.ts';
import type { InformerSet } from '../../reconcile/informer.ts';
import type { IdentityStatistics } from '../metrics/identity-statistics.ts';
import type { ApiRequest, UserInfo } from '../request.ts';
import type { AuthenticationResult, Authenticator } from './authenticator.ts';
import { bootstrapTokens } from './bootstrap-tokens.ts';
import { legacyServiceAccountTokens } from './legacy-service-account-tokens.ts';
import { type RequestHeaderOptions, requestHeaderAuthenticator } from './request-header.ts';
import { serviceAccountTokens } from './service-account-tokens.ts';
import { staticTokens } from './static-tokens.ts';
import {
  audienceAgnostic,
  bearerAuthenticator,
  cachedTokens,
  type TokenAuthenticator,
  unionTokens,
} from './token-authenticator.ts';
import { tokenObjects } from './token-objects.ts';
import { certificateVerifier, x509Authenticator } from './x509-authenticator.ts';

export interface AuthenticationOptions {
  /** Of the loopback user: tokens are checked against Secrets, Pods and accounts. */
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly log: Log;
  /** PEM of `--client-ca-file`, asked for each time so that a renewed file counts; absent: no client certificates. */
  readonly clientCa?: (() => string) | undefined;
  /** Absent: no service account tokens. */
  readonly tokenSigner?: Pick<TokenSigner, 'verify'> | undefined;
  /** `--service-account-issuer`. */
  readonly issuers: readonly string[];
  /** `--api-audiences`; usually the issuers. */
  readonly apiAudiences: readonly string[];
  /** Text of `--token-auth-file`. */
  readonly tokenFile?: string | undefined;
  /** `--enable-bootstrap-token-auth`. */
  readonly bootstrapTokens?: boolean | undefined;
  /** Further kinds of tokens, asked after those above: of identity providers, of a webhook. */
  readonly remoteTokens?: readonly TokenAuthenticator[] | undefined;
  /** Who shows nothing may come in, everywhere or only to these paths; default everywhere. */
  readonly anonymous?: AnonymousAccess | undefined;
  /** `--service-account-lookup`; default true. */
  readonly serviceAccountLookup?: boolean | undefined;
  readonly statistics?: IdentityStatistics | undefined;
  /** `ca` is the PEM of `--requestheader-client-ca-file`. */
  readonly requestHeader?: (Omit<RequestHeaderOptions, 'verifier'> & { readonly ca: () => string }) | undefined;
}

export type AnonymousAccess = boolean | { readonly paths: readonly string[] };

export interface Authentication {
  /** Rejects with 401 `Unauthorized`. */
  authenticate(request: ApiRequest): Promise<AuthenticationResult>;
  /** For TokenReview. */
  readonly tokens: TokenAuthenticator;
  readonly apiAudiences: readonly string[];
}

const anonymousUser: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
/** How long a valid token is remembered. */
const successTtlMs = 10_000;

export function createAuthentication(options: AuthenticationOptions): Authentication {
  const { clock, apiAudiences, statistics } = options;
  const kinds = tokenKinds(options);
  const tokens = cachedTokens(unionTokens(kinds), { clock, successTtlMs, statistics: statistics?.tokenCache });
  const authenticators: Authenticator[] = [];
  if (options.requestHeader) {
    const { ca, ...rest } = options.requestHeader;
    authenticators.push(requestHeaderAuthenticator({ ...rest, verifier: certificateVerifier({ bundle: ca, clock }) }));
  }
  if (options.clientCa)
    authenticators.push(x509Authenticator(certificateVerifier({ bundle: options.clientCa, clock })));
  authenticators.push(bearerAuthenticator(tokens, apiAudiences));
  return {
    tokens,
    apiAudiences,
    async authenticate(request) {
      const failures: unknown[] = [];
      for (const authenticator of authenticators) {
        try {
          const result = await authenticator.authenticate(request);
          if (!result) continue;
          checkAudiences(result, apiAudiences);
          return withAuthenticatedGroup(result);
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length === 0 && isOpen(options.anonymous, request)) return { user: anonymousUser };
      if (failures.length > 0) options.log.warn('Unable to authenticate the request', { errors: failures.map(String) });
      throw unauthorized('Unauthorized', failures.length > 0 ? { cause: failures } : undefined);
    },
  };
}

function isOpen(anonymous: AnonymousAccess = true, { path }: ApiRequest): boolean {
  return typeof anonymous === 'boolean' ? anonymous : anonymous.paths.includes(path);
}

/** Throws for a credential that is good, but for somebody else. */
function checkAudiences({ audiences = [] }: AuthenticationResult, accepted: readonly string[]): void {
  if (audiences.length === 0 || accepted.length === 0) return;
  if (audiences.some((audience) => accepted.includes(audience))) return;
  const list = (values: readonly string[]) => `[${values.join(' ')}]`;
  throw new Error(`unable to match the audience: ${list(audiences)} , accepted: ${list(accepted)}`);
}

function tokenKinds(options: AuthenticationOptions): readonly TokenAuthenticator[] {
  const { client, informers, clock, issuers, apiAudiences, tokenSigner, serviceAccountLookup: lookup = true } = options;
  const kinds: TokenAuthenticator[] = [];
  if (options.tokenFile !== undefined) kinds.push(audienceAgnostic(staticTokens(options.tokenFile), apiAudiences));
  if (tokenSigner) {
    const { log, statistics } = options;
    const counts = statistics?.serviceAccountTokens;
    const shared = { signer: tokenSigner, apiAudiences, clock, counts, objects: tokenObjects({ client, informers }) };
    const legacy = legacyServiceAccountTokens({ ...shared, lookup, client, log });
    kinds.push(legacy, serviceAccountTokens({ ...shared, issuers }));
  }
  if (options.bootstrapTokens) kinds.push(audienceAgnostic(bootstrapTokens({ client, clock }), apiAudiences));
  // A foreign token must not make providers be asked for keys before all of our own have been tried.
  return [...kinds, ...(options.remoteTokens ?? [])];
}

/** Everybody who is known is in `system:authenticated`. */
export function withAuthenticatedGroup(result: AuthenticationResult): AuthenticationResult {
  const { user } = result;
  const settled = user.groups.some((group) => group === 'system:authenticated' || group === 'system:unauthenticated');
  if (settled || user.name === anonymousUser.name) return result;
  return { ...result, user: { ...user, groups: [...user.groups, 'system:authenticated'] } };
}
