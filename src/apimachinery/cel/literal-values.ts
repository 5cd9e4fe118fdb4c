/** Maps and objects that an expression writes out (`{'a': 1}`, `Object{spec: ...}`). */
import { type CelType, mapType } from './types.ts';
import { CelError, CelMap, type CelMapKey, type CelResult, CelUint, type CelValue } from './values.ts';

/** One key for all spellings of it: numbers are the same key whatever their types. Undefined for what can be no key. */
function identity(key: CelValue): string | bigint | boolean | undefined {
  if (typeof key === 'string' || typeof key === 'bigint' || typeof key === 'boolean') return key;
  if (key instanceof CelUint) return key.value;
  return typeof key === 'number' && Number.isInteger(key) ? BigInt(key) : undefined;
}

export class LiteralMap extends CelMap {
  override readonly type: CelType;
  readonly #entries = new Map<string | bigint | boolean, { readonly key: CelMapKey; readonly value: CelResult }>();

  constructor(type: CelType = mapType) {
    super();
    this.type = type;
  }

  /** Only while the map is being built. */
  set(key: CelValue, value: CelValue): CelError | undefined {
    const id = identity(key);
    if (id === undefined || typeof key === 'number') return new CelError(`unsupported key type: ${typeof key}`);
    this.#entries.set(id, { key: key as CelMapKey, value });
    return undefined;
  }

  /** Only while the map is being built. */
  delete(key: CelValue): void {
    const id = identity(key);
    if (id !== undefined) this.#entries.delete(id);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: CelValue): CelResult | undefined {
    const id = identity(key);
    return id === undefined ? undefined : this.#entries.get(id)?.value;
  }

  has(key: CelValue): boolean {
    const id = identity(key);
    return id !== undefined && this.#entries.has(id);
  }

  *keys(): Iterable<CelMapKey> {
    for (const { key } of this.#entries.values()) yield key;
  }
}
