/**
 * Calling out: the one way to everything that answers a posted review with a review (admission, conversion, authentication,
 * authorization, image policy, audit). A webhook is named by a `clientConfig` of the API or by the server of a kubeconfig; equal
 * configurations share their connections. What fails is told in the words of Go's libraries, for users search for them.
 */

import type { WebhookClientConfig } from '../../api/gen/admissionregistration-v1.ts';
import { jsonText } from '../../apimachinery/exact-json.ts';
import type { Clock } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import { type Dial, tcpDial } from '../../serving/dial.ts';
import { ConnectionPool } from './connection-pool.ts';
import { type Credentials, configEndpoint, type Endpoint, serverEndpoint, type WebhookServer } from './endpoint.ts';
import { type ReviewObject, send } from './exchange.ts';
import { serviceDial } from './service-address.ts';

export interface WebhookClientsOptions {
  readonly clock: Clock;
  /** Finds Services; the loopback client. */
  readonly client: Pick<Client, 'get'>;
  /** Default: TCP, 30 seconds. */
  readonly dial?: Dial | undefined;
  /** What to show a webhook that is named by a `clientConfig`, by its `host:port`. Default: nothing. */
  readonly credentials?: ((hostPort: string) => Credentials) | undefined;
}

export interface PostOptions {
  /** For everything from dialling to the reply's last byte; also told to the webhook, in whole seconds. Default 30 s. */
  readonly timeoutMs?: number | undefined;
  /** Of the request on whose behalf the webhook is called. */
  readonly signal?: AbortSignal | undefined;
  /** A longer reply is refused. Default 16 MiB. */
  readonly maxReplyBytes?: number | undefined;
}

export interface Webhook {
  /**
   * Posts a value as JSON and resolves with the reply, which is a JSON object of any kind but `Status`. Rejects with the `StatusError` that
   * the webhook answered with, or with a `WebhookCallError`.
   */
  post(body: unknown, options?: PostOptions): Promise<ReviewObject>;
  /** Posts a JSON text and does not look at the reply, unless it says that something went wrong; rejects as `post` does. */
  tell(json: string, options?: PostOptions): Promise<void>;
}

/** Configurations whose connections are kept, as upstream. */
const keptWebhooks = 200;
const defaultTimeoutMs = 30_000;
const defaultReplyBytes = 16 << 20;

interface Kept {
  readonly webhook: Webhook;
  readonly pool: ConnectionPool;
}

export class WebhookClients {
  readonly #options: WebhookClientsOptions;
  readonly #dial: Dial;
  /** By configuration; those used last are last. */
  readonly #kept = new Map<string, Kept>();

  constructor(options: WebhookClientsOptions) {
    this.#options = options;
    this.#dial = options.dial ?? tcpDial({ clock: options.clock });
  }

  /** Throws an `Error` for a configuration that names nothing to call. */
  of(config: WebhookClientConfig): Webhook {
    const { url, service, caBundle } = config;
    const { namespace, name, path, port } = service ?? {};
    const key = JSON.stringify([url, service && [namespace, name, path, port], caBundle]);
    const kept = this.#kept.get(key);
    if (kept) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return kept.webhook;
    }
    const made = this.#make(configEndpoint(config, this.#options.credentials));
    this.#kept.set(key, made);
    if (this.#kept.size > keptWebhooks) this.#forgetOldest();
    return made.webhook;
  }

  /** Ends all connections. */
  close(): void {
    for (const { pool } of this.#kept.values()) pool.close();
    this.#kept.clear();
  }

  #make(endpoint: Endpoint): Kept {
    const { client, clock } = this.#options;
    const dial = endpoint.service ? serviceDial(endpoint.service, { client, dial: this.#dial }) : this.#dial;
    return webhookAt(endpoint, dial, clock);
  }

  #forgetOldest(): void {
    const [oldest] = this.#kept;
    if (!oldest) return;
    this.#kept.delete(oldest[0]);
    oldest[1].pool.drain();
  }
}

/** The webhook behind a kubeconfig; whoever asked for it closes it. */
export function serverWebhook(
  server: WebhookServer,
  { clock, dial = tcpDial({ clock }) }: Pick<WebhookClientsOptions, 'clock' | 'dial'>,
): { readonly webhook: Webhook; close(): void } {
  const { webhook, pool } = webhookAt(serverEndpoint(server), dial, clock);
  return { webhook, close: () => pool.close() };
}

function webhookAt(endpoint: Endpoint, dial: Dial, clock: Clock): Kept {
  const pool = new ConnectionPool(endpoint, dial);
  const way = { endpoint, pool, clock };
  const limits = ({ timeoutMs = defaultTimeoutMs, signal, maxReplyBytes = defaultReplyBytes }: PostOptions = {}) => ({
    timeoutMs,
    signal,
    maxReplyBytes,
  });
  return {
    pool,
    webhook: {
      post: (body, options) => send(way, { body: jsonText(body), ...limits(options) }),
      tell: async (json, options) => void (await send(way, { body: json, told: true, ...limits(options) })),
    },
  };
}
