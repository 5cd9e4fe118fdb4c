/** Bootstrap tokens as they lie in Secrets of `kube-system`: `id.secret`, with an end and a list of what they may be used for. */
import type { Secret } from '../../api/gen/core-v1.ts';

export const bootstrapTokenType = 'bootstrap.kubernetes.io/token';
const namePrefix = 'bootstrap-token-';

export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
  /** `authentication`, `signing`. */
  readonly usages: ReadonlySet<string>;
}

/** The token of a Secret that is well formed and in force; undefined for any other. */
export function bootstrapTokenOf(secret: Secret, nowMs: number): BootstrapToken | undefined {
  const id = field(secret, 'token-id');
  const value = field(secret, 'token-secret');
  if (!id || !value || secret.metadata.name !== namePrefix + id) return undefined;
  const leftMs = millisecondsLeft(secret, nowMs);
  if (leftMs !== undefined && leftMs <= 0) return undefined;
  const usages = new Set<string>();
  for (const key of Object.keys(secret.data ?? {})) {
    if (key.startsWith('usage-bootstrap-') && field(secret, key) === 'true')
      usages.add(key.slice('usage-bootstrap-'.length));
  }
  return { id, secret: value, usages };
}

/** Until the token ends, not positive when it has; undefined for one that does not. What cannot be read has ended. */
export function millisecondsLeft(secret: Secret, nowMs: number): number | undefined {
  const expiration = field(secret, 'expiration');
  if (!expiration) return undefined;
  const endMs = Date.parse(expiration);
  return Number.isNaN(endMs) ? 0 : endMs - nowMs;
}

function field({ data }: Secret, key: string): string | undefined {
  const value = data?.[key];
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString();
}
