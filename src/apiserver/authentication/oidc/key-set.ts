/**
 * The keys of a provider, fetched when they are first needed and again when a token is signed with one that is not among them. Tokens of
 * unknown keys can be made by anybody, so all that wait share one fetch, and fetches keep a distance.
 */
import type { JWK } from 'jose';
import { messageOf } from '../../../apimachinery/status.ts';
import { type Clock, sleep } from '../../../base/clock.ts';
import { type HttpsGetOptions, httpsGet } from './https-get.ts';

export interface KeySetOptions extends Omit<HttpsGetOptions, 'authorization'> {
  readonly clock: Clock;
  /** Told of each fetch: the text of the keys, or undefined where there were none to have. */
  onFetch?(text: string | undefined): void;
}

/** A provider's keys may be looked for so often. */
const leastDistanceMs = 1000;
/** Keys that the provider lets one keep are looked for again a little before. */
const expiryLeewayMs = 30_000;
const mostKeys = 200;

export class KeySet {
  readonly #url: string;
  readonly #options: KeySetOptions;
  #keys: readonly JWK[] = [];
  #expiresAtMs = Number.NEGATIVE_INFINITY;
  #lastFetchMs = Number.NEGATIVE_INFINITY;
  #fetching: Promise<readonly JWK[]> | undefined;

  constructor(url: string, options: KeySetOptions) {
    this.#url = url;
    this.#options = options;
  }

  /** Those known now whose id is `kid`; all of them when the token names none. */
  known(kid: string): readonly JWK[] {
    return ofId(this.#keys, kid);
  }

  /** The same after a fetch; undefined while the provider's word still holds that there are no others. Rejects when there is no answer. */
  async refreshed(kid: string): Promise<readonly JWK[] | undefined> {
    if (this.#options.clock.monotonic() + expiryLeewayMs <= this.#expiresAtMs) return undefined;
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return ofId(await this.#fetching, kid);
  }

  async #fetch(): Promise<readonly JWK[]> {
    const { clock, signal, onFetch } = this.#options;
    const waitMs = this.#lastFetchMs + leastDistanceMs - clock.monotonic();
    if (waitMs > 0) await sleep(clock, waitMs, signal);
    this.#lastFetchMs = clock.monotonic();
    let text: string | undefined;
    try {
      const answer = await httpsGet(this.#url, this.#options).catch((error: unknown) => {
        throw new Error(`oidc: get keys failed ${messageOf(error)}`, { cause: error });
      });
      if (answer.status !== 200) throw new Error(`oidc: get keys failed: ${answer.statusText}`);
      this.#keys = keysOf(answer.text, answer.contentType);
      this.#expiresAtMs = clock.monotonic() + keptForMs(answer.cacheControl);
      text = answer.text;
      return this.#keys;
    } finally {
      onFetch?.(text);
    }
  }
}

function ofId(keys: readonly JWK[], kid: string): readonly JWK[] {
  return keys.filter((key) => kid === '' || key.kid === kid);
}

function keysOf(text: string, contentType: string): readonly JWK[] {
  const document = parseAnswer(text, { contentType, failure: 'oidc: failed to decode keys' });
  const { keys = [] } = document as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error('oidc: failed to decode keys: keys is not a list');
  return (keys as unknown[])
    .filter((key): key is JWK => typeof key === 'object' && key !== null && !Array.isArray(key))
    .slice(0, mostKeys);
}

/** A JSON object; throws in upstream's words, without what the provider sent. */
export function parseAnswer(
  text: string,
  { contentType, failure }: { readonly contentType: string; readonly failure: string },
): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Told below, with what it was said to be.
  }
  const isJson = /^application\/json\s*(;|$)/i.test(contentType);
  const problem = isJson
    ? 'got Content-Type = application/json, but could not unmarshal as JSON'
    : `expected Content-Type = application/json, got ${JSON.stringify(contentType)}`;
  throw new Error(`${failure}: ${problem}`);
}

function keptForMs(cacheControl: string): number {
  if (/(^|[\s,])no-(store|cache)/i.test(cacheControl)) return 0;
  return Number(/(?:^|[\s,])max-age=([0-9]{1,9})/i.exec(cacheControl)?.[1] ?? 0) * 1000;
}
