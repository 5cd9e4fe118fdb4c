/**
 * Bound service account tokens for Pods: asked for by TokenRequest, kept until 80 % of their life is over (or a day), then asked for
 * anew. A token that cannot be renewed stays in use as long as it is valid.
 */
import type { TokenRequest } from '../../api/gen/authentication-v1.ts';
import { type Pod, serviceAccounts } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { timeOr } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';

export interface TokenOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export interface TokenWish {
  /** Empty: the API server's own. */
  readonly audience: string;
  readonly expirationSeconds: number;
  /** The account must still be this one; absent: any of its name. */
  readonly accountUid?: string | undefined;
}

export interface ServiceAccountToken {
  readonly token: string;
  /** When it should be replaced. */
  readonly renewAtMs: number;
  readonly expiresAtMs: number;
}

const longestUseMs = 24 * 3600 * 1000;
const jitterMs = 10_000;

export class ServiceAccountTokens {
  readonly #options: TokenOptions;
  readonly #tokens = new Map<string, ServiceAccountToken>();

  constructor(options: TokenOptions) {
    this.#options = options;
  }

  async token(pod: Pod, wish: TokenWish): Promise<ServiceAccountToken> {
    const { clock, log } = this.#options;
    const key = `${pod.metadata.uid}/${wish.audience}/${wish.expirationSeconds}/${wish.accountUid ?? ''}`;
    const held = this.#tokens.get(key);
    if (held && clock.now() < held.renewAtMs) return held;
    try {
      const fresh = await this.#request(pod, wish);
      this.#tokens.set(key, fresh);
      return fresh;
    } catch (error) {
      if (!held || clock.now() >= held.expiresAtMs) throw error;
      log.warn('could not renew a service account token', {
        pod: pod.metadata.name,
        namespace: pod.metadata.namespace,
        error: messageOf(error),
      });
      const later = { ...held, renewAtMs: clock.now() + 60_000 };
      this.#tokens.set(key, later);
      return later;
    }
  }

  release(podUid: string): void {
    for (const key of this.#tokens.keys()) if (key.startsWith(`${podUid}/`)) this.#tokens.delete(key);
  }

  async #request(pod: Pod, wish: TokenWish): Promise<ServiceAccountToken> {
    const { client, clock, random, signal } = this.#options;
    const { namespace, name, uid } = pod.metadata;
    const body: TokenRequest = {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: wish.accountUid === undefined ? {} : { uid: wish.accountUid },
      spec: {
        audiences: wish.audience ? [wish.audience] : [],
        expirationSeconds: wish.expirationSeconds,
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid },
      },
    };
    const requestedAtMs = clock.now();
    const account = { namespace, name: pod.spec.serviceAccountName || 'default' };
    const { status } = await client.createSubresource<TokenRequest>(serviceAccounts, account, 'token', body, {
      signal,
    });
    if (!status?.token)
      throw new Error(`failed to fetch token: empty answer for service account ${namespace}/${account.name}`);
    const expiresAtMs = timeOr(status.expirationTimestamp, requestedAtMs + wish.expirationSeconds * 1000);
    const lifeMs = expiresAtMs - requestedAtMs;
    const useMs = Math.min(lifeMs * 0.8, longestUseMs) - random.next() * Math.min(jitterMs, lifeMs * 0.05);
    return { token: status.token, expiresAtMs, renewAtMs: requestedAtMs + useMs };
  }
}
