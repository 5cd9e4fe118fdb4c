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
    change(this.#namespaces, key, previous, object);
    for (const one of this.#indexes.values()) change(one, key, previous, object);
    return previous;
  }

  delete(key: string): T | undefined {
    const previous = this.#objects.get(key);
    if (!previous) return undefined;
    this.#objects.delete(key);
    change(this.#namespaces, key, previous, undefined);
    for (const one of this.#indexes.values()) change(one, key, previous, undefined);
    return previous;
  }

  addIndex(name: string, values: (object: T) => readonly string[]): void {
    if (this.#indexes.has(name)) return;
    const added = index(values);
    for (const [key, object] of this.#objects) change(added, key, undefined, object);
    this.#indexes.set(name, added);
  }

  byIndex(name: string, value: string): readonly T[] {
    const found = this.#indexes.get(name);
    if (!found) throw new Error(`the informer has no index ${name}`);
    const objects = found.entries.get(value);
    return objects ? [...objects.values()] : [];
  }
}

function index<T>(values: (object: T) => readonly string[]): Index<T> {
  return { values, entries: new Map() };
}

/** What an object is found under seldom changes with it; then only the object is replaced. */
function change<T>({ values, entries }: Index<T>, key: string, before: T | undefined, after: T | undefined): void {
  // The values of an immutable object are the same as when it was added.
  const old = before === undefined ? nowhere : values(before);
  const now = after === undefined ? nowhere : values(after);
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
