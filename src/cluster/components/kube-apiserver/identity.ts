/**
 * Who may come in to `kube-apiserver` and what they may do there, from its flags and the files that they name. What only few servers have,
 * identity providers and webhooks, is loaded by those alone.
 */
import type { AnonymousAccess } from '../../../apiserver/authentication/authentication.ts';
import { chainOf, isBuiltInMode } from '../../../apiserver/authorization/authorization.ts';
import { IdentityStatistics } from '../../../apiserver/metrics/identity-statistics.ts';
import type { ComposedApiServerOptions } from '../../control-plane/api-server.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import { readConfigurationText } from '../flags/configuration-file.ts';
import type { GivenFlags } from '../flags/given-flags.ts';
import type { TokenTrust } from './authentication.ts';

export interface Identity {
  readonly settings: Pick<ComposedApiServerOptions, 'authentication' | 'authorizers' | 'identity'>;
  /** Ends connections and stops looking at files. */
  close(): void;
}

/** Rejects with a `CommandError` or `FlagError` for flags or files that are wrong. */
export async function identityFrom(
  given: GivenFlags,
  trust: TokenTrust,
  environment: ComponentEnvironment,
): Promise<Identity> {
  const statistics = new IdentityStatistics();
  const parts = { ...environment, statistics };
  const authorization = await authorizationFrom(given, parts);
  const remote = await remoteAuthenticationFrom(given, trust, parts).catch((error: unknown) => {
    authorization.close();
    throw error;
  });
  return {
    settings: {
      authentication: {
        anonymous: anonymousFrom(given, remote?.anonymous, environment),
        tokenFile: tokenFileFrom(given),
        bootstrapTokens: given.flag('enable-bootstrap-token-auth'),
        serviceAccountLookup: given.flag('service-account-lookup'),
        remoteTokens: remote?.tokens,
      },
      authorizers: authorization.chain,
      identity: statistics,
    },
    close() {
      authorization.close();
      remote?.close();
    },
  };
}

function tokenFileFrom(given: GivenFlags): string | undefined {
  const path = given.optionalText('token-auth-file');
  return path === undefined ? undefined : readConfigurationText(path, '--token-auth-file');
}

/** Where everybody may do everything, nobody comes in unknown. */
function anonymousFrom(
  given: GivenFlags,
  inFile: AnonymousAccess | undefined,
  { log }: ComponentEnvironment,
): AnonymousAccess {
  const allowed = given.flag('anonymous-auth');
  if (inFile !== undefined) return inFile;
  const modes = given.list('authorization-mode');
  const allowsAll = modes.includes('AlwaysAllow') || (modes.length === 0 && !given.text('authorization-config'));
  if (allowed && allowsAll)
    log.warn(
      'AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. You should use a different authorizer',
    );
  return allowed && !allowsAll;
}

/** Loads what providers and webhooks need only for them. */
async function remoteAuthenticationFrom(given: GivenFlags, trust: TokenTrust, parts: Parts) {
  const asked = (name: string) =>
    name.startsWith('oidc-') || name === 'authentication-config' || name === 'authentication-token-webhook-config-file';
  if (![...given.parsed.given].some(asked)) return undefined;
  const { remoteAuthentication } = await import('./authentication.ts');
  return remoteAuthentication(given, trust, parts);
}

type Parts = ComponentEnvironment & { readonly statistics: IdentityStatistics };

/** Loads what webhooks and files need only for them. */
async function authorizationFrom(given: GivenFlags, parts: Parts) {
  const modes = given.list('authorization-mode');
  const own = modes.filter(isBuiltInMode);
  const path = given.optionalText('authorization-config');
  const files = ['authorization-webhook-config-file', 'authorization-policy-file'];
  const simple = path === undefined && files.every((name) => given.text(name) === '');
  if (simple && own.length === modes.length && new Set(own).size === own.length) {
    const chain = chainOf(own.length === 0 ? ['AlwaysAllow'] : own);
    return { chain: () => chain, close() {} };
  }
  const { chainFromConfiguration, chainFromFile, configurationFromFlags } = await import('./authorization.ts');
  const configuration = configurationFromFlags(given);
  const policyFile = given.optionalText('authorization-policy-file');
  const all = { ...parts, policyFile };
  return configuration ? chainFromConfiguration(configuration, all) : chainFromFile(path ?? '', all);
}
