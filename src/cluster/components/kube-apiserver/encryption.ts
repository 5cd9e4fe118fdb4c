/**
 * Encryption of what `kube-apiserver` stores, from `--encryption-provider-config`: the file is read, its providers are made, and, where asked
 * for, it is followed. A changed file that is wrong changes nothing and is told in the log.
 */
import { builtinResources } from '../../../api/schema.ts';
import { errorsText } from '../../../apimachinery/field-error.ts';
import { apiVersionOf, groupResource } from '../../../apimachinery/resource.ts';
import { messageOf } from '../../../apimachinery/status.ts';
import { parseDuration } from '../../../apimachinery/time.ts';
import { EncryptedStore } from '../../../apiserver/encryption/encrypted-store.ts';
import { Encryption, type EncryptionRule } from '../../../apiserver/encryption/encryption.ts';
import { KmsProvider } from '../../../apiserver/encryption/kms-provider.ts';
import { connectKms } from '../../../apiserver/encryption/kms-service.ts';
import {
  identityProvider,
  keyedProvider,
  type NamedKey,
  type Provider,
} from '../../../apiserver/encryption/provider.ts';
import { resourceOfKey } from '../../../apiserver/encryption/resource-of-key.ts';
import {
  defaultKmsTimeout,
  type EncryptionConfiguration,
  type KeysConfiguration,
  type KmsConfiguration,
  maskedRule,
  type ProviderConfiguration,
  validateEncryption,
} from '../../../apiserver/encryption/validation.ts';
import type { HealthCheck } from '../../../apiserver/health/health-checks.ts';
import type { Store } from '../../../storage/store.ts';
import { CommandError } from '../../command-error.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import { decodeConfiguration, parseConfiguration, readConfigurationText } from '../flags/configuration-file.ts';
import { contentHash, followFile } from '../flags/followed-file.ts';

type Parts = Pick<ComponentEnvironment, 'clock' | 'random' | 'log'>;

export interface StoreEncryption {
  /** The store with its values encrypted. */
  over(store: Store<Uint8Array>): EncryptedStore;
  readonly healthCheck: HealthCheck;
  close(): Promise<void>;
}

export interface EncryptionSettings {
  readonly path: string;
  readonly reload: boolean;
  readonly boundTo?: ((key: string) => string) | undefined;
}

interface Loaded {
  readonly rules: readonly EncryptionRule[];
  readonly services: readonly KmsProvider[];
}

const flag = '--encryption-provider-config';
/** Requests under way may still use a service that is no longer in the file. */
const closeAfterMs = 60_000;
const kmsV1Refused =
  'KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.';

/** Rejects with a `CommandError` for a file that is wrong. */
export async function openEncryption(
  { path, reload, boundTo }: EncryptionSettings,
  parts: Parts,
): Promise<StoreEncryption> {
  let text = readConfigurationText(path, flag);
  let loaded = await load(path, text, parts);
  const encryption = new Encryption(loaded.rules);
  const look = async () => {
    try {
      const next = readConfigurationText(path, flag);
      if (contentHash(next) === contentHash(text)) return;
      // Wrong or not, the same text is looked at once.
      text = next;
      const { services } = loaded;
      loaded = await load(path, next, parts);
      encryption.replace(loaded.rules);
      parts.clock.after(closeAfterMs, () => closeAll(services));
      parts.log.info('encryption configuration replaced', { path });
    } catch (error) {
      parts.log.error('encryption configuration stays as it was', { path, error: messageOf(error) });
    }
  };
  const following = reload ? followFile({ path, clock: parts.clock, look }) : undefined;
  const encryptionOf = encryptionByKey(encryption);
  return {
    over: (store) => new EncryptedStore(store, { encryptionOf, boundTo }),
    healthCheck: {
      name: 'kms-providers',
      async check() {
        for (const { problem } of loaded.services) if (problem) throw problem;
      },
    },
    async close() {
      await following?.close();
      closeAll(loaded.services);
    },
  };
}

function encryptionByKey(encryption: Encryption) {
  const kept = builtinResources()
    .filter((row) => row.storagePrefix !== undefined && apiVersionOf(row) === row.storageVersion)
    .map((row) => ({ prefix: `/registry/${row.storagePrefix}/`, name: groupResource(row) }));
  const resourceOf = resourceOfKey(kept);
  const known = new Map<string, ReturnType<Encryption['of']>>();
  return (key: string) => {
    const resource = resourceOf(key);
    if (resource === undefined) return undefined;
    const found = known.get(resource) ?? encryption.of(resource);
    known.set(resource, found);
    return found;
  };
}

async function load(path: string, text: string, parts: Parts): Promise<Loaded> {
  const configuration = decodeConfiguration(path, parseConfiguration(text, { path, flag }), {
    kind: 'EncryptionConfiguration',
    apiVersion: 'apiserver.config.k8s.io/v1',
    flag,
  }) as EncryptionConfiguration;
  const errors = validateEncryption(configuration);
  const problem = errors.length > 0 ? errorsText(errors) : maskedRule(configuration);
  if (problem !== undefined) throw new CommandError(`${flag} ${path}: ${problem}`, 'Correct the file.');
  const rules: EncryptionRule[] = [];
  const services: KmsProvider[] = [];
  try {
    for (const { resources = [], providers = [] } of configuration.resources ?? []) {
      const made: Provider[] = [];
      for (const provider of providers) made.push(await providerOf(provider, { ...parts, path, services }));
      for (const resource of resources) rules.push({ resource, providers: made });
    }
  } catch (error) {
    closeAll(services);
    throw error;
  }
  return { rules, services };
}

function closeAll(services: readonly KmsProvider[]): void {
  for (const service of services) service.close();
}

interface Making extends Parts {
  readonly path: string;
  readonly services: KmsProvider[];
}

async function providerOf(provider: ProviderConfiguration, making: Making): Promise<Provider> {
  const { aesgcm, aescbc, secretbox, kms } = provider;
  if (aesgcm) return keyedProvider('aesgcm', keysOf(aesgcm), making.random);
  if (aescbc) return keyedProvider('aescbc', keysOf(aescbc), making.random);
  if (secretbox) return keyedProvider('secretbox', keysOf(secretbox), making.random);
  return kms ? kmsProviderOf(kms, making) : identityProvider;
}

async function kmsProviderOf(
  { apiVersion = 'v1', name = '', endpoint = '', timeout = defaultKmsTimeout }: KmsConfiguration,
  { path, services, ...parts }: Making,
): Promise<Provider> {
  if (apiVersion === 'v1') throw new CommandError(`${flag} ${path}: ${kmsV1Refused}`, 'Set its apiVersion to v2.');
  const timeoutMs = parseDuration(timeout) ?? 0;
  const service = await connectKms({ endpoint, timeoutMs, clock: parts.clock });
  const provider = new KmsProvider({ ...parts, name, service });
  services.push(provider);
  await provider.start();
  return provider;
}

function keysOf({ keys = [] }: KeysConfiguration): NamedKey[] {
  return keys.map(({ name = '', secret = '' }) => ({ name, secret: Buffer.from(secret, 'base64') }));
}
