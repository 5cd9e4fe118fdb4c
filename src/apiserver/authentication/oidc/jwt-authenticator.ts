/** Tokens of one identity provider. A token of another issuer is none of its business; one of this issuer is either good or refused. */
import { createHash } from 'node:crypto';
import { quote } from '../../../apimachinery/go-text.ts';
import { messageOf } from '../../../apimachinery/status.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import type { IdentityStatistics } from '../../metrics/identity-statistics.ts';
import type { UserInfo } from '../../request.ts';
import type { TokenAuthenticator } from '../token-authenticator.ts';
import type { Claims } from './claim-expressions.ts';
import { userOf } from './claim-mapping.ts';
import type { JwtConfiguration } from './configuration.ts';
import { withDistributedClaim } from './distributed-claims.ts';
import { Provider } from './provider.ts';
import { type TokenExpectations, untrustedIssuer, verifyToken } from './token-verifier.ts';
import type { CompiledMappings } from './validation.ts';

export interface JwtAuthenticatorOptions {
  /** A valid one, and what validation made of it. */
  readonly configuration: JwtConfiguration;
  readonly mappings: CompiledMappings;
  readonly algorithms: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  /** Ends all looking for the provider. */
  readonly signal: AbortSignal;
  readonly statistics?: IdentityStatistics['jwt'] | undefined;
}

/** Other issuers whose tokens hold claims of this one's. */
const mostSources = 16;

export class JwtAuthenticator implements TokenAuthenticator {
  readonly name = 'OIDC';
  readonly #options: JwtAuthenticatorOptions;
  readonly #expected: TokenExpectations;
  readonly #provider: Provider;
  readonly #sources = new Map<string, Provider>();

  constructor(options: JwtAuthenticatorOptions) {
    this.#options = options;
    const { url: issuer = '', audiences = [], discoveryURL } = options.configuration.issuer ?? {};
    const { algorithms, clock } = options;
    this.#expected = { issuer, audiences, algorithms, clock };
    this.#provider = this.#providerOf(issuer, discoveryURL || undefined, options.statistics);
  }

  /** Resolves when tokens can be judged, or when nobody looks for the provider any more. */
  get ready(): Promise<void> {
    return this.#provider.found;
  }

  /** Undefined when tokens can be judged. */
  get problem(): string | undefined {
    const { problem } = this.#provider;
    const issuer = quote(this.#expected.issuer);
    return problem && `oidc: authenticator for issuer ${issuer} is not healthy: ${problem}`;
  }

  async authenticateToken(token: string): Promise<{ readonly user: UserInfo } | undefined> {
    if (untrustedIssuer(token) !== this.#expected.issuer) return undefined;
    const { clock, statistics } = this.#options;
    const startMs = clock.monotonic();
    let result = 'failure';
    try {
      const user = await this.#judge(token);
      result = 'success';
      return { user };
    } finally {
      const labels = { result, jwt_issuer_hash: hashOf(this.#expected.issuer) };
      statistics?.latency.add(labels, clock.monotonic() - startMs);
    }
  }

  async #judge(token: string): Promise<UserInfo> {
    const { keySet } = this.#provider;
    if (!keySet) throw new Error('oidc: authenticator not initialized');
    const { configuration, mappings } = this.#options;
    const claims = await verifyToken(token, keySet, this.#expected).catch((error: unknown) => {
      throw new Error(`oidc: verify token: ${messageOf(error)}`, { cause: error });
    });
    return userOf(await this.#complete(claims), configuration, mappings);
  }

  async #complete(claims: Claims): Promise<Claims> {
    const { configuration, clock, signal } = this.#options;
    const claim = configuration.claimMappings?.groups?.claim;
    if (!claim) return claims;
    const ca = configuration.issuer?.certificateAuthority || undefined;
    const verify = (token: string) => this.#verifySource(token);
    return withDistributedClaim(claims, { claim, ca, clock, signal, verify }).catch((error: unknown) => {
      throw new Error(`oidc: could not expand distributed claims: ${messageOf(error)}`, { cause: error });
    });
  }

  async #verifySource(token: string): Promise<Claims> {
    const issuer = untrustedIssuer(token) ?? '';
    let provider = issuer === this.#expected.issuer ? this.#provider : this.#sources.get(issuer);
    if (!provider && this.#sources.size < mostSources && URL.parse(issuer)?.protocol === 'https:') {
      provider = this.#providerOf(issuer);
      this.#sources.set(issuer, provider);
    }
    if (!provider?.keySet)
      throw new Error(
        `verifying untrusted issuer ${issuer} failed: verifier not initialized for issuer: ${quote(issuer)}`,
      );
    return verifyToken(token, provider.keySet, { ...this.#expected, issuer }).catch((error: unknown) => {
      throw new Error(`verify distributed claim token: ${messageOf(error)}`, { cause: error });
    });
  }

  #providerOf(issuer: string, discoveryUrl?: string, statistics?: IdentityStatistics['jwt']): Provider {
    const { clock, log, signal, configuration } = this.#options;
    const ca = configuration.issuer?.certificateAuthority || undefined;
    const issuerHash = { jwt_issuer_hash: hashOf(issuer) };
    const onFetch = (text: string | undefined) => {
      const labels = { ...issuerHash, result: text === undefined ? 'failure' : 'success' };
      statistics?.keySetFetched.set(labels, clock.now() / 1000);
      if (text === undefined) return;
      statistics?.keySets.delete(issuerHash);
      statistics?.keySets.set({ ...issuerHash, hash: hashOf(text) }, 1);
    };
    return new Provider({ issuer, discoveryUrl, clock, log, signal, ca, onFetch });
  }
}

function hashOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
