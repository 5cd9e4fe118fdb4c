/**
 * An identity provider found by its issuer's URL: what it says of itself is fetched in the background, again and again until it can be had,
 * so that a server starts without its provider, and providers may run on top of the cluster that they serve.
 */
import { quote } from '../../../apimachinery/go-text.ts';
import { messageOf } from '../../../apimachinery/status.ts';
import { sleep } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import { httpsGet } from './https-get.ts';
import { KeySet, type KeySetOptions, parseAnswer } from './key-set.ts';

export interface ProviderOptions extends KeySetOptions {
  readonly issuer: string;
  /** Where to look instead of below the issuer's URL. */
  readonly discoveryUrl?: string | undefined;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const retryMs = 10_000;

export class Provider {
  readonly #options: ProviderOptions;
  /** Undefined until the provider is found. */
  keySet: KeySet | undefined;
  /** Why it is not found yet. */
  problem: string | undefined;
  /** Resolves when it is found, or when nobody looks any more. */
  readonly found: Promise<void>;

  constructor(options: ProviderOptions) {
    this.#options = options;
    this.problem = `oidc: authenticator for issuer ${quote(options.issuer)} is not initialized`;
    this.found = this.#find();
  }

  async #find(): Promise<void> {
    const { clock, signal, log, issuer } = this.#options;
    while (!signal.aborted) {
      try {
        this.keySet = await this.#discover();
        this.problem = undefined;
        return;
      } catch (error) {
        this.problem = messageOf(error);
        if (!signal.aborted) log.error('an identity provider is not found', { issuer, error: this.problem });
      }
      await sleep(clock, retryMs, signal).catch(() => undefined);
    }
  }

  async #discover(): Promise<KeySet> {
    const { issuer, discoveryUrl } = this.#options;
    const url = discoveryUrl ?? `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const { status, statusText, text, contentType } = await httpsGet(url, this.#options);
    if (status !== 200) throw new Error(statusText);
    const failure = 'oidc: failed to decode provider discovery object';
    const { issuer: told, jwks_uri: keysUrl } = parseAnswer(text, { contentType, failure });
    if (told !== issuer) {
      const both = `expected ${quote(issuer)} got ${quote(typeof told === 'string' ? told : '')}`;
      throw new Error(`oidc: issuer did not match the issuer returned by provider, ${both}`);
    }
    if (typeof keysUrl !== 'string' || keysUrl === '') throw new Error('provider did not return JWKS URL');
    if (URL.parse(keysUrl)?.protocol !== 'https:') throw new Error(`JWKS URL ${quote(keysUrl)} is not https`);
    return new KeySet(keysUrl, this.#options);
  }
}
