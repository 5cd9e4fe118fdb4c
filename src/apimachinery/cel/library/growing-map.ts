/**
 * Maps that grow by one entry at a time, as macros build them. Immutable to whoever holds one, yet adding to the newest costs no
 * copy: all stages of a map's growth share one store and each sees as many of its entries as it had.
 *
 *     const one = GrowingMap.empty().with('a', 1n);   // store: a
 *     const two = one.with('b', 2n);                  // store: a b; `one` still has one entry
 *     const other = one.with('c', 3n);                // `one` is not the newest: a store of its own
 */
import { CelMap, type CelMapKey, type CelResult, CelUint, type CelValue } from '../index.ts';

interface Entry {
  readonly key: CelMapKey;
  readonly value: CelResult;
  readonly index: number;
}

export class GrowingMap extends CelMap {
  readonly size: number;
  readonly #store: Map<string, Entry>;

  private constructor(store: Map<string, Entry>, size: number) {
    super();
    this.#store = store;
    this.size = size;
  }

  static empty(): GrowingMap {
    return new GrowingMap(new Map(), 0);
  }

  /** Of entries with distinct keys. */
  static of(entries: Iterable<readonly [CelMapKey, CelResult]>): GrowingMap {
    let map = GrowingMap.empty();
    for (const [key, value] of entries) map = map.with(key, value);
    return map;
  }

  /** This map and one entry more, whose key it has not. */
  with(key: CelMapKey, value: CelResult): GrowingMap {
    const store = this.size === this.#store.size ? this.#store : new Map([...this.#store].slice(0, this.size));
    store.set(identity(key)!, { key, value, index: this.size });
    return new GrowingMap(store, this.size + 1);
  }

  get(key: CelValue): CelResult | undefined {
    const id = identity(key);
    const entry = id === undefined ? undefined : this.#store.get(id);
    return entry && entry.index < this.size ? entry.value : undefined;
  }

  has(key: CelValue): boolean {
    return this.get(key) !== undefined;
  }

  *keys(): Iterable<CelMapKey> {
    for (const { key, index } of this.#store.values()) if (index < this.size) yield key;
  }
}

/** One text for all spellings of a key: numbers are the same key whatever their type. Undefined for what can be no key. */
function identity(key: CelValue): string | undefined {
  if (typeof key === 'string') return `s${key}`;
  if (typeof key === 'boolean') return `b${key}`;
  if (typeof key === 'bigint') return `n${key}`;
  if (key instanceof CelUint) return `n${key.value}`;
  return typeof key === 'number' && Number.isInteger(key) ? `n${BigInt(key)}` : undefined;
}

export function isMapKey(value: CelValue): value is CelMapKey {
  return (
    typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint' || value instanceof CelUint
  );
}
