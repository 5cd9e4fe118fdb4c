/**
 * Tokens that others vouch for at `kube-apiserver`: of identity providers, from the flags `--oidc-*` or the file of
 * `--authentication-config`, which is followed while the server runs, and of a webhook. A changed file that is wrong changes
 * nothing and is told in the log.
 */
import { semanticallyEqual } from '../../../api/equality.ts';
import { errorsText, type FieldError, path as fieldPath, forbidden } from '../../../apimachinery/field-error.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import { messageOf } from '../../../apimachinery/status.ts';
import type { AnonymousAccess } from '../../../apiserver/authentication/authentication.ts';
import type {
  AuthenticationConfiguration,
  JwtConfiguration,
} from '../../../apiserver/authentication/oidc/configuration.ts';
import { JwtAuthenticators } from '../../../apiserver/authentication/oidc/jwt-authenticators.ts';
import { signingAlgorithms } from '../../../apiserver/authentication/oidc/token-verifier.ts';
import { validateAuthenticationConfiguration } from '../../../apiserver/authentication/oidc/validation.ts';
import {
  audienceAgnostic,
  cachedTokens,
  type TokenAuthenticator,
} from '../../../apiserver/authentication/token-authenticator.ts';
import { webhookTokens } from '../../../apiserver/authentication/webhook-tokens.ts';
import type { IdentityStatistics } from '../../../apiserver/metrics/identity-statistics.ts';
import { serverWebhook } from '../../../apiserver/webhook-client/webhook-clients.ts';
import { FlagError } from '../../../serving/flags.ts';
import { readPem } from '../../certificates/pem-files.ts';
import { CommandError } from '../../command-error.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import { decodeAsWritten, parseConfiguration, readConfigurationText } from '../flags/configuration-file.ts';
import { kubeconfigOptions } from '../flags/connection.ts';
import { contentHash, followFile } from '../flags/followed-file.ts';
import type { GivenFlags } from '../flags/given-flags.ts';

/** Service account tokens, which a token of another issuer must not pass for, and what tokens must be for. */
export interface TokenTrust {
  readonly issuers: readonly string[];
  readonly apiAudiences: readonly string[];
}

type Parts = Pick<ComponentEnvironment, 'clock' | 'random' | 'log'> & { readonly statistics: IdentityStatistics };

export interface RemoteAuthentication {
  /** In the order in which they are asked. */
  readonly tokens: readonly TokenAuthenticator[];
  /** What the file says; undefined where it leaves that to the flag. */
  readonly anonymous: AnonymousAccess | undefined;
  close(): void;
}

const flag = '--authentication-config';

/** Rejects with a `CommandError` or `FlagError`. */
export async function remoteAuthentication(
  given: GivenFlags,
  trust: TokenTrust,
  parts: Parts,
): Promise<RemoteAuthentication> {
  const path = given.optionalText('authentication-config');
  const fromFlags = oidcConfiguration(given, path);
  const providers =
    path === undefined ? providersFromFlags(given, fromFlags, { trust, parts }) : providersFromFile(path, trust, parts);
  if (providers.anonymous !== undefined && given.isGiven('anonymous-auth'))
    throw new FlagError(
      errorsText([
        forbidden(
          fieldPath('anonymous'),
          '--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
        ),
      ]),
    );
  const webhook = await webhookFrom(given, trust, parts);
  return {
    tokens: [
      ...(providers.tokens ? [audienceAgnostic(providers.tokens, trust.apiAudiences)] : []),
      ...(webhook ? [webhook.tokens] : []),
    ],
    anonymous: providers.anonymous,
    close() {
      providers.close();
      webhook?.close();
    },
  };
}

/** One provider, as the flags describe it; undefined without them. Throws `FlagError`. */
function oidcConfiguration(given: GivenFlags, path: string | undefined): JwtConfiguration | undefined {
  const text = (name: string) => given.text(`oidc-${name}`);
  const [issuer, clientId, claim, groupsClaim] = ['issuer-url', 'client-id', 'username-claim', 'groups-claim'].map(
    text,
  ) as [string, string, string, string];
  const [usernamePrefix, groupsPrefix, caFile] = ['username-prefix', 'groups-prefix', 'ca-file'].map(text);
  const required = Object.entries(given.map('oidc-required-claim'));
  const isAsked = [...given.parsed.given].some((name) => name.startsWith('oidc-'));
  if (!isAsked) return undefined;
  if (path !== undefined) throw new FlagError('authentication-config file and oidc-* flags are mutually exclusive');
  if (issuer === '' || clientId === '')
    throw new FlagError('oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set');
  // Names of a provider's users must not be those of others, unless they are addresses or somebody says so.
  const prefix = usernamePrefix || (claim === 'email' ? '' : `${issuer}#`);
  return {
    issuer: {
      url: issuer,
      audiences: [clientId],
      ...(caFile ? { certificateAuthority: readPem('--oidc-ca-file', caFile) } : {}),
    },
    claimMappings: {
      username: { claim, prefix: prefix === '-' ? '' : prefix },
      ...(groupsClaim === '' ? {} : { groups: { claim: groupsClaim, prefix: groupsPrefix ?? '' } }),
    },
    claimValidationRules: required.map(([name, requiredValue]) => ({ claim: name, requiredValue })),
  };
}

interface Providers {
  readonly tokens?: TokenAuthenticator | undefined;
  readonly anonymous?: AnonymousAccess | undefined;
  close(): void;
}

function providersFromFlags(
  given: GivenFlags,
  configuration: JwtConfiguration | undefined,
  { trust, parts }: { readonly trust: TokenTrust; readonly parts: Parts },
): Providers {
  const algorithms = given.list('oidc-signing-algs');
  if (!configuration) return { close() {} };
  const unknown = algorithms.find((algorithm) => !(signingAlgorithms as readonly string[]).includes(algorithm));
  if (unknown !== undefined) throw new FlagError(`oidc: unsupported signing alg: ${quote(unknown)}`);
  const { errors, mappings } = validateAuthenticationConfiguration({ jwt: [configuration] }, trust.issuers);
  if (errors.length > 0) throw new FlagError(`invalid authentication configuration: ${errorsText(errors)}`);
  const tokens = new JwtAuthenticators([configuration], mappings, authenticatorOptions(algorithms, parts));
  return { tokens, close: () => tokens.close() };
}

function providersFromFile(path: string, { issuers }: TokenTrust, parts: Parts): Providers {
  const { clock, log, statistics } = parts;
  let text = readConfigurationText(path, flag);
  const { jwt = [], anonymous } = read(path, text);
  const { errors, mappings } = validateAuthenticationConfiguration({ jwt, anonymous }, issuers);
  refuse(path, errors);
  refuseTunnels(path, jwt);
  const tokens = new JwtAuthenticators(jwt, mappings, authenticatorOptions(signingAlgorithms, parts));
  statistics.loaded('authentication', contentHash(text));

  /** What can never become right is not tried again; a provider that is not there may come. */
  const look = async () => {
    let next: string | undefined;
    try {
      next = readConfigurationText(path, flag);
      if (next === text) return;
      const changed = read(path, next);
      const validated = validateAuthenticationConfiguration(changed, issuers);
      const isSame = semanticallyEqual(changed.anonymous, anonymous);
      const fixed = isSame ? [] : [forbidden(fieldPath('anonymous'), 'changed from initial configuration file')];
      refuse(path, [...validated.errors, ...fixed]);
      refuseTunnels(path, changed.jwt ?? []);
      await tokens.replace(changed.jwt ?? [], validated.mappings);
      text = next;
      statistics.reloaded('authentication', { hash: contentHash(next), atMs: clock.now() });
      log.info('authentication configuration replaced', { path });
    } catch (error) {
      if (error instanceof CommandError && next !== undefined) text = next;
      statistics.reloaded('authentication', { atMs: clock.now() });
      log.error('authentication configuration stays as it was', { path, error: messageOf(error) });
    }
  };
  const following = followFile({ path, clock, look });
  return {
    tokens,
    anonymous: anonymous && anonymousAccess(anonymous),
    close() {
      void following.close().then(() => tokens.close());
    },
  };
}

function anonymousAccess({ enabled = false, conditions = [] }: NonNullable<AuthenticationConfiguration['anonymous']>) {
  return enabled && conditions.length > 0 ? { paths: conditions.map(({ path = '' }) => path) } : enabled;
}

function read(path: string, text: string): AuthenticationConfiguration {
  if (text === '') throw new CommandError(`${flag} ${path}: empty config data`, 'Write a configuration.');
  return decodeAsWritten(path, parseConfiguration(text, { path, flag }), {
    kind: 'AuthenticationConfiguration',
    apiVersion: 'apiserver.config.k8s.io/v1',
    olderVersions: ['apiserver.config.k8s.io/v1beta1', 'apiserver.config.k8s.io/v1alpha1'],
    flag,
  }) as AuthenticationConfiguration;
}

function refuse(path: string, errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const problem = `invalid authentication configuration: ${errorsText(errors)}`;
  throw new CommandError(`${flag} ${path}: ${problem}`, 'Correct the file.');
}

/** Without tunnels there is no other way to a provider than the direct one, which is not what was asked for. */
function refuseTunnels(path: string, jwt: readonly JwtConfiguration[]): void {
  const type = jwt.map(({ issuer }) => issuer?.egressSelectorType).find((asked) => asked);
  if (type === undefined) return;
  const problem = `oidc: egress lookup required with egress selector type ${quote(type)}`;
  throw new CommandError(`${flag} ${path}: ${problem}`, 'Leave egressSelectorType out.');
}

function authenticatorOptions(algorithms: readonly string[], { clock, log, statistics }: Parts) {
  return { algorithms, clock, log, statistics: statistics.jwt };
}

async function webhookFrom(given: GivenFlags, { apiAudiences }: TokenTrust, parts: Parts) {
  const path = given.optionalText('authentication-token-webhook-config-file');
  const version = given.text('authentication-token-webhook-version');
  const ttlMs = given.milliseconds('authentication-token-webhook-cache-ttl');
  if (path === undefined) return undefined;
  if (version !== 'v1' && version !== 'v1beta1')
    throw new FlagError(
      `unsupported authentication webhook version ${quote(version)}, supported versions are "v1", "v1beta1"`,
    );
  const { clock } = parts;
  const server = await kubeconfigOptions(path, { flag: '--authentication-token-webhook-config-file', clock });
  const { webhook, close } = serverWebhook(server, parts);
  const asked = webhookTokens(webhook, { ...parts, version, apiAudiences });
  return { tokens: cachedTokens(asked, { clock, successTtlMs: ttlMs, failureTtlMs: ttlMs }), close };
}
