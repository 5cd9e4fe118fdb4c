/**
 * Which watchers an event may concern, found by look-up: by object, by namespace, by the one indexed field of the kind (a Pod's
 * node), and those that watch everything. A thousand kubelets watching their own Pods cost an event two look-ups.
 *
 * Each watcher stands in exactly one place, its narrowest, so nobody is asked twice about one event.
 */
import type { CacheEntry } from './cache-entry.ts';
import type { CacheEvent } from './cache-event.ts';
import type { CacheWatcher } from './cache-watcher.ts';

type Group = Set<CacheWatcher>;

export class WatcherIndex {
  readonly #triggerField: string | undefined;
  readonly #everything: Group = new Set();
  readonly #byNamespace = new Map<string, Group>();
  readonly #byObject = new Map<string, Group>();
  readonly #byTrigger = new Map<string, Group>();
  readonly #places = new Map<CacheWatcher, () => void>();

  constructor(triggerField: string | undefined) {
    this.#triggerField = triggerField;
  }

  get size(): number {
    return this.#places.size;
  }

  watchers(): IterableIterator<CacheWatcher> {
    return this.#places.keys();
  }

  add(watcher: CacheWatcher): void {
    const { namespace = '', name, fields } = watcher.selection;
    const trigger = this.#triggerField === undefined ? undefined : fields.exactValue(this.#triggerField);
    if (name !== undefined) this.#put(this.#byObject, objectKey(namespace, name), watcher);
    else if (trigger !== undefined) this.#put(this.#byTrigger, trigger, watcher);
    else if (namespace !== '') this.#put(this.#byNamespace, namespace, watcher);
    else {
      this.#everything.add(watcher);
      this.#places.set(watcher, () => this.#everything.delete(watcher));
    }
  }

  remove(watcher: CacheWatcher): void {
    this.#places.get(watcher)?.();
    this.#places.delete(watcher);
  }

  dispatch(event: CacheEvent): void {
    if (this.#places.size === 0) return;
    const subject = (event.entry ?? event.previous)!;
    for (const watcher of this.#everything) watcher.offer(event);
    if (this.#byNamespace.size > 0) offerTo(this.#byNamespace.get(subject.namespace), event);
    if (this.#byObject.size > 0) {
      offerTo(this.#byObject.get(objectKey(subject.namespace, subject.name)), event);
      // A watch over all namespaces may still name its object.
      if (subject.namespace !== '') offerTo(this.#byObject.get(objectKey('', subject.name)), event);
    }
    if (this.#byTrigger.size > 0) this.#dispatchByTrigger(event, subject.namespace);
  }

  #dispatchByTrigger(event: CacheEvent, namespace: string): void {
    const now = this.#triggerOf(event.entry);
    const before = this.#triggerOf(event.previous);
    const offer = (group: Group | undefined) => {
      for (const watcher of group ?? []) {
        const wanted = watcher.selection.namespace;
        if (!wanted || wanted === namespace) watcher.offer(event);
      }
    };
    if (now !== undefined) offer(this.#byTrigger.get(now));
    if (before !== undefined && before !== now) offer(this.#byTrigger.get(before));
  }

  #triggerOf(entry: CacheEntry | undefined): string | undefined {
    return entry?.fields[this.#triggerField!];
  }

  #put(index: Map<string, Group>, key: string, watcher: CacheWatcher): void {
    const group = index.get(key);
    if (group) group.add(watcher);
    else index.set(key, new Set([watcher]));
    this.#places.set(watcher, () => {
      const place = index.get(key);
      place?.delete(watcher);
      if (place?.size === 0) index.delete(key);
    });
  }
}

function offerTo(group: Group | undefined, event: CacheEvent): void {
  if (group) for (const watcher of group) watcher.offer(event);
}

function objectKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
