/**
 * Which API servers live: each keeps a record named after its address, `/registry/masterleases/10.0.0.1`, that ends by itself unless it is
 * renewed. The endpoints of the Service `kubernetes` are those addresses. The records are upstream's, so servers of both kinds can stand
 * side by side.
 */
import type { Endpoints } from '../../api/gen/core-v1.ts';
import type { KeptRecords } from '../kept-records.ts';

export interface ServerLeasesOptions {
  readonly records: KeptRecords<Endpoints>;
  /** Of this server. */
  readonly address: string;
}

/** Upstream's name for these records, where it is said in which etcd they lie. */
export const serverLeases = 'apiServerIPInfo';
const prefix = '/registry/masterleases/';
const ttlSeconds = 15;

export class ServerLeases {
  readonly #options: ServerLeasesOptions;
  #ended = false;

  constructor(options: ServerLeasesOptions) {
    this.#options = options;
  }

  /** Whether this server has said that it goes: from then on it renews nothing. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The addresses of all servers that live, in the order of their text. */
  async addresses(): Promise<readonly string[]> {
    const found = await this.#options.records.list(prefix);
    return found.flatMap(({ object }) => object.subsets?.[0]?.addresses?.[0]?.ip ?? []).sort();
  }

  async renew(): Promise<void> {
    const { records, address } = this.#options;
    const key = prefix + address;
    while (!this.#ended) {
      const present = await records.get(key);
      const { generation = 0, ...metadata } = present?.object.metadata ?? {};
      const object: Endpoints = {
        // A value that changes nothing would renew nothing at a server of upstream's.
        metadata: { ...metadata, generation: generation + 1 },
        subsets: [{ addresses: [{ ip: address }] }],
      };
      if (await records.put(key, object, { expected: present?.revision ?? 0, ttlSeconds })) return;
    }
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#options.records.remove(prefix + this.#options.address);
  }
}
