/**
 * All identity providers of a configuration, which can be replaced while the server runs: the new ones take over once each of them has
 * found its provider, so that a mistake in a file locks nobody out.
 */
import { aggregate } from '../../../apimachinery/go-text.ts';
import { withTimeout } from '../../../base/clock.ts';
import { firstTokens, type TokenAuthenticator } from '../token-authenticator.ts';
import type { JwtConfiguration } from './configuration.ts';
import { JwtAuthenticator, type JwtAuthenticatorOptions } from './jwt-authenticator.ts';
import type { CompiledMappings } from './validation.ts';

export type JwtAuthenticatorsOptions = Omit<JwtAuthenticatorOptions, 'configuration' | 'mappings' | 'signal'>;

interface Generation {
  readonly members: readonly JwtAuthenticator[];
  readonly authenticator: TokenAuthenticator;
  readonly ending: AbortController;
}

const replaceWithinMs = 60_000;
/** Requests that began with those replaced may still be under way. */
const endAfterMs = 60_000;

export class JwtAuthenticators implements TokenAuthenticator {
  readonly name = 'OIDC';
  readonly #options: JwtAuthenticatorsOptions;
  #current: Generation;

  /** `jwt` is valid, and `mappings` are what validation made of it. */
  constructor(
    jwt: readonly JwtConfiguration[],
    mappings: readonly CompiledMappings[],
    options: JwtAuthenticatorsOptions,
  ) {
    this.#options = options;
    this.#current = this.#generation(jwt, mappings);
  }

  authenticateToken(token: string, audiences: readonly string[]) {
    return this.#current.authenticator.authenticateToken(token, audiences);
  }

  /** Why tokens of some provider cannot be judged yet; undefined when all can. */
  get problem(): string | undefined {
    const problems = this.#current.members.flatMap(({ problem }) => problem ?? []);
    return problems.length > 0 ? aggregate(problems) : undefined;
  }

  /** Resolves when all providers are found. */
  async ready(): Promise<void> {
    await allReady(this.#current);
  }

  /** Rejects, with the old ones still in place, when a new provider is not found within a minute. */
  async replace(jwt: readonly JwtConfiguration[], mappings: readonly CompiledMappings[]): Promise<void> {
    const next = this.#generation(jwt, mappings);
    const late = () => new Error(aggregate(next.members.flatMap(({ problem }) => problem ?? [])));
    try {
      await withTimeout(this.#options.clock, allReady(next), replaceWithinMs, late);
    } catch (error) {
      next.ending.abort();
      throw error;
    }
    const { ending } = this.#current;
    this.#current = next;
    this.#options.clock.after(endAfterMs, () => ending.abort());
  }

  close(): void {
    this.#current.ending.abort();
  }

  #generation(jwt: readonly JwtConfiguration[], mappings: readonly CompiledMappings[]): Generation {
    const ending = new AbortController();
    const { signal } = ending;
    const members = jwt.map(
      (configuration, i) => new JwtAuthenticator({ ...this.#options, configuration, mappings: mappings[i]!, signal }),
    );
    return { members, authenticator: firstTokens(members), ending };
  }
}

async function allReady({ members }: Generation): Promise<void> {
  await Promise.all(members.map(({ ready }) => ready));
}
