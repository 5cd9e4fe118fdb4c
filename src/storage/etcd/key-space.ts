/**
 * Between the keys of the store and those in etcd, which several clusters may share. Without a root they are the same; with one, the
 * store has the keys below `from`, and they lie below `to`:
 *
 *     { from: '/registry/', to: '/kubernetes.io/' }     /registry/pods/a/b  <->  /kubernetes.io/pods/a/b
 */
import { orderedKey } from '../revision-index.ts';
import { prefixEnd } from '../store.ts';

export interface KeyRoot {
  /** Both end with a slash. */
  readonly from: string;
  readonly to: string;
}

export class KeySpace {
  readonly #root: KeyRoot | undefined;

  constructor(root: KeyRoot | undefined) {
    this.#root = root;
  }

  /** What all keys of the store begin with. */
  get root(): string {
    return this.#root?.from ?? '';
  }

  toEtcd(key: string): Buffer {
    if (!this.#root) return Buffer.from(key);
    const { from, to } = this.#root;
    if (!key.startsWith(from)) throw new TypeError(`the key ${JSON.stringify(key)} does not lie below ${from}`);
    return Buffer.from(to + key.slice(from.length));
  }

  /** Undefined for what is not the store's. */
  fromEtcd(bytes: Uint8Array): string | undefined {
    const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
    if (!this.#root) return key;
    const { from, to } = this.#root;
    return key.startsWith(to) ? from + key.slice(to.length) : undefined;
  }

  /** The part of etcd's keys that a range of the store's can be in. */
  bounds(start: string, end: string): { readonly key: Buffer; readonly rangeEnd: Buffer } {
    if (!this.#root) return { key: Buffer.from(start), rangeEnd: Buffer.from(end) };
    const { from, to } = this.#root;
    return {
      key: isBefore(start, from) ? Buffer.from(to) : this.#bound(start),
      rangeEnd: this.#bound(end),
    };
  }

  #bound(key: string): Buffer {
    const { from, to } = this.#root!;
    if (key.startsWith(from)) return Buffer.from(to + key.slice(from.length));
    return Buffer.from(isBefore(key, from) ? to : prefixEnd(to));
  }
}

function isBefore(a: string, b: string): boolean {
  return orderedKey(a) < orderedKey(b);
}

/** Where a cluster's objects lie whose `--etcd-prefix` is this. */
export function registryRoot(prefix: string): KeyRoot {
  const path = prefix.split('/').filter((segment) => segment !== '');
  return { from: '/registry/', to: `/${[...path, ''].join('/')}` };
}
