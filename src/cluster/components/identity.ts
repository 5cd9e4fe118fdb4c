/**
 * Who may come in to `kube-apiserver` and what they may do there, from its flags and the files that they name. What only few servers have,
 * identity providers and webhooks, is loaded by those alone.
 */
import {
  type AuthorizationMode,
  authorizationModes,
  type ChainedAuthorizer,
  chainOf,
} from '../../apiserver/authorization/authorization.ts';
import { IdentityStatistics } from '../../apiserver/metrics/identity-statistics.ts';
import { FlagError } from '../../serving/flags.ts';
import type { ComposedApiServerOptions } from '../api-server.ts';
import type { ComponentEnvironment } from './component.ts';
import type { GivenFlags } from './given-flags.ts';

export interface Identity {
  readonly settings: Pick<ComposedApiServerOptions, 'authentication' | 'authorizers' | 'identity'>;
  /** Ends connections and stops looking at files. */
  close(): void;
}

/** Rejects with a `CommandError` for flags or files that are wrong. `issuers` are those of service account tokens. */
export async function identityFrom(
  given: GivenFlags,
  _issuers: readonly string[],
  _environment: ComponentEnvironment,
): Promise<Identity> {
  const chain = chainFrom(given);
  return {
    settings: {
      authentication: {
        anonymous: given.flag('anonymous-auth'),
        tokenFile: given.optionalText('token-auth-file'),
        bootstrapTokens: given.flag('enable-bootstrap-token-auth'),
        serviceAccountLookup: given.flag('service-account-lookup'),
      },
      authorizers: () => chain,
      identity: new IdentityStatistics(),
    },
    close() {},
  };
}

function chainFrom(given: GivenFlags): readonly ChainedAuthorizer[] {
  const asked = given.list('authorization-mode');
  const unknown = asked.filter((mode) => !(authorizationModes as readonly string[]).includes(mode));
  if (unknown.length > 0) throw new FlagError(`authorization-mode ${JSON.stringify(unknown[0])} is not a valid mode`);
  return chainOf(asked.length === 0 ? ['AlwaysAllow'] : (asked as readonly Exclude<AuthorizationMode, 'Webhook'>[]));
}
