/**
 * `kubectl --as`: a user who may impersonate goes on as somebody else. The ways are tried one after the other, that which last worked
 * for this user first; when none works the first refusal is told.
 */
import type { Clock } from '../../base/clock.ts';
import type { AuthorizationAttributes, Authorizer } from '../authorization/authorizer.ts';
import type { IdentityStatistics } from '../metrics/identity-statistics.ts';
import type { ApiRequest, RequestInfo, UserInfo } from '../request.ts';
import { wantedUser } from './impersonation-headers.ts';
import { type Impersonated, impersonationModes } from './impersonation-modes.ts';

export interface ImpersonationOptions {
  readonly authorizer: () => Authorizer;
  readonly clock: Clock;
  readonly statistics: IdentityStatistics['impersonation'];
  /** Gate `ConstrainedImpersonation`: whether rights narrower than `impersonate` are looked for. */
  readonly constrained: boolean;
}

/** Users whose last way is remembered, as upstream. */
const rememberedUsers = 10_000;

export class Impersonation {
  readonly #options: ImpersonationOptions;
  readonly #modes;
  /** Number of the way by user name. */
  readonly #lastWays = new Map<string, number>();

  constructor(options: ImpersonationOptions) {
    this.#options = options;
    this.#modes = impersonationModes(options);
  }

  /** Whom to go on as; undefined when nobody else is asked for. Rejects with 403, or 400 for groups without a user. */
  async of(request: ApiRequest, info: RequestInfo, user: UserInfo): Promise<Impersonated | undefined> {
    const wanted = wantedUser(request);
    if (!wanted) return undefined;
    const { clock, statistics } = this.#options;
    const startMs = clock.monotonic();
    const question = { requestor: user, wanted, info, authorizer: this.#countedAuthorizer() };
    let refusal: unknown;
    for (const index of this.#order(user.name)) {
      const mode = this.#modes[index]!;
      try {
        const found = await mode.check(question);
        if (!found) continue;
        this.#remember(user.name, index);
        statistics.attempts.add({ mode: mode.name, decision: 'allowed' }, clock.monotonic() - startMs);
        return found;
      } catch (error) {
        refusal ??= error;
      }
    }
    statistics.attempts.add({ mode: '', decision: 'denied' }, clock.monotonic() - startMs);
    throw refusal;
  }

  #order(name: string): readonly number[] {
    const all = this.#modes.map((_, index) => index);
    const last = this.#lastWays.get(name);
    return last === undefined ? all : [last, ...all.filter((index) => index !== last)];
  }

  #remember(name: string, index: number): void {
    this.#lastWays.delete(name);
    this.#lastWays.set(name, index);
    const [oldest] = this.#lastWays.keys();
    if (this.#lastWays.size > rememberedUsers && oldest !== undefined) this.#lastWays.delete(oldest);
  }

  #countedAuthorizer(): Authorizer {
    const { authorizer, clock, statistics } = this.#options;
    const inner = authorizer();
    return {
      name: inner.name,
      async authorize(attributes: AuthorizationAttributes) {
        const startMs = clock.monotonic();
        const answer = await inner.authorize(attributes);
        const decision = answer.decision === 'allow' ? 'allowed' : 'denied';
        statistics.checks.add({ mode: modeOf(attributes.info.verb), decision }, clock.monotonic() - startMs);
        return answer;
      },
    };
  }
}

/** `impersonate-on:user-info:list` and `impersonate:user-info` both belong to `user-info`. */
function modeOf(verb: string): string {
  return verb.split(':')[1] ?? 'legacy';
}
