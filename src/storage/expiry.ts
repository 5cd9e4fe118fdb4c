/**
 * Lifetimes of keys: asks for the removal of a version once its time has come. Versions that end within the same second share
 * one timer. Whether the version still stands is for the caller to check, by removing it at its own revision.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Version } from './revision-index.ts';

export interface ExpiryOptions<V> {
  readonly clock: Clock;
  readonly expire: (version: Version<V>) => void;
}

interface Bucket<V> {
  readonly timer: Timer;
  readonly versions: Version<V>[];
}

export class Expiry<V> {
  readonly #options: ExpiryOptions<V>;
  readonly #buckets = new Map<number, Bucket<V>>();
  #closed = false;

  constructor(options: ExpiryOptions<V>) {
    this.#options = options;
  }

  /** Asks for the version's removal at `atMs`; 0: never. */
  track(version: Version<V>, atMs = version.expiresAtMs): void {
    if (atMs === 0 || this.#closed) return;
    const second = Math.ceil(atMs / 1000);
    const bucket = this.#buckets.get(second) ?? this.#open(second);
    bucket.versions.push(version);
  }

  close(): void {
    this.#closed = true;
    for (const { timer } of this.#buckets.values()) timer.cancel();
    this.#buckets.clear();
  }

  #open(second: number): Bucket<V> {
    const { clock, expire } = this.#options;
    const versions: Version<V>[] = [];
    const timer = clock.after(second * 1000 - clock.now(), () => {
      this.#buckets.delete(second);
      for (const version of versions) expire(version);
    });
    const bucket = { timer, versions };
    this.#buckets.set(second, bucket);
    return bucket;
  }
}

/** When a key written now with this lifetime ends; 0: never. */
export function expiryTime(clock: Clock, ttlSeconds: number | undefined): number {
  return ttlSeconds ? clock.now() + ttlSeconds * 1000 : 0;
}
