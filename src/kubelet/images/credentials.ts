/** Registry credentials from `imagePullSecrets`: which of them belong to an image. Pure. */
import type { Secret } from '../../api/gen/core-v1.ts';
import type { RegistryCredentials } from '../runtime/runtime.ts';

interface RegistryEntry {
  readonly username?: string;
  readonly password?: string;
  readonly auth?: string;
  readonly identitytoken?: string;
  readonly registrytoken?: string;
}

/** All that match, the most specific registry path first. */
export function credentialsFor(image: string, secrets: readonly Secret[]): RegistryCredentials[] {
  const matches: { readonly length: number; readonly credentials: RegistryCredentials }[] = [];
  for (const secret of secrets) {
    for (const [registry, entry] of entriesOf(secret)) {
      if (matchesRegistry(registry, image))
        matches.push({ length: registry.length, credentials: toCredentials(entry) });
    }
  }
  return matches.sort((a, b) => b.length - a.length).map(({ credentials }) => credentials);
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
  const [username, ...rest] = entry.auth ? decode(entry.auth).split(':') : [];
  return {
    username: entry.username ?? username,
    password: entry.password ?? (entry.auth ? rest.join(':') : undefined),
    identityToken: entry.identitytoken,
    registryToken: entry.registrytoken,
  };
}

/** Host by host part with `*`, the port exactly, the path as a prefix. */
export function matchesRegistry(registry: string, image: string): boolean {
  const wanted = registry
    .replace(/^https?:\/\//, '')
    .replace(/\/v[12]\/?$/, '')
    .replace(/\/$/, '');
  const [wantedHost = '', ...wantedPath] = (wanted === 'index.docker.io' ? 'docker.io' : wanted).split('/');
  const [imageHost = '', ...imagePath] = qualified(image).split('/');
  const wantedParts = wantedHost.split('.');
  const imageParts = imageHost.split('.');
  if (wantedParts.length !== imageParts.length) return false;
  if (!wantedParts.every((part, i) => matchesGlob(part, imageParts[i]!))) return false;
  return imagePath.join('/').startsWith(wantedPath.join('/'));
}

function matchesGlob(pattern: string, text: string): boolean {
  const escaped = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${escaped.join('.*')}$`).test(text);
}

/** With its registry: `busybox` is `docker.io/library/busybox`. */
export function qualified(image: string): string {
  const [first = '', ...rest] = image.split('/');
  if (rest.length === 0) return `docker.io/library/${image}`;
  return first.includes('.') || first.includes(':') || first === 'localhost' ? image : `docker.io/${image}`;
}

/** With the tag `latest` when it has neither tag nor digest. */
export function withDefaultTag(image: string): string {
  const lastPart = image.slice(image.lastIndexOf('/') + 1);
  return lastPart.includes(':') || lastPart.includes('@') ? image : `${image}:latest`;
}
