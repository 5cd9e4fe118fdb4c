/**
 * The chain of authorizers of `kube-apiserver`, from `--authorization-mode` and its kin or from the file of `--authorization-config`, which is
 * followed while the server runs. A changed file that is wrong changes nothing and is told in the log.
 */
import { statSync } from 'node:fs';
import { errorsText, path as fieldPath } from '../../../apimachinery/field-error.ts';
import { aggregate, quote } from '../../../apimachinery/go-text.ts';
import { messageOf } from '../../../apimachinery/status.ts';
import { parseDuration } from '../../../apimachinery/time.ts';
import {
  authorizationModes,
  type ChainedAuthorizer,
  isBuiltInMode,
} from '../../../apiserver/authorization/authorization.ts';
import {
  type AuthorizationConfiguration,
  type AuthorizerConfiguration,
  nameProblems,
  validateAuthorizationConfiguration,
  type WebhookConfiguration,
  webhookDefaults,
} from '../../../apiserver/authorization/authorization-configuration.ts';
import { compileMatchConditions } from '../../../apiserver/authorization/match-conditions.ts';
import { webhookAuthorizer } from '../../../apiserver/authorization/webhook-authorizer.ts';
import type { IdentityStatistics } from '../../../apiserver/metrics/identity-statistics.ts';
import { serverWebhook } from '../../../apiserver/webhook-client/webhook-clients.ts';
import { FlagError } from '../../../serving/flags.ts';
import { CommandError } from '../../command-error.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import { decodeAsWritten, parseConfiguration, readConfigurationText } from '../flags/configuration-file.ts';
import { kubeconfigOptions } from '../flags/connection.ts';
import { contentHash, followFile } from '../flags/followed-file.ts';
import type { GivenFlags } from '../flags/given-flags.ts';

type Parts = Pick<ComponentEnvironment, 'clock' | 'random' | 'log'> & {
  readonly statistics: IdentityStatistics;
  /** Of `--authorization-policy-file`. */
  readonly policyFile?: string | undefined;
};

export interface FollowedChain {
  /** As it is now. */
  readonly chain: () => readonly ChainedAuthorizer[];
  close(): void;
}

interface Loaded {
  readonly chain: readonly ChainedAuthorizer[];
  close(): void;
}

const flag = '--authorization-config';
const webhookFlags = ['config-file', 'version', 'cache-authorized-ttl', 'cache-unauthorized-ttl'].map(
  (name) => `authorization-webhook-${name}`,
);
/** Questions to a webhook that is no longer in the chain may still be under way. */
const closeAfterMs = 60_000;

/** The configuration that the flags say; undefined where a file says it. Throws `FlagError`. */
export function configurationFromFlags(given: GivenFlags): AuthorizationConfiguration | undefined {
  const asked = given.list('authorization-mode');
  const [configFile, version, authorizedTTL, unauthorizedTTL] = webhookFlags.map((name) => given.text(name));
  if (given.optionalText('authorization-config') !== undefined) {
    const others = ['authorization-mode', ...webhookFlags];
    if (others.some((name) => given.isGiven(name)))
      throw new FlagError(
        `${flag} can not be specified when --authorization-mode or --authorization-webhook-* flags are defined`,
      );
    return undefined;
  }
  const modes = asked.length === 0 ? ['AlwaysAllow'] : asked;
  const policyFile = given.text('authorization-policy-file');
  const problem = modesProblem(modes, { webhookFile: configFile ?? '', policyFile });
  if (problem !== undefined) throw new FlagError(problem);
  const isCached = (text = '') => (parseDuration(text) ?? 0) !== 0;
  const webhook: WebhookConfiguration = {
    authorizedTTL,
    cacheAuthorizedRequests: isCached(authorizedTTL),
    unauthorizedTTL,
    cacheUnauthorizedRequests: isCached(unauthorizedTTL),
    timeout: '30s',
    failurePolicy: 'NoOpinion',
    subjectAccessReviewVersion: version,
    connectionInfo: { type: 'KubeConfigFile', ...(configFile ? { kubeConfigFile: configFile } : {}) },
  };
  return {
    authorizers: modes.map((type) =>
      type === 'Webhook' ? { type, name: 'default', webhook } : { type, name: type.toLowerCase() },
    ),
  };
}

interface ModeFiles {
  readonly webhookFile: string;
  readonly policyFile: string;
}

function modesProblem(modes: readonly string[], { webhookFile, policyFile }: ModeFiles): string | undefined {
  const unknown = modes.find((mode) => !(authorizationModes as readonly string[]).includes(mode));
  if (unknown !== undefined) return `authorization-mode ${quote(unknown)} is not a valid mode`;
  const asksPolicies = modes.includes('ABAC');
  if (asksPolicies && policyFile === '') return "authorization-mode ABAC's authorization policy file not passed";
  const asksWebhook = modes.includes('Webhook');
  if (asksWebhook && webhookFile === '') return "authorization-mode Webhook's authorization config file not passed";
  if (!asksPolicies && policyFile !== '') return 'cannot specify --authorization-policy-file without mode ABAC';
  if (!asksWebhook && webhookFile !== '')
    return 'cannot specify --authorization-webhook-config-file without mode Webhook';
  return new Set(modes).size < modes.length
    ? `authorization-mode [${modes.map(quote).join(' ')}] has mode specified more than once`
    : undefined;
}

/** Rejects with a `CommandError`. */
export async function chainFromConfiguration(
  configuration: AuthorizationConfiguration,
  parts: Parts,
): Promise<FollowedChain> {
  const { chain, close } = await build(configuration, '--authorization-webhook-config-file', parts);
  return { chain: () => chain, close };
}

/** Rejects with a `CommandError` for a file that is wrong now. */
export async function chainFromFile(path: string, parts: Parts): Promise<FollowedChain> {
  const { clock, log, statistics } = parts;
  let text = readConfigurationText(path, flag);
  const configuration = read(path, text, new Set());
  const requiredTypes = new Set(
    (configuration.authorizers ?? []).map(({ type = '' }) => type).filter((type) => type !== 'Webhook'),
  );
  let loaded = await build(configuration, flag, parts);
  statistics.loaded('authorization', contentHash(text));
  const look = async () => {
    try {
      const next = readConfigurationText(path, flag);
      if (next === text) return;
      text = next;
      const replacement = await build(read(path, next, requiredTypes), flag, parts);
      const { close } = loaded;
      loaded = replacement;
      clock.after(closeAfterMs, close);
      statistics.reloaded('authorization', { hash: contentHash(next), atMs: clock.now() });
      log.info('authorization configuration replaced', { path });
    } catch (error) {
      statistics.reloaded('authorization', { atMs: clock.now() });
      log.error('authorization configuration stays as it was', { path, error: messageOf(error) });
    }
  };
  const following = followFile({ path, clock, look });
  return {
    chain: () => loaded.chain,
    close() {
      void following.close().then(() => loaded.close());
    },
  };
}

function read(path: string, text: string, requiredTypes: ReadonlySet<string>): AuthorizationConfiguration {
  const configuration = decodeAsWritten(path, parseConfiguration(text, { path, flag }), {
    kind: 'AuthorizationConfiguration',
    apiVersion: 'apiserver.config.k8s.io/v1',
    olderVersions: ['apiserver.config.k8s.io/v1beta1', 'apiserver.config.k8s.io/v1alpha1'],
    flag,
  }) as AuthorizationConfiguration;
  const errors = validateAuthorizationConfiguration(configuration, { fileProblem });
  const problems = errors.length > 0 ? [errorsText(errors)] : nameProblems(configuration, requiredTypes);
  if (problems.length > 0) throw new CommandError(`${flag} ${path}: ${aggregate(problems)}`, 'Correct the file.');
  return configuration;
}

function fileProblem(path: string): string | undefined {
  try {
    return statSync(path).isFile() ? undefined : 'must be a regular file';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'no such file or directory' : (code ?? messageOf(error));
    return `error loading file: stat ${path}: ${reason}`;
  }
}

async function build({ authorizers = [] }: AuthorizationConfiguration, at: string, parts: Parts): Promise<Loaded> {
  const closers: (() => void)[] = [];
  const close = () => {
    for (const closeOne of closers) closeOne();
  };
  const chain: ChainedAuthorizer[] = [];
  try {
    for (const configured of authorizers) chain.push(await link(configured, at, { ...parts, closers }));
  } catch (error) {
    close();
    throw error;
  }
  return { chain, close };
}

async function link(
  { type = '', name = '', webhook }: AuthorizerConfiguration,
  at: string,
  parts: Parts & { readonly closers: (() => void)[] },
): Promise<ChainedAuthorizer> {
  if (isBuiltInMode(type)) return { type, name };
  if (type === 'ABAC') return { type, name, authorizer: await abacFrom(parts) };
  const settings = { ...webhookDefaults, ...webhook };
  const { connectionInfo, matchConditions = [] } = settings;
  if (connectionInfo?.type !== 'KubeConfigFile' || !connectionInfo.kubeConfigFile)
    throw new CommandError(`${at}: an API server reaches its webhooks by a kubeconfig.`, 'Use type KubeConfigFile.');
  const server = await kubeconfigOptions(connectionInfo.kubeConfigFile, { flag: at, clock: parts.clock });
  const made = serverWebhook(server, parts);
  parts.closers.push(made.close);
  const milliseconds = (cached: boolean | undefined, text: string | undefined) =>
    cached === false ? 0 : (parseDuration(text ?? '') ?? 0);
  const authorizer = webhookAuthorizer(made.webhook, {
    clock: parts.clock,
    random: parts.random,
    statistics: parts.statistics,
    name,
    version: settings.subjectAccessReviewVersion === 'v1' ? 'v1' : 'v1beta1',
    timeoutMs: milliseconds(true, settings.timeout),
    authorizedTtlMs: milliseconds(settings.cacheAuthorizedRequests, settings.authorizedTTL),
    unauthorizedTtlMs: milliseconds(settings.cacheUnauthorizedRequests, settings.unauthorizedTTL),
    failurePolicy: settings.failurePolicy === 'Deny' ? 'Deny' : 'NoOpinion',
    conditions: compileMatchConditions(matchConditions, fieldPath('matchConditions')).conditions,
  });
  return { type: 'Webhook', name, authorizer };
}

/** Read once: to change it is to start anew. */
async function abacFrom({ policyFile = '', log }: Parts) {
  const { abacAuthorizer, parseAbacPolicies } = await import('../../../apiserver/authorization/abac-authorizer.ts');
  const text = readConfigurationText(policyFile, '--authorization-policy-file');
  try {
    const { policies, someUnversioned } = parseAbacPolicies(policyFile, text);
    if (someUnversioned) log.warn('the policy file contains unversioned rules', { path: policyFile });
    return abacAuthorizer(policies);
  } catch (error) {
    throw new CommandError(messageOf(error), 'Correct the line.');
  }
}
