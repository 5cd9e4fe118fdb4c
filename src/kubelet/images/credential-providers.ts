/**
 * Asks programs of the node's administrator for credentials: each that is named for an image, once per image at a time, and not again
 * as long as its answer may be kept. A program that fails gives none; the pull goes on with what others gave.
 */
import { type Pod, serviceAccounts } from '../../api/gen/core-v1.ts';
import { isObject } from '../../apimachinery/patch/merge-patch.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { parseDuration } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Client } from '../../client/client.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { ServiceAccountTokens } from '../volumes/service-account-tokens.ts';
import type { CredentialProvider, TokenAttributes } from './credential-provider-settings.ts';
import { type CredentialSource, Keyring, type RegistryEntry, type SourcedCredentials } from './credentials.ts';
import { repositoryOf } from './image-names.ts';
import { matchesRegistry } from './registry-pattern.ts';

/** Runs the provider's program with that text as its input; what it printed. Rejects with why there is nothing. */
export type RunProvider = (provider: CredentialProvider, input: string) => Promise<string>;

export interface CredentialProvidersOptions {
  readonly providers: readonly CredentialProvider[];
  readonly run: RunProvider;
  readonly client: Client;
  readonly tokens: ServiceAccountTokens;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: KubeletMetrics | undefined;
}

type Entries = Readonly<Record<string, RegistryEntry>>;

interface Answer {
  readonly cacheKeyType: string;
  /** Absent: as the provider's settings say. */
  readonly cacheMs: number | undefined;
  readonly entries: Entries;
}

interface Kept {
  readonly entries: Entries;
  readonly untilMs: number;
}

/** For whom a provider is asked. */
interface Account {
  readonly source: CredentialSource;
  readonly token: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Two accounts of the same key may be told the same. */
  readonly key: string;
}

const global = '<global>';
const purgePeriodMs = 15 * 60_000;
const tokenSeconds = 3600;

export class CredentialProviders {
  readonly #options: CredentialProvidersOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #running = new Map<string, Promise<Answer>>();
  #purgedMs: number;

  constructor(options: CredentialProvidersOptions) {
    this.#options = options;
    this.#purgedMs = options.clock.now();
  }

  /** Those of all providers, as one keyring finds them. */
  async lookup(image: string, pod: Pod): Promise<readonly SourcedCredentials[]> {
    const keyring = new Keyring();
    for (const provider of this.#options.providers) {
      try {
        const { entries, source } = await this.#provide(provider, repositoryOf(image), pod);
        for (const [registry, entry] of Object.entries(entries)) keyring.add(registry, entry, source);
      } catch (error) {
        const { namespace, name } = pod.metadata;
        this.#options.log.error('Failed to provide credentials for image', {
          provider: provider.name,
          image,
          pod: `${namespace}/${name}`,
          error: messageOf(error),
        });
      }
    }
    return keyring.lookup(image);
  }

  async #provide(
    provider: CredentialProvider,
    repository: string,
    pod: Pod,
  ): Promise<{ readonly entries: Entries; readonly source?: CredentialSource | undefined }> {
    if (!provider.matchImages.some((pattern) => matchesRegistry(pattern, repository))) return { entries: {} };
    let account: Account | undefined;
    if (provider.tokens) {
      if (pod.spec.serviceAccountName) account = await this.#account(provider.tokens, pod);
      if (!account && (pod.spec.serviceAccountName || provider.tokens.requireServiceAccount)) return { entries: {} };
    }
    const keys = [repository, registryOf(repository), global].map((key) => cacheKey(provider, key, account));
    const kept = this.#lookupKept(keys);
    if (kept) return { entries: kept, source: account?.source };
    const answer = await this.#ask(provider, repository, account);
    const untilMs = this.#options.clock.now() + (answer.cacheMs ?? provider.defaultCacheMs);
    const key = keys[cacheKeyTypes.indexOf(answer.cacheKeyType)];
    if (key === undefined)
      throw new Error(`credential provider plugin did not return a valid cacheKeyType: ${answer.cacheKeyType}`);
    if (untilMs > this.#options.clock.now()) this.#kept.set(key, { entries: answer.entries, untilMs });
    return { entries: answer.entries, source: account?.source };
  }

  /** Undefined where an annotation is missing by which the account would take part. */
  async #account(wish: TokenAttributes, pod: Pod): Promise<Account | undefined> {
    const { client, log, tokens } = this.#options;
    const { namespace = '' } = pod.metadata;
    const name = pod.spec.serviceAccountName ?? '';
    const { metadata } = await client.get(serviceAccounts, { namespace, name }).catch((error) => {
      throw new Error(`failed to get service account: ${messageOf(error)}`, { cause: error });
    });
    const { uid = '', annotations: all = {} } = metadata;
    const missing = wish.requiredAnnotationKeys.find((key) => !Object.hasOwn(all, key));
    if (missing !== undefined) {
      log.debug('Failed to get service account data', {
        error: `required annotation ${missing} not found`,
        namespace,
        name,
      });
      return undefined;
    }
    const wanted = [...wish.requiredAnnotationKeys, ...wish.optionalAnnotationKeys].sort();
    const annotations = Object.fromEntries(
      wanted.filter((key) => Object.hasOwn(all, key)).map((key) => [key, all[key]!]),
    );
    const request = { audience: wish.audience, expirationSeconds: tokenSeconds, accountUid: uid };
    const { token } = await tokens.token(pod, request).catch((error) => {
      throw new Error(`failed to get service account token: ${messageOf(error)}`, { cause: error });
    });
    const key = JSON.stringify([namespace, name, uid, annotations, wish.cacheType === 'Token' ? token : '']);
    return { source: { kind: 'serviceAccount', uid, namespace, name }, token, annotations, key };
  }

  #lookupKept(keys: readonly string[]): Entries | undefined {
    const now = this.#options.clock.now();
    if (now > this.#purgedMs + purgePeriodMs) {
      for (const [key, { untilMs }] of this.#kept) if (untilMs < now) this.#kept.delete(key);
      this.#purgedMs = now;
    }
    return keys.map((key) => this.#kept.get(key)).find((kept) => kept && kept.untilMs >= now)?.entries;
  }

  /** Whoever asks the same while an answer is under way gets that one. */
  #ask(provider: CredentialProvider, repository: string, account: Account | undefined): Promise<Answer> {
    const key = JSON.stringify([provider.name, repository, account?.token, account?.annotations]);
    const running = this.#running.get(key);
    if (running) return running;
    const asked = this.#run(provider, repository, account).finally(() => this.#running.delete(key));
    this.#running.set(key, asked);
    return asked;
  }

  async #run(provider: CredentialProvider, repository: string, account: Account | undefined): Promise<Answer> {
    const request = {
      kind: 'CredentialProviderRequest',
      apiVersion: provider.apiVersion,
      image: repository,
      ...(account ? { serviceAccountToken: account.token } : {}),
      ...(account && Object.keys(account.annotations).length > 0
        ? { serviceAccountAnnotations: account.annotations }
        : {}),
    };
    const { clock, metrics } = this.#options;
    const labels = { plugin_name: provider.name };
    const startedMs = clock.monotonic();
    const output = this.#options.run(provider, JSON.stringify(request)).catch((error) => {
      metrics?.count('credential_provider_plugin_errors_total', labels);
      const problem = `error execing credential provider plugin ${provider.name} for image ${repository}`;
      throw new Error(`${problem}: ${messageOf(error)}`, { cause: error });
    });
    let answer: Answer;
    try {
      const text = await output;
      metrics?.time('credential_provider_plugin_duration', clock.monotonic() - startedMs, labels);
      answer = decodeAnswer(text, provider.apiVersion);
    } catch (error) {
      const problem = 'failed to get credential from external registry credential provider';
      throw new Error(`${problem}: ${messageOf(error)}`, { cause: error });
    }
    // Such credentials are over with the token, which only that way of keeping them takes into account.
    const isEcho = Object.values(answer.entries).some(({ password }) => account && password === account.token);
    if (isEcho && provider.tokens?.cacheType !== 'Token')
      throw new Error(
        "credential provider plugin returned the service account token as the password which is not allowed when service account cache type is not set to 'Token'",
      );
    return answer;
  }
}

/** In the order of the keys under which an answer is looked for. */
const cacheKeyTypes = ['Image', 'Registry', 'Global'];

const registryOf = (repository: string) => repository.split('/')[0]!;
const cacheKey = ({ name }: CredentialProvider, key: string, account: Account | undefined) =>
  JSON.stringify([name, key, account?.key ?? '']);

/** Errors never show the answer, which holds credentials. */
function decodeAnswer(text: string, expectedVersion: string): Answer {
  const response = parsed(text);
  if (!isObject(response)) throw new Error('error reading GVK from response: it is no JSON object');
  const { kind, apiVersion = '', cacheKeyType = '', cacheDuration = null, auth } = response;
  if (apiVersion !== expectedVersion)
    throw new Error(
      `apiVersion from credential plugin response did not match expected apiVersion:${expectedVersion}, actual apiVersion:${apiVersion}`,
    );
  const entries = entriesOf(auth ?? {});
  const cacheMs = typeof cacheDuration === 'string' ? parseDuration(cacheDuration) : undefined;
  const isWrongDuration = cacheDuration !== null && cacheMs === undefined;
  if (kind !== 'CredentialProviderResponse' || !entries || isWrongDuration)
    throw new Error('error decoding credential provider plugin response from stdout');
  return { cacheKeyType: String(cacheKeyType), cacheMs, entries };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function entriesOf(auth: unknown): Entries | undefined {
  if (!isObject(auth)) return undefined;
  const entries: [string, RegistryEntry][] = [];
  for (const [registry, entry] of Object.entries(auth)) {
    if (!isObject(entry)) return undefined;
    const { username = '', password = '' } = entry;
    if (typeof username !== 'string' || typeof password !== 'string') return undefined;
    entries.push([registry, { username, password }]);
  }
  return Object.fromEntries(entries);
}
