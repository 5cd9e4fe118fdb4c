/**
 * Objects that lie in the store beside those of the resources and that no path serves: numbers in use, leases of servers. Servers that
 * share a store agree by them, so they are read from the store itself, and written where a read one has not changed since.
 */
import type { KubeObject } from '../apimachinery/meta.ts';
import { hasEnvelope, openEnvelope } from '../apimachinery/protobuf/envelope.ts';
import { type Entry, prefixEnd } from '../storage/store.ts';
import { builtinCodec } from './encoding/json.ts';
import type { BytesStore } from './server.ts';

export interface KeptRecord<T> {
  readonly object: T;
  /** What `put` expects. */
  readonly revision: number;
}

export class KeptRecords<T extends KubeObject> {
  readonly #store: BytesStore;
  readonly #typeMeta: { readonly kind: string; readonly apiVersion: string };
  readonly #typeId: string;

  constructor(store: BytesStore, apiVersion: string, kind: string) {
    this.#store = store;
    this.#typeMeta = { kind, apiVersion };
    this.#typeId = builtinCodec().registry.typeOf(apiVersion, kind)!.id;
  }

  async get(key: string): Promise<KeptRecord<T> | undefined> {
    const entry = await this.#store.store.get(key);
    return entry && this.#record(entry);
  }

  async list(prefix: string): Promise<readonly KeptRecord<T>[]> {
    const { entries } = await this.#store.store.range({ start: prefix, end: prefixEnd(prefix) });
    return entries.map((entry) => this.#record(entry));
  }

  /** False when the record is not at the expected revision any more; 0: must not exist. */
  async put(key: string, object: T, options: { readonly expected: number; readonly ttlSeconds?: number }) {
    const { ok } = await this.#store.store.put(key, this.#encode(object), options);
    return ok;
  }

  /** False when there was none. */
  async remove(key: string): Promise<boolean> {
    return (await this.#store.store.remove(key)).ok;
  }

  #encode(object: T): Uint8Array {
    const complete = { ...this.#typeMeta, ...object };
    const codec = builtinCodec();
    if (this.#store.mediaType === 'application/vnd.kubernetes.protobuf') return codec.encodeProtobuf(complete)!;
    return Buffer.from(codec.encodeCanonical(complete));
  }

  #record({ value, revision }: Entry<Uint8Array>): KeptRecord<T> {
    const codec = builtinCodec();
    const object = hasEnvelope(value)
      ? codec.decodeMessage(openEnvelope(value).message, this.#typeId)
      : codec.decodeStored(value, this.#typeId);
    return { object: object as unknown as T, revision };
  }
}
