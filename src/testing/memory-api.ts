/**
 * A small API server in memory, for tests of clients and controllers: objects, versions, watches, finalizers, optimistic
 * concurrency, and faults on demand. It is a `Transport`, so `createClient(new MemoryApi())` is a client. It knows nothing of kinds:
 * no defaulting, no validation, no admission; what needs those is tested on the real server.
 */

import { parseFieldSelector } from '../apimachinery/fields.ts';
import { parseLabelSelector } from '../apimachinery/labels.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import { applyJsonPatch } from '../apimachinery/patch/json-patch.ts';
import { applyMergePatch } from '../apimachinery/patch/merge-patch.ts';
import {
  alreadyExists,
  badRequest,
  conflict,
  expired,
  genericServerResponse,
  notFound,
} from '../apimachinery/status.ts';
import { formatTime } from '../apimachinery/time.ts';
import type { Clock } from '../base/clock.ts';
import type { Transport, TransportRequest } from '../client/client.ts';

/** Where a path points to: `/apis/apps/v1/namespaces/a/deployments/b/status`. */
interface Target {
  /** Root, version and resource: `/apis/apps/v1/deployments`. */
  readonly collection: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

interface Stored {
  readonly target: Target;
  readonly object: KubeObject;
}

interface Change extends Stored {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: number;
  readonly previous: KubeObject | undefined;
}

interface Watcher {
  readonly target: Target;
  readonly matches: (object: KubeObject) => boolean;
  readonly bookmarks: boolean;
  push(event: { readonly type: string; readonly object: unknown }): void;
  end(error?: unknown): void;
}

export interface MemoryApiOptions {
  /** For creationTimestamp and deletionTimestamp. */
  readonly clock?: Clock;
}

export class MemoryApi implements Transport {
  /** Requests so far, watches included. */
  readonly requests: TransportRequest[] = [];
  readonly #clock: Clock | undefined;
  readonly #objects = new Map<string, Stored>();
  readonly #watchers = new Set<Watcher>();
  #changes: Change[] = [];
  #version = 1;
  #oldest = 0;
  #sequence = 0;
  #fault: ((request: TransportRequest) => unknown) | undefined;

  constructor(options: MemoryApiOptions = {}) {
    this.#clock = options.clock;
  }

  async send(request: TransportRequest): Promise<unknown> {
    this.requests.push(request);
    await turn();
    request.signal?.throwIfAborted();
    await this.#raiseFault(request);
    return deepFreeze(this.#serve(request));
  }

  async *stream(request: TransportRequest): AsyncGenerator<{ type: string; object: unknown }, void, undefined> {
    this.requests.push(request);
    await turn();
    request.signal?.throwIfAborted();
    await this.#raiseFault(request);
    const queue: { readonly type: string; readonly object: unknown }[] = [];
    let wake = () => {};
    let ended: { readonly error: unknown } | undefined;
    const target = targetOf(request.path);
    const watcher: Watcher = {
      target,
      matches: selection(request),
      bookmarks: request.query?.get('allowWatchBookmarks') === 'true',
      push: (event) => {
        queue.push(event);
        wake();
      },
      end: (error) => {
        ended = { error };
        wake();
      },
    };
    const abort = () => watcher.end(request.signal?.reason ?? new Error('aborted'));
    request.signal?.addEventListener('abort', abort, { once: true });
    this.#begin(watcher, request.query?.get('resourceVersion'));
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
      request.signal?.removeEventListener('abort', abort);
    }
  }

  async close(): Promise<void> {
    this.dropWatches(new Error('the transport is closed'));
  }

  /** Watches now open. */
  get watches(): number {
    return this.#watchers.size;
  }

  get resourceVersion(): string {
    return String(this.#version);
  }

  /** `fault` is asked before each request; what it returns (or resolves to) is thrown, undefined lets the request through. */
  failWith(fault: ((request: TransportRequest) => unknown) | undefined): void {
    this.#fault = fault;
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
    this.#oldest = this.#version;
    this.#changes = [];
  }

  /** Sends a bookmark to all watches that take them. */
  bookmark(): void {
    const object = { metadata: { resourceVersion: this.resourceVersion } };
    for (const watcher of this.#watchers) if (watcher.bookmarks) watcher.push({ type: 'BOOKMARK', object });
  }

  #begin(watcher: Watcher, from: string | undefined): void {
    if (from === undefined || from === '' || from === '0') {
      for (const stored of this.#objects.values()) {
        if (covers(watcher, stored)) watcher.push({ type: 'ADDED', object: stored.object });
      }
      return;
    }
    if (Number(from) < this.#oldest) {
      throw expired(`too old resource version: ${from} (${this.#oldest})`);
    }
    for (const change of this.#changes) if (change.version > Number(from)) deliver(watcher, change);
  }

  async #raiseFault(request: TransportRequest): Promise<void> {
    const fault = await this.#fault?.(request);
    if (fault !== undefined) throw fault;
  }

  #serve(request: TransportRequest): unknown {
    const target = targetOf(request.path);
    const body = request.body === undefined ? undefined : (JSON.parse(JSON.stringify(request.body)) as KubeObject);
    switch (request.method) {
      case 'GET':
        return target.name === '' ? this.#list(target, request) : this.#find(target).object;
      case 'POST':
        return this.#create(target, body!);
      case 'PUT':
        return this.#update(target, body!);
      case 'PATCH':
        return this.#patch(target, request, body);
      case 'DELETE':
        return target.name === '' ? this.#deleteAll(target, request) : this.#delete(target, body);
    }
  }

  #find(target: Target): Stored {
    const stored = this.#objects.get(keyOf(target));
    if (!stored) throw notFound(target, target.name);
    return stored;
  }

  #list(target: Target, request: TransportRequest): unknown {
    const matches = selection(request);
    const items = [...this.#objects.values()]
      .filter((stored) => inScope(target, stored.target) && matches(stored.object))
      .sort((a, b) => (keyOf(a.target) < keyOf(b.target) ? -1 : 1))
      .map(({ object }) => object);
    return { metadata: { resourceVersion: this.resourceVersion }, items };
  }

  #create(target: Target, body: KubeObject): KubeObject {
    if (target.subresource !== '') throw badRequest(`no subresource ${target.subresource} here`);
    const generated = body.metadata.generateName ? `${body.metadata.generateName}${++this.#sequence}` : '';
    const name = body.metadata.name ?? generated;
    const at = { ...target, name, namespace: target.namespace || (body.metadata.namespace ?? '') };
    if (this.#objects.has(keyOf(at))) throw alreadyExists(at, name);
    const metadata = {
      ...body.metadata,
      name,
      ...(at.namespace === '' ? {} : { namespace: at.namespace }),
      uid: `uid-${++this.#sequence}`,
      creationTimestamp: this.#now(),
      generation: 1,
    };
    return this.#store('ADDED', at, { ...body, metadata }, undefined);
  }

  #update(target: Target, body: KubeObject): KubeObject {
    const { object: previous } = this.#find(target);
    const wanted = body.metadata.resourceVersion;
    if (wanted && wanted !== previous.metadata.resourceVersion) throw conflict(target, target.name);
    const [from, to] = [previous as unknown as Record<string, unknown>, body as unknown as Record<string, unknown>];
    const next = target.subresource === 'status' ? { ...from, status: to.status } : to;
    const { uid, creationTimestamp, deletionTimestamp, generation = 1 } = previous.metadata;
    const changed = JSON.stringify(from.spec) !== JSON.stringify(next.spec);
    const metadata = {
      ...(target.subresource === 'status' ? previous.metadata : body.metadata),
      uid,
      creationTimestamp,
      ...(deletionTimestamp ? { deletionTimestamp } : {}),
      generation: changed ? generation + 1 : generation,
    };
    const updated = { ...next, metadata } as KubeObject;
    if (deletionTimestamp && !updated.metadata.finalizers?.length) return this.#remove(target, updated);
    if (sameButVersion(previous, updated)) return previous;
    return this.#store('MODIFIED', { ...target, subresource: '' }, updated, previous);
  }

  #patch(target: Target, request: TransportRequest, body: unknown): KubeObject {
    const apply = request.contentType === 'application/apply-patch+yaml';
    if (apply && !this.#objects.has(keyOf(target))) {
      const object = body as KubeObject;
      return this.#create({ ...target, name: '' }, { ...object, metadata: { ...object.metadata, name: target.name } });
    }
    const { object } = this.#find(target);
    const patched =
      request.contentType === 'application/json-patch+json'
        ? applyJsonPatch(object, body)
        : (applyMergePatch(object, body) as KubeObject);
    return this.#update(target, patched);
  }

  #delete(target: Target, body: unknown): KubeObject {
    const { object } = this.#find(target);
    const wanted = (body as { preconditions?: { uid?: string } } | undefined)?.preconditions?.uid;
    if (wanted !== undefined && wanted !== object.metadata.uid) {
      const message = `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${object.metadata.uid}`;
      throw conflict(target, target.name, message);
    }
    if (!object.metadata.finalizers?.length) return this.#remove(target, object);
    if (object.metadata.deletionTimestamp) return object;
    const metadata = { ...object.metadata, deletionTimestamp: this.#now(), deletionGracePeriodSeconds: 0 };
    return this.#store('MODIFIED', target, { ...object, metadata }, object);
  }

  #deleteAll(target: Target, request: TransportRequest): unknown {
    const matches = selection(request);
    for (const stored of [...this.#objects.values()]) {
      if (inScope(target, stored.target) && matches(stored.object)) this.#delete(stored.target, undefined);
    }
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };
  }

  #store(type: 'ADDED' | 'MODIFIED', target: Target, object: KubeObject, previous: KubeObject | undefined): KubeObject {
    const stored = this.#versioned(object);
    this.#objects.set(keyOf(target), { target, object: stored });
    this.#publish({ type, target, object: stored, previous, version: this.#version });
    return stored;
  }

  #remove(target: Target, object: KubeObject): KubeObject {
    const last = this.#versioned(object);
    this.#objects.delete(keyOf(target));
    this.#publish({ type: 'DELETED', target, object: last, previous: object, version: this.#version });
    return last;
  }

  #versioned(object: KubeObject): KubeObject {
    const resourceVersion = String(++this.#version);
    return deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion } });
  }

  #publish(change: Change): void {
    this.#changes.push(change);
    for (const watcher of this.#watchers) deliver(watcher, change);
  }

  #now(): string {
    return formatTime(this.#clock?.now() ?? 0);
  }
}

/** Answers come in a later macrotask, as from a real server. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function targetOf(path: string): Target {
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  const core = parts[0] === 'api';
  const root = parts.splice(0, core ? 2 : 3);
  let namespace = '';
  if (parts[0] === 'namespaces' && parts.length > 2 && !['status', 'finalize'].includes(parts[2]!)) {
    namespace = parts[1]!;
    parts.splice(0, 2);
  }
  const [resource = '', name = '', ...rest] = parts;
  if (resource === '') throw genericServerResponse({ code: 404, method: '' });
  const collection = `/${[...root, resource].join('/')}`;
  return { collection, group: core ? '' : root[1]!, resource, namespace, name, subresource: rest.join('/') };
}

function keyOf({ collection, namespace, name }: Target): string {
  return `${collection}|${namespace}|${name}`;
}

function inScope(asked: Target, found: Target): boolean {
  return asked.collection === found.collection && (asked.namespace === '' || asked.namespace === found.namespace);
}

function covers(watcher: Watcher, stored: Stored): boolean {
  return inScope(watcher.target, stored.target) && watcher.matches(stored.object);
}

/** An object that stops matching is deleted for the watcher, one that starts is added. */
function deliver(watcher: Watcher, change: Change): void {
  if (!inScope(watcher.target, change.target)) return;
  const before = change.previous !== undefined && watcher.matches(change.previous);
  const after = change.type !== 'DELETED' && watcher.matches(change.object);
  if (!before && !after) return;
  watcher.push({ type: !after ? 'DELETED' : before ? 'MODIFIED' : 'ADDED', object: change.object });
}

function selection(request: TransportRequest): (object: KubeObject) => boolean {
  const labels = parseLabelSelector(request.query?.get('labelSelector') ?? '');
  const fields = parseFieldSelector(request.query?.get('fieldSelector') ?? '');
  return (object) =>
    labels.matches(object.metadata.labels) &&
    fields.requirements.every(
      ({ field, operator, value }) => (valueAt(object, field) === value) === (operator === '='),
    );
}

function valueAt(object: unknown, path: string): string {
  const value = path
    .split('.')
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], object);
  return value === undefined ? '' : String(value);
}

function sameButVersion(a: KubeObject, b: KubeObject): boolean {
  const plain = (object: KubeObject) => {
    const { resourceVersion: _, ...metadata } = object.metadata;
    return JSON.stringify({ ...object, metadata: Object.fromEntries(Object.entries(metadata).sort()) });
  };
  return plain(a) === plain(b);
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const field of Object.values(value)) deepFreeze(field);
  return Object.freeze(value);
}
