/**
 * Leases for keys that shall disappear. As upstream does, neighbours in time share one: granting a lease is a write of its own, and a
 * cluster has many Events. A lease lasts a little longer than the lifetime asked for, never shorter.
 */
import type { Clock } from '../../base/clock.ts';

export interface LeaseOptions {
  readonly clock: Clock;
  readonly grant: (ttlSeconds: number) => Promise<bigint>;
  /** By how much a lease may outlast a key's lifetime, so that later keys can share it. Default 60, as upstream. */
  readonly longestSpareSeconds?: number | undefined;
}

interface Lease {
  readonly ttlSeconds: number;
  readonly grantedAtMs: number;
  readonly spareMs: number;
  readonly id: Promise<bigint>;
  keys: number;
}

/** Upstream's bounds. */
const defaultSpareSeconds = 60;
const mostKeys = 1000;

export class Leases {
  readonly #options: LeaseOptions;
  #newest: Lease | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** A lease that lasts for at least `ttlSeconds` from now. */
  leaseFor(ttlSeconds: number): Promise<bigint> {
    const { clock, grant, longestSpareSeconds = defaultSpareSeconds } = this.#options;
    const now = clock.monotonic();
    const newest = this.#newest;
    const fits = newest?.ttlSeconds === ttlSeconds && now - newest.grantedAtMs < newest.spareMs;
    if (newest && fits && newest.keys < mostKeys) {
      newest.keys++;
      return newest.id;
    }
    const spareSeconds = Math.max(1, Math.min(longestSpareSeconds, Math.ceil(ttlSeconds / 20)));
    const id = grant(Math.ceil(ttlSeconds) + spareSeconds);
    this.#newest = { ttlSeconds, grantedAtMs: now, spareMs: spareSeconds * 1000, id, keys: 1 };
    id.catch(() => this.forget());
    return id;
  }

  /** The newest lease is of no use: etcd does not know it, or did not grant it. */
  forget(): void {
    this.#newest = undefined;
  }
}
