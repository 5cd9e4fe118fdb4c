/**
 * What an informer holds: objects by key, by namespace and by whatever indexes its readers asked for. Handing out lists copies
 * references only; the objects themselves are shared and frozen.
 */
import { type KubeObject, keyOf } from '../apimachinery/meta.ts';

interface Index<T> {
  readonly values: (object: T) => readonly string[];
  readonly entries: Map<string, Map<string, T>>;
}

export class InformerStore<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #namespaces: Index<T> = index((object) => [object.metadata.namespace ?? '']);
  readonly #indexes = new Map<string, Index<T>>();

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  keys(): string[] {
    return [...this.#objects.keys()];
  }

  list(namespace?: string): readonly T[] {
    const objects = namespace === undefined ? this.#objects : this.#namespaces.entries.get(namespace);
    return objects ? [...objects.values()] : [];
  }

  /** Returns what was there before. */
  set(object: T): T | undefined {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const one of this.#everyIndex()) {
      if (previous) removeFrom(one, key, previous);
      addTo(one, key, object);
    }
    return previous;
  }

  delete(key: string): T | undefined {
    const previous = this.#objects.get(key);
    if (!previous) return undefined;
    this.#objects.delete(key);
    for (const one of this.#everyIndex()) removeFrom(one, key, previous);
    return previous;
  }

  addIndex(name: string, values: (object: T) => readonly string[]): void {
    if (this.#indexes.has(name)) return;
    const added = index(values);
    for (const [key, object] of this.#objects) addTo(added, key, object);
    this.#indexes.set(name, added);
  }

  byIndex(name: string, value: string): readonly T[] {
    const found = this.#indexes.get(name);
    if (!found) throw new Error(`the informer has no index ${name}`);
    const objects = found.entries.get(value);
    return objects ? [...objects.values()] : [];
  }

  *#everyIndex(): Iterable<Index<T>> {
    yield this.#namespaces;
    yield* this.#indexes.values();
  }
}

function index<T>(values: (object: T) => readonly string[]): Index<T> {
  return { values, entries: new Map() };
}

function addTo<T>(one: Index<T>, key: string, object: T): void {
  for (const value of one.values(object)) {
    const objects = one.entries.get(value);
    if (objects) objects.set(key, object);
    else one.entries.set(value, new Map([[key, object]]));
  }
}

/** The values of an immutable object are the same as when it was added. */
function removeFrom<T>(one: Index<T>, key: string, object: T): void {
  for (const value of one.values(object)) {
    const objects = one.entries.get(value);
    objects?.delete(key);
    if (objects?.size === 0) one.entries.delete(value);
  }
}
