/**
 * The public keys of an external signer: fetched at the start, again as often as it asks, and at once where a token names a key that is not
 * among them. While it cannot be asked, the keys that are there stay.
 */
import { createPublicKey } from 'node:crypto';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Decoded } from '../../base/protobuf/message-codec.ts';
import { tokenAlgorithm } from '../../pki/token-keys.ts';
import type { VerificationKey } from '../../pki/token-signer.ts';
import type { fetchKeysResponse } from './signer-messages.ts';
import type { SignerStatistics } from './signer-statistics.ts';

/** After a failure; otherwise the signer says when. */
const retryMs = 10_000;
const longestKeyId = 1024;

export interface ExternalKey extends VerificationKey {
  /** It verifies old tokens, and signs none. */
  readonly isHidden: boolean;
}

type FetchedKeys = Decoded<typeof fetchKeysResponse>;

export interface ExternalKeysOptions {
  readonly fetch: () => Promise<FetchedKeys>;
  readonly clock: Clock;
  readonly log: Log;
  readonly statistics: SignerStatistics;
}

export class ExternalKeys {
  readonly #options: ExternalKeysOptions;
  #keys: readonly ExternalKey[] = [];
  #refreshAtMs = 0;
  /** Whoever asks meanwhile shares it. */
  #underWay: Promise<void> | undefined;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: ExternalKeysOptions) {
    this.#options = options;
  }

  /** Resolves with keys there, which are then kept fresh; rejects where there are none to be had. */
  async start(): Promise<void> {
    try {
      await this.#fetch();
    } catch (error) {
      throw within('while performing initial cache fill', error);
    }
    this.#schedule(this.#refreshAtMs);
  }

  get all(): readonly ExternalKey[] {
    return this.#keys;
  }

  /** For how long no other keys need be expected. */
  get maxAgeSeconds(): number {
    return Math.max(0, Math.floor((this.#refreshAtMs - this.#options.clock.now()) / 1000));
  }

  /** Those of this id, the signer asked again if need be; all without one. */
  async named(keyId: string): Promise<readonly ExternalKey[]> {
    if (keyId === '') return this.#keys;
    const known = this.#keys.filter(({ id }) => id === keyId);
    if (known.length > 0) return known;
    try {
      await this.#fetch();
    } catch (error) {
      this.#options.log.error('the keys of service account tokens cannot be fetched', { error: messageOf(error) });
      return [];
    }
    return this.#keys.filter(({ id }) => id === keyId);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #schedule(atMs: number): void {
    if (this.#closed) return;
    const { clock, log } = this.#options;
    this.#timer = clock.after(Math.max(0, atMs - clock.now()), async () => {
      try {
        await this.#fetch();
        this.#schedule(this.#refreshAtMs);
      } catch (error) {
        log.error('the keys of service account tokens cannot be fetched; those known go on', {
          error: messageOf(error),
        });
        this.#schedule(clock.now() + retryMs);
      }
    });
  }

  #fetch(): Promise<void> {
    this.#underWay ??= this.#fetchOnce().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async #fetchOnce(): Promise<void> {
    const { clock, statistics } = this.#options;
    try {
      const fetched = await this.#options.fetch().catch((error: unknown) => {
        throw within('while getting externally supported jwt signing keys', error);
      });
      this.#keys = keysOf(fetched);
      const { seconds, nanos } = fetched.dataTimestamp!;
      this.#refreshAtMs = clock.now() + fetched.refreshHintSeconds * 1000;
      statistics.fetchedKeys({ atMs: clock.now(), dataAtSeconds: seconds + nanos / 1e9 });
    } catch (error) {
      statistics.fetchedKeys({ error });
      throw within('while fetching token verification keys', error);
    }
  }
}

/** Throws for an answer that is not to be believed as a whole. */
function keysOf({ keys, dataTimestamp, refreshHintSeconds }: FetchedKeys): readonly ExternalKey[] {
  if (refreshHintSeconds <= 0) throw new Error(`found invalid refresh hint (${refreshHintSeconds}s)`);
  if (keys.length === 0) throw new Error('found no keys');
  if (!dataTimestamp) throw new Error('invalid data timestamp: proto: invalid nil Timestamp');
  return keys.map(({ keyId, key, excludeFromOidcDiscovery }) => {
    if (keyId.length === 0 || Buffer.byteLength(keyId) > longestKeyId) {
      throw new Error(`found invalid public key id ${JSON.stringify(keyId)}`);
    }
    if (key.length === 0) throw new Error('found empty public key');
    try {
      const publicKey = createPublicKey({ key: Buffer.from(key), format: 'der', type: 'spki' });
      return { id: keyId, key: publicKey, algorithm: tokenAlgorithm(publicKey), isHidden: excludeFromOidcDiscovery };
    } catch (error) {
      throw within('while parsing external public keys', error);
    }
  });
}

/** Says of an error what was being done. */
export function within(doing: string, error: unknown): Error {
  return new Error(`${doing}: ${messageOf(error)}`, { cause: error });
}
