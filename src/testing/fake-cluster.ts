/**
 * A cluster of plain maps for unit tests of whatever reads and writes through `Client` and `InformerSet`. It keeps uids, resource
 * versions, conflicts and `Status` errors as a server does, and nothing more: no defaults, no validation, no admission, no field
 * selectors. Informers see a change at once, or, with `lag`, only when the test says so.
 */
import { parseLabelSelector } from '../apimachinery/labels.ts';
import { draft, type KubeObject, keyOf } from '../apimachinery/meta.ts';
import { applyMergePatch } from '../apimachinery/patch/merge-patch.ts';
import { apiVersionOf, type GroupVersionResource, type ResourceType } from '../apimachinery/resource.ts';
import { alreadyExists, conflict, notFound } from '../apimachinery/status.ts';
import type { Client, ListOptions, ObjectReference, Patch } from '../client/client.ts';
import type { ChangeHandler, Informer, InformerSet } from '../reconcile/informer.ts';

export interface FakeCall {
  readonly verb: string;
  readonly resource: string;
  readonly key: string;
  readonly subresource?: string | undefined;
  readonly body?: unknown;
}

export class FakeCluster {
  /** Every call made through `client`, in order. */
  readonly calls: FakeCall[] = [];
  readonly client: Client;
  readonly informers: InformerSet;
  /** While true informers keep showing the state from before. */
  lag = false;
  /** Called before each call of the client; throwing makes the call fail. */
  onCall: ((call: FakeCall) => void | Promise<void>) | undefined;
  #revision = 0;
  readonly #stored = new Map<string, Map<string, KubeObject>>();
  readonly #informers = new Map<string, FakeInformer<KubeObject>>();

  constructor() {
    this.client = this.#makeClient();
    this.informers = {
      of: <T extends KubeObject>(type: ResourceType<T>) => this.#informer(type) as unknown as Informer<T>,
      whenSynced: async () => {},
    };
  }

  /** Puts objects into the store without a call, creating or replacing them. */
  add<T extends KubeObject>(type: ResourceType<T>, ...objects: readonly T[]): void {
    for (const object of objects) this.#write(type, object);
  }

  remove<T extends KubeObject>(type: ResourceType<T>, key: string): void {
    const object = this.#table(type).get(key);
    this.#table(type).delete(key);
    if (object && !this.lag) this.#informers.get(tableName(type))?.remove(object);
  }

  get<T extends KubeObject>(type: ResourceType<T>, key: string): T | undefined {
    return this.#table(type).get(key) as T | undefined;
  }

  all<T extends KubeObject>(type: ResourceType<T>): readonly T[] {
    return [...this.#table(type).values()] as unknown as readonly T[];
  }

  /** Shows the informers everything written so far. */
  catchUp(): void {
    this.lag = false;
    for (const [name, informer] of this.#informers) informer.replace(this.#stored.get(name) ?? new Map());
  }

  #table(type: GroupVersionResource): Map<string, KubeObject> {
    const name = tableName(type);
    const table = this.#stored.get(name) ?? new Map<string, KubeObject>();
    this.#stored.set(name, table);
    return table;
  }

  #informer<T extends KubeObject>(type: ResourceType<T>): FakeInformer<KubeObject> {
    const name = tableName(type);
    let informer = this.#informers.get(name);
    if (!informer) {
      informer = new FakeInformer<KubeObject>(type as unknown as ResourceType<KubeObject>);
      informer.replace(this.#table(type));
      this.#informers.set(name, informer);
    }
    return informer;
  }

  #write<T extends KubeObject>(type: ResourceType<T>, object: T): T {
    const stored = draft(object) as { apiVersion: string; kind: string; metadata: Record<string, unknown> };
    const previous = this.#table(type).get(keyOf(object));
    stored.apiVersion = apiVersionOf(type);
    stored.kind = type.kind;
    stored.metadata.uid ??= previous?.metadata.uid ?? `uid-${type.resource}-${keyOf(object)}`;
    stored.metadata.creationTimestamp ??= previous?.metadata.creationTimestamp ?? '2026-01-01T00:00:00Z';
    stored.metadata.resourceVersion = String(++this.#revision);
    this.#table(type).set(keyOf(object), stored);
    if (!this.lag) this.#informers.get(tableName(type))?.put(stored);
    return stored as unknown as T;
  }

  #makeClient(): Client {
    const called = async (call: FakeCall) => {
      this.calls.push(call);
      await this.onCall?.(call);
    };
    const update = async <T extends KubeObject>(type: ResourceType<T>, object: T, subresource?: string): Promise<T> => {
      await called({ verb: 'update', resource: type.resource, key: keyOf(object), subresource, body: object });
      const previous = this.#table(type).get(keyOf(object));
      if (!previous) throw notFound(type, object.metadata.name ?? '');
      const version = object.metadata.resourceVersion;
      if (version && version !== previous.metadata.resourceVersion) throw conflict(type, object.metadata.name ?? '');
      return this.#write(type, object);
    };
    const client: Partial<Client> = {
      get: async <T>(type: ResourceType<T>, ref: ObjectReference) => {
        await called({ verb: 'get', resource: type.resource, key: refKey(ref) });
        const object = this.#table(type).get(refKey(ref));
        if (!object) throw notFound(type, ref.name);
        return object as unknown as T;
      },
      list: async <T>(type: ResourceType<T>, { namespace, labelSelector = '' }: ListOptions = {}) => {
        await called({ verb: 'list', resource: type.resource, key: namespace ?? '' });
        const matcher = parseLabelSelector(labelSelector);
        const items = [...this.#table(type).values()].filter(
          ({ metadata }) => (!namespace || metadata.namespace === namespace) && matcher.matches(metadata.labels ?? {}),
        ) as unknown as T[];
        return { items, resourceVersion: String(this.#revision), continue: undefined, remainingItemCount: undefined };
      },
      create: async <T extends KubeObject>(type: ResourceType<T>, object: T) => {
        await called({ verb: 'create', resource: type.resource, key: keyOf(object), body: object });
        if (this.#table(type).has(keyOf(object))) throw alreadyExists(type, object.metadata.name ?? '');
        return this.#write(type, object);
      },
      update: (type, object) => update(type, object),
      updateStatus: (type, object) => update(type, object, 'status'),
      patch: async <T>(type: ResourceType<T>, ref: ObjectReference, { type: kind, body }: Patch) => {
        await called({ verb: 'patch', resource: type.resource, key: refKey(ref), body });
        const object = this.#table(type).get(refKey(ref));
        if (!object) throw notFound(type, ref.name);
        if (kind !== 'merge') throw new TypeError(`patches of type ${kind} are not applied here`);
        return this.#write(
          type as unknown as ResourceType<KubeObject>,
          applyMergePatch(object, body) as KubeObject,
        ) as T;
      },
      delete: async <T>(type: ResourceType<T>, ref: ObjectReference) => {
        await called({ verb: 'delete', resource: type.resource, key: refKey(ref) });
        const object = this.#table(type).get(refKey(ref));
        if (!object) throw notFound(type, ref.name);
        this.remove(type as unknown as ResourceType<KubeObject>, refKey(ref));
        return object as unknown as T;
      },
    };
    return client as Client;
  }
}

class FakeInformer<T extends KubeObject> implements Informer<T> {
  readonly type: ResourceType<T>;
  readonly synced = true;
  #objects = new Map<string, T>();
  readonly #handlers = new Set<ChangeHandler<T>>();
  readonly #indexes = new Map<string, (object: T) => readonly string[]>();

  constructor(type: ResourceType<T>) {
    this.type = type;
  }

  get resourceVersion(): string {
    return '0';
  }

  async whenSynced(): Promise<void> {}

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(namespace?: string): readonly T[] {
    return [...this.#objects.values()].filter((object) => !namespace || object.metadata.namespace === namespace);
  }

  addIndex(name: string, values: (object: T) => readonly string[]): void {
    if (!this.#indexes.has(name)) this.#indexes.set(name, values);
  }

  byIndex(name: string, value: string): readonly T[] {
    const values = this.#indexes.get(name);
    if (!values) throw new Error(`no index ${name}`);
    return [...this.#objects.values()].filter((object) => values(object).includes(value));
  }

  onChange(handler: ChangeHandler<T>) {
    this.#handlers.add(handler);
    for (const object of this.#objects.values()) handler.added?.(object);
    return { synced: true, remove: () => void this.#handlers.delete(handler) };
  }

  put(object: T): void {
    const previous = this.#objects.get(keyOf(object));
    this.#objects.set(keyOf(object), object);
    for (const handler of this.#handlers) {
      if (previous) handler.updated?.(object, previous);
      else handler.added?.(object);
    }
  }

  remove(object: T): void {
    this.#objects.delete(keyOf(object));
    for (const handler of this.#handlers) handler.deleted?.(object);
  }

  replace(table: ReadonlyMap<string, KubeObject>): void {
    for (const [key, object] of this.#objects) if (!table.has(key)) this.remove(object);
    for (const object of table.values()) if (this.#objects.get(keyOf(object)) !== object) this.put(object as T);
  }
}

function tableName(type: GroupVersionResource): string {
  return `${type.resource}.${type.group}`;
}

function refKey(ref: ObjectReference): string {
  return ref.namespace ? `${ref.namespace}/${ref.name}` : ref.name;
}
