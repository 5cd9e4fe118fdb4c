/**
 * An API server of plain maps, as a `Transport`, for tests of clients and controllers: versions, conflicts, generations, statuses kept apart,
 * finalizers, graceful deletion, propagation policies, selectors, patches, watches, discovery, and faults on demand. It keeps no rules: no
 * validation, no admission, hardly a default, and it does not ask whether a namespace exists; what needs those is tested on the real server.
 *
 * Why not the real one everywhere: tests of controllers show them what a server would never hand out together (half an object, a Pod
 * without a node that runs, a status out of the blue), they look at every write, and hundreds of them take seconds; a control plane is
 * a fifth of a second each. What keeps this one honest is `memory-api.test.ts`, which runs the same cases on it and on the real server.
 */
import { isDeepStrictEqual } from 'node:util';
import { builtinResources, builtinSchema } from '../api/schema.ts';
import { type Draft, draft, type KubeObject, keyOf } from '../apimachinery/meta.ts';
import { applyJsonPatch } from '../apimachinery/patch/json-patch.ts';
import { applyMergePatch } from '../apimachinery/patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../apimachinery/patch/strategic-merge-patch.ts';
import type { ResourceType } from '../apimachinery/resource.ts';
import type { ResourceRow } from '../apimachinery/schema.ts';
import { alreadyExists, badRequest, conflict, genericServerResponse, notFound } from '../apimachinery/status.ts';
import { formatTime } from '../apimachinery/time.ts';
import type { Clock } from '../base/clock.ts';
import { deepFreeze } from '../base/deep-freeze.ts';
import { type Random, randomSuffix, seededRandom } from '../base/random.ts';
import type { Client, Transport, TransportRequest } from '../client/client.ts';
import { createClient } from '../client/typed-client.ts';
import { discoveryList, otherUid, terminatingNamespace } from './memory-api-answers.ts';
import {
  type ChangeListener,
  type Loose,
  MemoryTables,
  type Selection,
  selectionOf,
  type Table,
} from './memory-tables.ts';

/** Where a path points to: `/apis/apps/v1/namespaces/a/deployments/b/status`. */
interface Target {
  readonly table: Table;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

interface DeleteBody {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: string;
  readonly gracePeriodSeconds?: number;
}

interface Watcher {
  readonly selection: Selection;
  readonly bookmarks: boolean;
  push(event: { readonly type: string; readonly object: unknown }): void;
  end(error?: unknown): void;
}

const propagationFinalizers: Readonly<Record<string, string>> = { Orphan: 'orphan', Foreground: 'foregroundDeletion' };

export class MemoryApi implements Transport {
  readonly client: Client;
  /** Requests so far, watches included. */
  readonly requests: TransportRequest[] = [];
  readonly #clock: Clock | undefined;
  readonly #random: Random = seededRandom(7);
  readonly #tables = new MemoryTables(builtinResources());
  readonly #watchers = new Set<Watcher>();
  readonly #unserved = new Set<ResourceRow>();
  #fault: ((request: TransportRequest) => unknown) | undefined;
  #tokens = 0;

  /** `clock`: for the times in metadata. */
  constructor({ clock }: { readonly clock?: Clock } = {}) {
    this.#clock = clock;
    this.client = createClient(this);
    this.#tables.onChange((change) => {
      for (const watcher of this.#watchers) deliver(watcher, change);
    });
  }

  get resourceVersion(): string {
    return String(this.#tables.revision);
  }

  /** Watches now open. */
  get watches(): number {
    return this.#watchers.size;
  }

  /** All requests that were to change something, in order. */
  get writes(): readonly TransportRequest[] {
    return this.requests.filter(({ method }) => method !== 'GET');
  }

  /** All objects of a resource as they are stored. */
  all<T extends KubeObject>(type: ResourceType<T>): readonly T[] {
    return [...this.#tables.of(type).objects.values()] as unknown as readonly T[];
  }

  find<T extends KubeObject>(type: ResourceType<T>, key: string): T | undefined {
    return this.#tables.of(type).objects.get(key) as T | undefined;
  }

  /** Stores objects past all rules, new or in place of those that are there. */
  put<T extends KubeObject>(type: ResourceType<T>, ...objects: readonly T[]): void {
    const table = this.#tables.of(type);
    for (const object of objects) {
      const next = draft(object) as Loose;
      const present = table.objects.get(keyOf(object));
      next.metadata.uid ??= present?.metadata.uid ?? this.#random.uuid();
      next.metadata.creationTimestamp ??= present?.metadata.creationTimestamp ?? this.#now();
      this.#tables.store(table, next);
    }
  }

  /** Changes a stored object past all rules, as kubelets and tests do. */
  alter<T extends KubeObject>(type: ResourceType<T>, key: string, change: (object: Draft<T>) => void): void {
    const present = this.find(type, key);
    if (!present) throw new Error(`no ${type.resource} ${key}`);
    const next = draft(present);
    change(next);
    this.#tables.store(this.#tables.of(type), next as unknown as Loose);
  }

  /** Removes an object past all rules. */
  erase<T extends KubeObject>(type: ResourceType<T>, key: string): void {
    const present = this.find(type, key);
    if (present) this.#tables.remove(this.#tables.of(type), draft(present) as unknown as Loose);
  }

  /** Told of each change at once, before any watch is. */
  onChange(listener: ChangeListener): void {
    this.#tables.onChange(listener);
  }

  /** `fault` is asked before each request; what it throws, returns or resolves to is thrown, undefined lets the request through. */
  failWith(fault: ((request: TransportRequest) => unknown) | undefined): void {
    this.#fault = fault;
  }

  /** Whether the kind is there for clients, as a custom one is while its definition is. Going, it ends the watches, all of them. */
  setServed(type: ResourceType, isServed: boolean): void {
    const { row } = this.#tables.of(type);
    if (isServed) this.#unserved.delete(row);
    else this.#unserved.add(row);
    this.dropWatches();
  }

  /** Ends all watches, as a server does at their timeout, or with an error. */
  dropWatches(error?: unknown): void {
    for (const watcher of [...this.#watchers]) watcher.end(error);
  }

  /** Watches hear nothing more, and do not end: a cut cable. */
  silenceWatches(): void {
    this.#watchers.clear();
  }

  /** Forgets the past: watches from versions before now fail with 410. */
  compact(): void {
    this.#tables.compact();
  }

  /** Sends a bookmark to all watches that take them. */
  bookmark(): void {
    const object = { metadata: { resourceVersion: this.resourceVersion } };
    for (const watcher of this.#watchers) if (watcher.bookmarks) watcher.push({ type: 'BOOKMARK', object });
  }

  async send(sent: TransportRequest): Promise<unknown> {
    const request = await this.#arrival(sent);
    if (request.path === '/api' || request.path === '/apis')
      return discoveryList(
        this.#tables.rows.filter((row) => !this.#unserved.has(row)),
        request.path === '/api',
      );
    return deepFreeze(this.#serve(request));
  }

  async *stream(sent: TransportRequest): AsyncGenerator<{ type: string; object: unknown }, void, undefined> {
    const { path, query, signal } = await this.#arrival(sent);
    const { table, namespace } = this.#route(path);
    const queue: { readonly type: string; readonly object: unknown }[] = [];
    let wake = () => {};
    let ended: { readonly error: unknown } | undefined;
    const watcher: Watcher = {
      selection: selectionOf(table, namespace, query),
      bookmarks: query?.get('allowWatchBookmarks') === 'true',
      push: (event) => {
        queue.push(event);
        wake();
      },
      end: (error) => {
        ended = { error };
        wake();
      },
    };
    const abort = () => watcher.end(signal?.reason ?? new Error('aborted'));
    signal?.addEventListener('abort', abort, { once: true });
    for (const change of this.#tables.since(table, query?.get('resourceVersion'))) deliver(watcher, change);
    this.#watchers.add(watcher);
    try {
      for (;;) {
        const event = queue.shift();
        if (event) yield event;
        else if (ended) {
          if (ended.error !== undefined) throw ended.error;
          return;
        } else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.#watchers.delete(watcher);
      signal?.removeEventListener('abort', abort);
    }
  }

  async close(): Promise<void> {
    this.dropWatches(new Error('the transport is closed'));
  }

  /** Answers come in a later macrotask, as from a real server, and nobody's body is shared. */
  async #arrival(sent: TransportRequest): Promise<TransportRequest> {
    const request = sent.body === undefined ? sent : { ...sent, body: JSON.parse(JSON.stringify(sent.body)) };
    this.requests.push(request);
    await new Promise((resolve) => setImmediate(resolve));
    request.signal?.throwIfAborted();
    const fault = await this.#fault?.(request);
    if (fault !== undefined) throw fault;
    return request;
  }

  #serve(request: TransportRequest): unknown {
    const target = this.#route(request.path);
    switch (request.method) {
      case 'GET':
        return target.name === undefined ? this.#list(target, request) : this.#present(target);
      case 'POST':
        return this.#create(target, request.body as KubeObject);
      case 'PUT':
        return this.#update(target, request.body as KubeObject);
      case 'PATCH':
        return this.#patch(target, request);
      case 'DELETE':
        return target.name === undefined
          ? this.#deleteAll(target, request)
          : this.#delete(target, (request.body ?? {}) as DeleteBody);
    }
  }

  #route(path: string): Target {
    const parts = path.split('/').slice(1).map(decodeURIComponent);
    const isCore = parts[0] === 'api';
    const [group, version] = isCore ? ['', parts[1]] : [parts[1], parts[2]];
    let rest = parts.slice(isCore ? 2 : 3);
    let namespace: string | undefined;
    if (rest[0] === 'namespaces' && rest.length > 2 && !['status', 'finalize'].includes(rest[2]!)) {
      namespace = rest[1];
      rest = rest.slice(2);
    }
    const [resource = '', name, subresource] = rest;
    const table = this.#tables.find({ group: group ?? '', version: version ?? '', resource });
    if (!table || this.#unserved.has(table.row)) throw genericServerResponse({ code: 404, method: '' });
    return { table, namespace, name, subresource };
  }

  #present({ table, namespace, name = '' }: Target): KubeObject {
    const found = table.objects.get(namespace ? `${namespace}/${name}` : name);
    if (!found) throw notFound(table.row, name);
    return found;
  }

  #list({ table, namespace }: Target, { query }: TransportRequest): unknown {
    const { matches } = selectionOf(table, namespace, query);
    const items = [...table.objects].filter(([, object]) => matches(object)).sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      kind: `${table.row.kind}List`,
      metadata: { resourceVersion: this.resourceVersion },
      items: items.map(([, object]) => object),
    };
  }

  #create(target: Target, body: KubeObject): unknown {
    if (target.subresource) return this.#createSubresource(target, body);
    const { table, namespace } = target;
    const object = draft(body) as Loose;
    const { metadata } = object;
    if (namespace) metadata.namespace = namespace;
    if (!metadata.name) metadata.name = `${metadata.generateName}${randomSuffix(this.#random)}`;
    if (table.objects.has(keyOf(object))) throw alreadyExists(table.row, metadata.name);
    const owner = namespace ? this.#tables.find(namespaceTable)?.objects.get(namespace) : undefined;
    if (owner?.metadata.deletionTimestamp) throw terminatingNamespace(table.row, metadata.name, namespace ?? '');
    metadata.uid = this.#random.uuid();
    metadata.creationTimestamp = this.#now();
    metadata.generation = 1;
    if (hasStatus(table)) delete object.status;
    if (table.row.resource === 'namespaces') {
      object.spec = { ...object.spec, finalizers: ['kubernetes'] };
      object.status = { phase: 'Active' };
    }
    if (table.row.resource === 'pods') object.status = { phase: 'Pending' };
    return this.#tables.store(table, object);
  }

  #createSubresource(target: Target, body: KubeObject): unknown {
    switch (target.subresource) {
      case 'binding': {
        const { target: to } = body as unknown as { readonly target: { readonly name: string } };
        const object = draft(this.#present(target)) as Loose;
        object.spec = { ...object.spec, nodeName: to.name };
        this.#tables.store(target.table, object);
        return { kind: 'Status', status: 'Success' };
      }
      case 'eviction':
        this.#delete(target, {});
        return { kind: 'Status', status: 'Success' };
      case 'token': {
        // For any account: whether it is there is a rule.
        const { spec } = body as unknown as { readonly spec: { readonly expirationSeconds?: number } };
        const expirationTimestamp = this.#now((spec.expirationSeconds ?? 3600) * 1000);
        return { ...body, status: { token: `token-${++this.#tokens}`, expirationTimestamp } };
      }
      default:
        throw badRequest(`no subresource ${target.subresource} here`);
    }
  }

  #update(target: Target, body: KubeObject): unknown {
    const present = this.#present(target) as Loose;
    const { resourceVersion } = body.metadata;
    if (resourceVersion && resourceVersion !== present.metadata.resourceVersion)
      throw conflict(target.table.row, target.name ?? '');
    return this.#replace(target, present, draft(body) as Loose);
  }

  #replace({ table, subresource, name = '' }: Target, present: Loose, object: Loose): unknown {
    const { uid, creationTimestamp, generation = 1, deletionTimestamp, deletionGracePeriodSeconds } = present.metadata;
    if (object.metadata.uid && object.metadata.uid !== uid) throw conflict(table.row, name);
    if (subresource === 'status' || subresource === 'approval') object.spec = present.spec as Record<string, unknown>;
    else if (hasStatus(table)) object.status = present.status as Record<string, unknown>;
    const isChanged = subresource === undefined && !isDeepStrictEqual(object.spec, present.spec);
    Object.assign(object.metadata, {
      ...{ uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds },
      generation: isChanged ? generation + 1 : generation,
      resourceVersion: present.metadata.resourceVersion,
    });
    const next = JSON.parse(JSON.stringify(object)) as Loose;
    return this.#tables.mayGo(table, next) ? this.#tables.remove(table, next) : this.#tables.store(table, next);
  }

  #patch(target: Target, { contentType = '', body: sent }: TransportRequest): unknown {
    const body = sent as Record<string, unknown>;
    const { table, namespace, name = '' } = target;
    const isApply = contentType.includes('apply-patch');
    if (isApply && !table.objects.has(namespace ? `${namespace}/${name}` : name))
      return this.#create({ ...target, name: undefined }, { ...body, metadata: { ...(body.metadata ?? {}), name } });
    const present = this.#present(target) as Loose;
    if (contentType.includes('json-patch'))
      return this.#replace(target, present, draft(applyJsonPatch(present, sent)) as Loose);
    const { resourceVersion } = (body.metadata ?? {}) as KubeObject['metadata'];
    if (resourceVersion !== undefined && resourceVersion !== present.metadata.resourceVersion)
      throw conflict(table.row, name);
    const patched = contentType.includes('strategic')
      ? applyStrategicMergePatch(present, body, builtinSchema().type(table.row.type))
      : applyMergePatch(present, body);
    return this.#replace(target, present, draft(patched) as Loose);
  }

  #delete(target: Target, options: DeleteBody): unknown {
    const { table, name = '' } = target;
    const object = draft(this.#present(target)) as Loose;
    const { metadata } = object;
    const { uid, resourceVersion } = options.preconditions ?? {};
    if (uid && uid !== metadata.uid) throw otherUid(table.row, name, { wanted: uid, found: metadata.uid ?? '' });
    if (resourceVersion && resourceVersion !== metadata.resourceVersion) throw conflict(table.row, name);
    const finalizer = propagationFinalizers[options.propagationPolicy ?? ''];
    if (finalizer && !metadata.finalizers?.includes(finalizer))
      metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
    const grace = table.row.resource === 'pods' ? graceOf(object, options) : 0;
    if (metadata.deletionTimestamp === undefined || grace < (metadata.deletionGracePeriodSeconds ?? 0)) {
      metadata.deletionTimestamp = this.#now(grace * 1000);
      metadata.deletionGracePeriodSeconds = grace;
    }
    if (table.row.resource === 'namespaces') object.status = { ...object.status, phase: 'Terminating' };
    return this.#tables.mayGo(table, object) ? this.#tables.remove(table, object) : this.#tables.store(table, object);
  }

  #deleteAll({ table, namespace }: Target, { body, query }: TransportRequest): unknown {
    const { matches } = selectionOf(table, namespace, query);
    for (const { metadata } of [...table.objects.values()].filter(matches))
      this.#delete(
        { table, namespace: metadata.namespace, name: metadata.name, subresource: undefined },
        (body ?? {}) as DeleteBody,
      );
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };
  }

  #now(laterMs = 0): string {
    return formatTime((this.#clock?.now() ?? 0) + laterMs);
  }
}

const namespaceTable = { group: '', version: 'v1', resource: 'namespaces' };

function hasStatus({ row }: Table): boolean {
  return row.subresources.some(({ name }) => name === 'status');
}

/** Only what may still run has time to end. */
function graceOf({ spec, status }: Loose, { gracePeriodSeconds }: DeleteBody): number {
  if (!spec?.nodeName || ['Succeeded', 'Failed'].includes(String(status?.phase))) return 0;
  return gracePeriodSeconds ?? (spec.terminationGracePeriodSeconds as number | undefined) ?? 30;
}

/** An object that stops matching is deleted for the watcher, one that starts is added. */
function deliver({ selection, push }: Watcher, { table, type, object, previous }: Parameters<ChangeListener>[0]): void {
  if (selection.table !== table) return;
  const before = previous !== undefined && selection.matches(previous);
  const after = type !== 'DELETED' && selection.matches(object);
  if (before || after) push({ type: !after ? 'DELETED' : before ? 'MODIFIED' : 'ADDED', object });
}
