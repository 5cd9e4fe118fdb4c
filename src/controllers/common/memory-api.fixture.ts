/**
 * An API server of plain maps, as a `Transport`: enough of the real one's ways (versions, conflicts, generations, kept statuses,
 * finalizers, graceful deletion of Pods, propagation policies, selectors, watches, aggregated discovery) for the controllers to run
 * against it unmodified. It keeps no rules: no validation, no admission, hardly a default.
 */
import { builtinResources, builtinSchema } from '../../api/schema.ts';
import { parseFieldSelector } from '../../apimachinery/fields.ts';
import { parseLabelSelector } from '../../apimachinery/labels.ts';
import { type Draft, draft, type KubeObject, keyOf } from '../../apimachinery/meta.ts';
import { applyMergePatch } from '../../apimachinery/patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../../apimachinery/patch/strategic-merge-patch.ts';
import { apiVersionOf, type ResourceType } from '../../apimachinery/resource.ts';
import type { ResourceRow } from '../../apimachinery/schema.ts';
import { alreadyExists, conflict, notFound, statusError } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import { type Random, randomSuffix, seededRandom } from '../../base/random.ts';
import type { Client, Transport, TransportRequest } from '../../client/client.ts';
import { createClient } from '../../client/typed-client.ts';

type Loose = Draft<KubeObject> & {
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
} & Record<string, unknown>;

interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
  readonly previous: KubeObject | undefined;
  readonly revision: number;
}

interface Table {
  readonly row: ResourceRow;
  readonly objects: Map<string, KubeObject>;
  readonly log: Change[];
  readonly wake: Set<() => void>;
}

interface Target {
  readonly table: Table;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

export interface RecordedCall {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

export class MemoryApi implements Transport {
  readonly client: Client;
  /** Every write, in order. */
  readonly writes: RecordedCall[] = [];
  /** Throwing makes a request fail. */
  onRequest: ((request: TransportRequest) => void) | undefined;
  readonly #clock: Clock;
  readonly #random: Random = seededRandom(7);
  readonly #tables = new Map<string, Table>();
  #revision = 100;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.client = createClient(this);
    for (const row of builtinResources()) {
      if (!row.storageVersion && !['bindings'].includes(row.resource)) continue;
      this.#tables.set(`${row.group}/${row.version}/${row.resource}`, {
        row,
        objects: new Map(),
        log: [],
        wake: new Set(),
      });
    }
  }

  /** All objects of a resource as they are stored. */
  all<T extends KubeObject>(type: ResourceType<T>): readonly T[] {
    return [...this.#tableOf(type).objects.values()] as unknown as readonly T[];
  }

  find<T extends KubeObject>(type: ResourceType<T>, key: string): T | undefined {
    return this.#tableOf(type).objects.get(key) as T | undefined;
  }

  /** Changes a stored object past all rules, as kubelets and tests do. */
  alter<T extends KubeObject>(type: ResourceType<T>, key: string, change: (object: Draft<T>) => void): void {
    const present = this.#tableOf(type).objects.get(key);
    if (!present) throw new Error(`no ${type.resource} ${key}`);
    const next = draft(present);
    change(next as unknown as Draft<T>);
    this.#store(this.#tableOf(type), next as Loose, 'MODIFIED');
  }

  /** Removes an object past all rules. */
  erase<T extends KubeObject>(type: ResourceType<T>, key: string): void {
    const present = this.#tableOf(type).objects.get(key);
    if (present) this.#remove(this.#tableOf(type), draft(present) as Loose);
  }

  async send(sent: TransportRequest): Promise<unknown> {
    await Promise.resolve();
    const request = sent.body === undefined ? sent : { ...sent, body: JSON.parse(JSON.stringify(sent.body)) };
    request.signal?.throwIfAborted();
    this.onRequest?.(request);
    if (request.path === '/api' || request.path === '/apis') return this.#discovery(request.path === '/api');
    if (request.method !== 'GET') this.writes.push({ method: request.method, path: request.path, body: request.body });
    const target = this.#route(request.path);
    switch (request.method) {
      case 'GET':
        return target.name === undefined ? this.#list(target, request) : this.#get(target);
      case 'POST':
        return this.#create(target, request.body as KubeObject);
      case 'PUT':
        return this.#update(target, request.body as KubeObject);
      case 'PATCH':
        return this.#patch(target, request);
      case 'DELETE':
        return this.#delete(target, request);
    }
  }

  async *stream(request: TransportRequest): AsyncIterable<{ readonly type: string; readonly object: unknown }> {
    const { table, namespace } = this.#route(request.path);
    const matches = matcher(request, namespace);
    let after = Number(request.query?.get('resourceVersion') ?? 0);
    let index = table.log.findIndex(({ revision }) => revision > after);
    if (index < 0) index = table.log.length;
    while (!request.signal?.aborted) {
      for (; index < table.log.length; index++) {
        const event = forWatcher(table.log[index]!, matches);
        after = table.log[index]!.revision;
        if (event) yield event;
        if (request.signal?.aborted) return;
      }
      await new Promise<void>((resolve) => {
        const done = () => {
          table.wake.delete(done);
          request.signal?.removeEventListener('abort', done);
          resolve();
        };
        table.wake.add(done);
        request.signal?.addEventListener('abort', done, { once: true });
      });
    }
  }

  async close(): Promise<void> {}

  #tableOf(type: { readonly group: string; readonly version: string; readonly resource: string }): Table {
    return this.#tables.get(`${type.group}/${type.version}/${type.resource}`)!;
  }

  #route(path: string): Target {
    const parts = path.split('/').slice(1).map(decodeURIComponent);
    const [group, version] = parts[0] === 'api' ? ['', parts[1]] : [parts[1]!, parts[2]];
    let rest = parts.slice(parts[0] === 'api' ? 2 : 3);
    let namespace: string | undefined;
    if (rest[0] === 'namespaces' && rest.length > 2 && !['status', 'finalize'].includes(rest[2]!)) {
      namespace = rest[1];
      rest = rest.slice(2);
    }
    const table = this.#tables.get(`${group}/${version}/${rest[0]}`);
    if (!table)
      throw statusError({ code: 404, reason: 'NotFound', message: 'the server could not find the requested resource' });
    return { table, namespace, name: rest[1], subresource: rest[2] };
  }

  #present({ table, namespace, name = '' }: Target): KubeObject {
    const found = table.objects.get(namespace ? `${namespace}/${name}` : name);
    if (!found) throw notFound(table.row, name);
    return found;
  }

  #get(target: Target): unknown {
    return draft(this.#present(target));
  }

  #list({ table, namespace }: Target, request: TransportRequest): unknown {
    const matches = matcher(request, namespace);
    const items = [...table.objects.values()].filter(matches).map(draft);
    return { kind: `${table.row.kind}List`, metadata: { resourceVersion: String(this.#revision) }, items };
  }

  #create(target: Target, body: KubeObject): unknown {
    const { table, namespace } = target;
    if (target.subresource) return this.#createSubresource(target, body);
    const object = draft(body) as Loose;
    const { metadata } = object;
    if (namespace) metadata.namespace = namespace;
    if (!metadata.name) metadata.name = `${metadata.generateName}${randomSuffix(this.#random)}`;
    if (table.objects.has(keyOf(object))) throw alreadyExists(table.row, metadata.name);
    const owner = namespace ? this.#tables.get('/v1/namespaces')?.objects.get(namespace) : undefined;
    if (namespace && owner?.metadata.deletionTimestamp) throw terminating(table.row, metadata.name, namespace);
    metadata.uid = this.#random.uuid();
    metadata.creationTimestamp = formatTime(this.#clock.now());
    metadata.generation = 1;
    if (table.row.subresources.some(({ name }) => name === 'status')) delete object.status;
    if (table.row.resource === 'namespaces') {
      object.spec = { ...object.spec, finalizers: ['kubernetes'] };
      object.status = { phase: 'Active' };
    }
    if (table.row.resource === 'pods') object.status = { phase: 'Pending' };
    return this.#store(table, object, 'ADDED');
  }

  #createSubresource(target: Target, body: KubeObject): unknown {
    const object = draft(this.#present(target)) as Loose;
    if (target.subresource === 'binding') {
      const { target: to } = body as unknown as { readonly target: { readonly name: string } };
      object.spec = { ...object.spec, nodeName: to.name };
      this.#store(target.table, object, 'MODIFIED');
    }
    if (target.subresource === 'eviction') return this.#delete(target, { method: 'DELETE', path: '' });
    return { kind: 'Status', status: 'Success' };
  }

  #update(target: Target, body: KubeObject): unknown {
    const present = this.#present(target) as Loose;
    const object = draft(body) as Loose;
    const { resourceVersion } = object.metadata;
    if (resourceVersion && resourceVersion !== present.metadata.resourceVersion) {
      throw conflict(target.table.row, object.metadata.name ?? '');
    }
    return this.#replace(target, present, object);
  }

  #replace({ table, subresource }: Target, present: Loose, object: Loose): unknown {
    const { uid, creationTimestamp, generation = 1, deletionTimestamp, deletionGracePeriodSeconds } = present.metadata;
    if (object.metadata.uid && object.metadata.uid !== uid) throw conflict(table.row, object.metadata.name ?? '');
    Object.assign(object.metadata, {
      uid,
      creationTimestamp,
      generation,
      deletionTimestamp,
      deletionGracePeriodSeconds,
    });
    const hasStatus = table.row.subresources.some(({ name }) => name === 'status');
    if (subresource === 'status' || subresource === 'approval') object.spec = present.spec as Record<string, unknown>;
    else if (hasStatus) object.status = present.status as Record<string, unknown>;
    if (subresource === undefined && JSON.stringify(object.spec) !== JSON.stringify(present.spec)) {
      object.metadata.generation = generation + 1;
    }
    for (const key of Object.keys(object)) if (object[key] === undefined) delete object[key];
    const same = JSON.stringify(withoutVersion(object)) === JSON.stringify(withoutVersion(present));
    if (same) return draft(present);
    if (this.#mayGo(table, object)) return this.#remove(table, object);
    return this.#store(table, object, 'MODIFIED');
  }

  /** Whether nothing keeps an object that is being deleted any more. */
  #mayGo(table: Table, { metadata, spec }: Loose): boolean {
    if (!metadata.deletionTimestamp || (metadata.finalizers?.length ?? 0) > 0) return false;
    if (table.row.resource === 'namespaces') return ((spec?.finalizers as string[]) ?? []).length === 0;
    return table.row.resource !== 'pods' || !metadata.deletionGracePeriodSeconds;
  }

  #patch(target: Target, request: TransportRequest): unknown {
    const present = this.#present(target) as Loose;
    const type = builtinSchema().type(target.table.row.type);
    const body = request.body as Record<string, unknown>;
    const { resourceVersion, uid } = (body.metadata ?? {}) as KubeObject['metadata'];
    const stale = resourceVersion !== undefined && resourceVersion !== present.metadata.resourceVersion;
    if (stale || (uid !== undefined && uid !== present.metadata.uid))
      throw conflict(target.table.row, target.name ?? '');
    const patched = request.contentType?.includes('strategic')
      ? applyStrategicMergePatch(present, body, type)
      : applyMergePatch(present, body);
    return this.#replace(target, present, draft(patched) as Loose);
  }

  #delete(target: Target, request: TransportRequest): unknown {
    if (target.name === undefined) return this.#deleteCollection(target, request);
    const { table, name } = target;
    const object = draft(this.#present(target)) as Loose;
    const options = (request.body ?? {}) as {
      preconditions?: { uid?: string; resourceVersion?: string };
      propagationPolicy?: string;
      gracePeriodSeconds?: number;
    };
    const { uid, resourceVersion } = options.preconditions ?? {};
    if (uid && uid !== object.metadata.uid)
      throw conflict(table.row, name ?? '', `the UID in the precondition (${uid}) differs`);
    if (resourceVersion && resourceVersion !== object.metadata.resourceVersion) throw conflict(table.row, name ?? '');
    const finalizers = new Set(object.metadata.finalizers);
    if (options.propagationPolicy === 'Orphan') finalizers.add('orphan');
    if (options.propagationPolicy === 'Foreground') finalizers.add('foregroundDeletion');
    object.metadata.finalizers = [...finalizers];
    const graceful = table.row.resource === 'pods' && object.spec?.nodeName && options.gracePeriodSeconds !== 0;
    const ended = ['Succeeded', 'Failed'].includes(String(object.status?.phase));
    const grace = options.gracePeriodSeconds ?? (object.spec?.terminationGracePeriodSeconds as number) ?? 30;
    object.metadata.deletionTimestamp ??= formatTime(this.#clock.now());
    object.metadata.deletionGracePeriodSeconds = graceful && !ended ? grace : 0;
    if (table.row.resource === 'namespaces') object.status = { ...object.status, phase: 'Terminating' };
    if (this.#mayGo(table, object)) return this.#remove(table, object);
    return this.#store(table, object, 'MODIFIED');
  }

  #deleteCollection({ table, namespace }: Target, request: TransportRequest): unknown {
    const matches = matcher(request, namespace);
    for (const { metadata } of [...table.objects.values()].filter(matches)) {
      const target = { table, namespace: metadata.namespace, name: metadata.name, subresource: undefined };
      this.#delete(target, request);
    }
    return { kind: 'Status', status: 'Success' };
  }

  #store(table: Table, object: Loose, type: 'ADDED' | 'MODIFIED'): unknown {
    object.apiVersion = apiVersionOf(table.row);
    object.kind = table.row.kind;
    return this.#log(table, object, type);
  }

  #remove(table: Table, object: Loose): unknown {
    return this.#log(table, object, 'DELETED');
  }

  #log(table: Table, object: Loose, type: Change['type']): unknown {
    const key = keyOf(object);
    const previous = table.objects.get(key);
    object.metadata.resourceVersion = String(++this.#revision);
    if (type === 'DELETED') table.objects.delete(key);
    else table.objects.set(key, object as KubeObject);
    table.log.push({ type, object: object as KubeObject, previous, revision: this.#revision });
    for (const wake of [...table.wake]) wake();
    return draft(object);
  }

  #discovery(core: boolean): unknown {
    const groups = new Map<string, Map<string, ResourceRow[]>>();
    for (const { row } of this.#tables.values()) {
      if ((row.group === '') !== core || !row.enabledByDefault) continue;
      const versions = groups.get(row.group) ?? new Map<string, ResourceRow[]>();
      versions.set(row.version, [...(versions.get(row.version) ?? []), row]);
      groups.set(row.group, versions);
    }
    const items = [...groups].map(([name, versions]) => ({
      metadata: { name },
      versions: [...versions].map(([version, rows]) => ({
        version,
        freshness: 'Current',
        resources: rows.map((row) => ({
          resource: row.resource,
          responseKind: { group: row.group, version, kind: row.kind },
          scope: row.namespaced ? 'Namespaced' : 'Cluster',
          singularResource: row.singular,
          verbs: row.verbs,
        })),
      })),
    }));
    return { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
  }
}

function terminating(row: ResourceRow, name: string, namespace: string): Error {
  const message = `${row.resource} "${name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`;
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${namespace} is being terminated`,
    field: 'metadata.namespace',
  };
  return statusError({
    code: 403,
    reason: 'Forbidden',
    message,
    details: { name, kind: row.resource, causes: [cause] },
  });
}

function withoutVersion(object: Loose): unknown {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function matcher({ query }: TransportRequest, namespace: string | undefined): (object: KubeObject) => boolean {
  const labels = parseLabelSelector(query?.get('labelSelector') ?? '');
  const fields = parseFieldSelector(query?.get('fieldSelector') ?? '');
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    labels.matches(object.metadata.labels) &&
    fields.requirements.every(({ field: key, value, operator }) => {
      const found = key
        .split('.')
        .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], object);
      return (String(found ?? '') === value) === (operator !== '!=');
    });
}

function forWatcher(
  { type, object, previous }: Change,
  matches: (object: KubeObject) => boolean,
): Change | { type: string; object: KubeObject } | undefined {
  const was = previous !== undefined && matches(previous);
  const is = type !== 'DELETED' && matches(object);
  if (!was && !is) return undefined;
  if (!is) return { type: 'DELETED', object };
  return { type: was ? 'MODIFIED' : 'ADDED', object };
}
