/**
 * What an informer holds: objects by key, by namespace and by whatever indexes its readers asked for. Handing out lists copies
 * references only; the objects themselves are shared and frozen.
 */
import type { KubeObject } from '../apimachinery/meta.ts';

interface Index<T> {
  readonly values: (object: T) => readonly string[];
  readonly entries: Map<string, Map<string, T>>;
}

export class InformerStore<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  /** Made when the first reader asks for a namespace: many informers never hear of one. */
  #namespaces: Index<T> | undefined;
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
    if (namespace === undefined) return [...this.#objects.values()];
    this.#namespaces ??= this.#index((object) => [object.metadata.namespace ?? '']);
    return found(this.#namespaces, namespace);
  }

  /** Puts the object in the place of `previous`, which is what `get` gives for its key. */
  set(key: string, object: T, previous: T | undefined): void {
    this.#objects.set(key, object);
    this.#change(key, previous, object);
  }

  delete(key: string): T | undefined {
    const previous = this.#objects.get(key);
    if (!previous) return undefined;
    this.#objects.delete(key);
    this.#change(key, previous, undefined);
    return previous;
  }

  addIndex(name: string, values: (object: T) => readonly string[]): void {
    if (!this.#indexes.has(name)) this.#indexes.set(name, this.#index(values));
  }

  byIndex(name: string, value: string): readonly T[] {
    const index = this.#indexes.get(name);
    if (!index) throw new Error(`the informer has no index ${name}`);
    return found(index, value);
  }

  #index(values: (object: T) => readonly string[]): Index<T> {
    const index: Index<T> = { values, entries: new Map() };
    for (const [key, object] of this.#objects) change(index, key, undefined, object);
    return index;
  }

  #change(key: string, before: T | undefined, after: T | undefined): void {
    if (this.#namespaces) change(this.#namespaces, key, before, after);
    if (this.#indexes.size > 0) for (const index of this.#indexes.values()) change(index, key, before, after);
  }
}

function found<T>({ entries }: Index<T>, value: string): readonly T[] {
  const objects = entries.get(value);
  return objects ? [...objects.values()] : [];
}

/** What an object is found under seldom changes with it; then only the object is replaced. */
function change<T>({ values, entries }: Index<T>, key: string, before: T | undefined, after: T | undefined): void {
  // The values of an immutable object are the same as when it was added.
  const old = before === undefined ? nowhere : values(before);
  const now = after === undefined ? nowhere : values(after);
  if (old !== now)
    for (const value of old) {
      if (now.includes(value)) continue;
      const objects = entries.get(value);
      objects?.delete(key);
      if (objects?.size === 0) entries.delete(value);
    }
  if (after === undefined) return;
  for (const value of now) {
    const objects = entries.get(value);
    if (objects) objects.set(key, after);
    else entries.set(value, new Map([[key, after]]));
  }
}

const nowhere: readonly string[] = [];
