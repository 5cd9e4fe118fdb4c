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
import type { ApiRequest, UserInfo } from '../request.ts';
import type { AuthenticationResult, Authenticator } from './authenticator.ts';
import { bootstrapTokens } from './bootstrap-tokens.ts';
import { type RequestHeaderOptions, requestHeaderAuthenticator } from './request-header.ts';
import { legacyServiceAccountTokens, serviceAccountTokens } from './service-account-tokens.ts';
import { staticTokens } from './static-tokens.ts';
import { bearerAuthenticator, cachedTokens, type TokenAuthenticator, unionTokens } from './token-authenticator.ts';
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
  /** `--anonymous-auth`; default true. */
  readonly anonymous?: boolean | undefined;
  /** `ca` is the PEM of `--requestheader-client-ca-file`. */
  readonly requestHeader?: (Omit<RequestHeaderOptions, 'verifier'> & { readonly ca: () => string }) | undefined;
  /** How long a valid token is remembered; default 10 s. */
  readonly tokenCacheTtlMs?: number | undefined;
}

export interface Authentication {
  /** Rejects with 401 `Unauthorized`. */
  authenticate(request: ApiRequest): Promise<AuthenticationResult>;
  /** For TokenReview. */
  readonly tokens: TokenAuthenticator;
  readonly apiAudiences: readonly string[];
}

const anonymousUser: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
const defaultTokenCacheTtlMs = 10_000;

export function createAuthentication(options: AuthenticationOptions): Authentication {
  const { clock, apiAudiences } = options;
  const kinds = tokenKinds(options);
  const successTtlMs = options.tokenCacheTtlMs ?? defaultTokenCacheTtlMs;
  const tokens = cachedTokens(unionTokens(kinds), { clock, successTtlMs });
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
          if (result) return withAuthenticatedGroup(result);
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length === 0 && options.anonymous !== false) return { user: anonymousUser };
      if (failures.length > 0) options.log.warn('Unable to authenticate the request', { errors: failures.map(String) });
      throw unauthorized('Unauthorized');
    },
  };
}

function tokenKinds(options: AuthenticationOptions): readonly TokenAuthenticator[] {
  const { client, informers, clock, issuers, apiAudiences, tokenSigner } = options;
  const kinds: TokenAuthenticator[] = [];
  if (options.tokenFile !== undefined) kinds.push(staticTokens(options.tokenFile));
  if (tokenSigner) {
    const shared = { signer: tokenSigner, apiAudiences, objects: tokenObjects({ client, informers }) };
    kinds.push(legacyServiceAccountTokens(shared), serviceAccountTokens({ ...shared, issuers, clock }));
  }
  if (options.bootstrapTokens) kinds.push(bootstrapTokens({ client, clock }));
  return kinds;
}

/** Everybody who is known is in `system:authenticated`. */
export function withAuthenticatedGroup(result: AuthenticationResult): AuthenticationResult {
  const { user } = result;
  const settled = user.groups.some((group) => group === 'system:authenticated' || group === 'system:unauthenticated');
  if (settled || user.name === anonymousUser.name) return result;
  return { ...result, user: { ...user, groups: [...user.groups, 'system:authenticated'] } };
}
