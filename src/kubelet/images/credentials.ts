/**
 * Credentials for registries, each with where it comes from: which of them belong to an image, and in which order they are tried.
 * Pure.
 */
import { createHash } from 'node:crypto';
import type { Secret } from '../../api/gen/core-v1.ts';
import type { RegistryCredentials } from '../runtime/runtime.ts';
import { repositoryOf } from './image-names.ts';
import { matchesRegistry } from './registry-pattern.ts';

/** As `.dockerconfigjson` has it for a registry. */
export interface RegistryEntry {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly auth?: string | undefined;
  readonly identitytoken?: string | undefined;
  readonly registrytoken?: string | undefined;
}

export interface Coordinates {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Whose credentials they are. */
export type CredentialSource =
  | ({ readonly kind: 'secret' } & Coordinates)
  | ({ readonly kind: 'serviceAccount' } & Coordinates);

export interface SourcedCredentials {
  readonly credentials: RegistryCredentials;
  /** Absent: every Pod of the node may use them. */
  readonly source?: CredentialSource | undefined;
  /** Tells whether a secret still holds the same. */
  readonly hash: string;
}

const defaultRegistry = 'index.docker.io';

/** Credentials by registry, for lookups. */
export class Keyring {
  readonly #byRegistry = new Map<string, SourcedCredentials[]>();

  add(registry: string, entry: RegistryEntry, source?: CredentialSource): void {
    const key = registryKey(registry);
    const known = this.#byRegistry.get(key) ?? [];
    const credentials = toCredentials(entry);
    known.push({ credentials, source, hash: createHash('sha256').update(JSON.stringify(credentials)).digest('hex') });
    this.#byRegistry.set(key, known);
  }

  /** All that fit, those of a longer path first. */
  lookup(image: string): readonly SourcedCredentials[] {
    const repository = repositoryOf(image);
    const registries = [...this.#byRegistry.keys()].sort().reverse();
    const found = registries
      .filter((registry) => matchesRegistry(registry, repository))
      .flatMap((registry) => this.#byRegistry.get(registry)!);
    if (found.length > 0 || !repository.startsWith('docker.io/')) return found;
    return this.#byRegistry.get(defaultRegistry) ?? [];
  }
}

/** Those of a Pod's pull secrets. */
export function keyringOf(secrets: readonly Secret[]): Keyring {
  const keyring = new Keyring();
  for (const secret of secrets) {
    const { uid = '', namespace = '', name = '' } = secret.metadata;
    for (const [registry, entry] of entriesOf(secret))
      keyring.add(registry, entry, { kind: 'secret', uid, namespace, name });
  }
  return keyring;
}

function entriesOf(secret: Secret): [string, RegistryEntry][] {
  try {
    if (secret.type === 'kubernetes.io/dockerconfigjson') {
      const config = JSON.parse(decode(secret.data?.['.dockerconfigjson'])) as {
        auths?: Record<string, RegistryEntry>;
      };
      return Object.entries(config.auths ?? {});
    }
    if (secret.type === 'kubernetes.io/dockercfg') {
      return Object.entries(JSON.parse(decode(secret.data?.['.dockercfg'])) as Record<string, RegistryEntry>);
    }
  } catch {
    // A secret that does not parse has no credentials; the pull itself then tells that they are missing.
  }
  return [];
}

const decode = (base64: string | undefined) => Buffer.from(base64 ?? '', 'base64').toString();

/** Without the registry's address: a runtime with a mirror would take them for another server's. */
function toCredentials(entry: RegistryEntry): RegistryCredentials {
  const { username, password } = (entry.auth && authParts(entry.auth)) || entry;
  return {
    username,
    password,
    identityToken: entry.identitytoken,
    registryToken: entry.registrytoken,
  };
}

/** `name:password` in base64, which wins over a name and a password that stand beside it; undefined when it is not that. */
export function authParts(auth: string): { readonly username: string; readonly password: string } | undefined {
  const text = decode(auth);
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Without scheme, and without the version that a registry's API begins with: `https://registry.test/v2/` is `registry.test`. */
function registryKey(registry: string): string {
  const name = registry.replace(/^https?:\/\//, '');
  const slash = name.indexOf('/');
  if (slash < 0) return name;
  const path = name.slice(slash).replace(/^\/v[12](?=\/)/, '');
  return path === '/' ? name.slice(0, slash) : name.slice(0, slash) + path;
}
