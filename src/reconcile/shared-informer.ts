/** The informer itself: a store kept true by a reflector, and handlers told of each change after the store shows it. */

import { type KubeObject, keyOf } from '../apimachinery/meta.ts';
import { apiVersionOf, type ResourceType } from '../apimachinery/resource.ts';
import { messageOf } from '../apimachinery/status.ts';
import { deepFreeze } from '../base/deep-freeze.ts';
import type { Log } from '../base/log.ts';
import type { WatchEvent } from '../client/client.ts';
import type { ChangeHandler, Informer, Registration } from './informer.ts';
import { InformerStore } from './informer-store.ts';
import type { ReflectorTarget } from './reflector.ts';

export interface SharedInformerOptions {
  readonly log: Log;
  /** Keep `metadata.managedFields`, half of a Pod's memory that hardly anybody reads. */
  readonly keepManagedFields: boolean;
  /** Stops the informer; what it holds stays readable. */
  readonly signal: AbortSignal;
}

interface Subscriber<T> {
  readonly handler: ChangeHandler<T>;
  synced: boolean;
}

export class SharedInformer<T extends KubeObject> implements Informer<T>, ReflectorTarget<T> {
  readonly type: ResourceType<T>;
  readonly #options: SharedInformerOptions;
  readonly #store = new InformerStore<T>();
  /** Replaced, never changed: whoever goes through them sees those of the moment. */
  #subscribers: readonly Subscriber<T>[] = [];
  readonly #firstSync = Promise.withResolvers<void>();
  #synced = false;
  #resourceVersion = '';

  constructor(type: ResourceType<T>, options: SharedInformerOptions) {
    this.type = type;
    this.#options = options;
    const { signal } = options;
    // Those who wait for an informer that is stopped would wait for ever. Nobody may be waiting.
    this.#firstSync.promise.catch(() => {});
    signal.addEventListener('abort', () => this.#firstSync.reject(signal.reason), { once: true });
    if (signal.aborted) this.#firstSync.reject(signal.reason);
  }

  get synced(): boolean {
    return this.#synced;
  }

  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  whenSynced(signal?: AbortSignal): Promise<void> {
    if (!signal) return this.#firstSync.promise;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      const settled = () => signal.removeEventListener('abort', abort);
      this.#firstSync.promise.then(resolve, reject).finally(settled);
    });
  }

  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(namespace?: string): readonly T[] {
    return this.#store.list(namespace);
  }

  addIndex(name: string, values: (object: T) => readonly string[]): void {
    this.#store.addIndex(name, values);
  }

  byIndex(name: string, value: string): readonly T[] {
    return this.#store.byIndex(name, value);
  }

  onChange(handler: ChangeHandler<T>): Registration {
    const subscriber: Subscriber<T> = { handler, synced: false };
    for (const object of this.#store.list()) this.#tell([subscriber], object, undefined);
    subscriber.synced = this.#synced;
    this.#subscribers = [...this.#subscribers, subscriber];
    return {
      get synced() {
        return subscriber.synced;
      },
      remove: () => {
        this.#subscribers = this.#subscribers.filter((other) => other !== subscriber);
      },
    };
  }

  replace(items: readonly T[], resourceVersion: string): void {
    const gone = new Set(this.#store.keys());
    for (const item of items) {
      const key = keyOf(item);
      gone.delete(key);
      this.#put(key, item);
    }
    for (const key of gone) this.#remove(key, undefined);
    this.#resourceVersion = resourceVersion;
    if (this.#synced) return;
    this.#synced = true;
    for (const subscriber of this.#subscribers) subscriber.synced = true;
    this.#firstSync.resolve();
  }

  changed(event: WatchEvent<T>): void {
    const { object } = event;
    if (event.type === 'DELETED') this.#remove(keyOf(event.object), event.object);
    else if (event.type !== 'BOOKMARK') this.#put(keyOf(event.object), event.object);
    this.#resourceVersion = object.metadata.resourceVersion ?? this.#resourceVersion;
  }

  #put(key: string, received: T): void {
    const previous = this.#store.get(key);
    if (previous && isSameState(previous, received)) return;
    const object = this.#prepare(received);
    this.#store.set(key, object, previous);
    this.#tell(this.#subscribers, object, previous);
  }

  /** `last` is the state the server sent along; without it the state last seen has to do. */
  #remove(key: string, last: T | undefined): void {
    const previous = this.#store.delete(key);
    if (!previous) return;
    const object = last ? this.#prepare(last) : previous;
    for (const { handler } of this.#subscribers) {
      try {
        handler.deleted?.(object);
      } catch (error) {
        this.#handlerFailed(error);
      }
    }
  }

  #prepare(received: T): T {
    let object = received;
    if (!object.kind || !object.apiVersion) {
      object = { ...object, kind: this.type.kind, apiVersion: apiVersionOf(this.type) };
    }
    if (!this.#options.keepManagedFields && object.metadata.managedFields !== undefined) {
      const { managedFields: _, ...metadata } = object.metadata;
      object = { ...object, metadata };
    }
    return deepFreeze(object);
  }

  #tell(subscribers: readonly Subscriber<T>[], object: T, previous: T | undefined): void {
    for (const { handler } of subscribers) {
      try {
        if (previous) handler.updated?.(object, previous);
        else handler.added?.(object);
      } catch (error) {
        this.#handlerFailed(error);
      }
    }
  }

  #handlerFailed(error: unknown): void {
    const stack = error instanceof Error ? error.stack : undefined;
    this.#options.log.error('change handler failed', { resource: this.type.resource, error: messageOf(error), stack });
  }
}

/** Objects of equal version and uid are equal. */
function isSameState(a: KubeObject, b: KubeObject): boolean {
  const { resourceVersion, uid } = a.metadata;
  return resourceVersion !== undefined && resourceVersion === b.metadata.resourceVersion && uid === b.metadata.uid;
}
