/**
 * The `Client` over any `Transport`: turns typed calls into requests and answers into objects. It holds no state and never
 * retries; what is lost or refused on the way is the transport's matter, what a conflict means is the caller's.
 */
import type { ListMeta } from '../apimachinery/gen/meta-v1.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import { apiVersionOf, type ResourceType, resourcePath } from '../apimachinery/resource.ts';
import { badRequest, type Status, StatusError } from '../apimachinery/status.ts';
import type {
  Client,
  DeleteCallOptions,
  GetOptions,
  ListOptions,
  ObjectList,
  ObjectReference,
  Patch,
  PatchOptions,
  PatchType,
  Transport,
  TransportRequest,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client.ts';

/** Media types of the request bodies of PATCH. */
export const patchContentTypes: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

export function createClient(transport: Transport): Client {
  return new TypedClient(transport);
}

type AnyResource = Pick<ResourceType<unknown>, 'group' | 'version' | 'resource' | 'kind' | 'namespaced'>;
type Parameters = readonly (readonly [name: string, value: string | number | boolean | undefined])[];

class TypedClient implements Client {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async get<T>(type: ResourceType<T>, ref: ObjectReference, options: GetOptions = {}): Promise<T> {
    const query = queryOf([['resourceVersion', options.resourceVersion]]);
    const path = objectPath(type, ref, options.subresource);
    return (await this.#transport.send({ method: 'GET', path, query, signal: options.signal })) as T;
  }

  async list<T>(type: ResourceType<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    const path = resourcePath(type, { namespace: options.namespace });
    const query = queryOf(listParameters(options));
    const answer = await this.#transport.send({ method: 'GET', path, query, signal: options.signal });
    const { items, metadata } = answer as { readonly items?: readonly T[] | null; readonly metadata?: ListMeta };
    return {
      items: items ?? [],
      resourceVersion: metadata?.resourceVersion ?? '',
      continue: metadata?.continue || undefined,
      remainingItemCount: metadata?.remainingItemCount ?? undefined,
    };
  }

  watch<T>(type: ResourceType<T>, options: WatchOptions = {}): AsyncIterable<WatchEvent<T>> {
    const query = queryOf([
      ['watch', true],
      ['labelSelector', options.labelSelector],
      ['fieldSelector', options.fieldSelector],
      ['resourceVersion', options.resourceVersion],
      ['resourceVersionMatch', options.sendInitialEvents === undefined ? undefined : 'NotOlderThan'],
      ['allowWatchBookmarks', options.allowWatchBookmarks || undefined],
      ['sendInitialEvents', options.sendInitialEvents],
      ['timeoutSeconds', options.timeoutSeconds],
    ]);
    const path = resourcePath(type, { namespace: options.namespace });
    const frames = this.#transport.stream({ method: 'GET', path, query, signal: options.signal });
    return { [Symbol.asyncIterator]: () => eventsOf<T>(frames[Symbol.asyncIterator]()) };
  }

  create<T extends KubeObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const path = options.subresource
      ? objectPath(type, referenceOf(object), options.subresource)
      : resourcePath(type, { namespace: object.metadata.namespace });
    return this.#write<T>({ method: 'POST', path, body: withKind(type, object) }, options);
  }

  createSubresource<R>(
    type: ResourceType<unknown>,
    ref: ObjectReference,
    subresource: string,
    body: unknown,
    options: WriteOptions = {},
  ): Promise<R> {
    return this.#write<R>({ method: 'POST', path: objectPath(type, ref, subresource), body }, options);
  }

  update<T extends KubeObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const path = objectPath(type, referenceOf(object), options.subresource);
    return this.#write<T>({ method: 'PUT', path, body: withKind(type, object) }, options);
  }

  updateStatus<T extends KubeObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return this.update(type, object, { ...options, subresource: 'status' });
  }

  patch<T>(type: ResourceType<T>, ref: ObjectReference, patch: Patch, options: PatchOptions = {}): Promise<T> {
    const request: TransportRequest = {
      method: 'PATCH',
      path: objectPath(type, ref, options.subresource),
      body: patch.type === 'apply' ? withKind(type, patch.body as object) : patch.body,
      contentType: patchContentTypes[patch.type],
    };
    return this.#write<T>(request, options, [['force', options.force]]);
  }

  async delete<T>(type: ResourceType<T>, ref: ObjectReference, options: DeleteCallOptions = {}): Promise<T> {
    const path = objectPath(type, ref);
    const body = deleteOptions(options);
    return (await this.#transport.send({ method: 'DELETE', path, body, signal: options.signal })) as T;
  }

  async deleteCollection<T>(type: ResourceType<T>, options: ListOptions & DeleteCallOptions = {}): Promise<void> {
    const path = resourcePath(type, { namespace: options.namespace });
    const query = queryOf(listParameters(options));
    await this.#transport.send({ method: 'DELETE', path, query, body: deleteOptions(options), signal: options.signal });
  }

  raw(request: TransportRequest): Promise<unknown> {
    return this.#transport.send(request);
  }

  async #write<T>(request: TransportRequest, options: WriteOptions, more: Parameters = []): Promise<T> {
    const query = queryOf([
      ['dryRun', options.dryRun ? 'All' : undefined],
      ['fieldManager', options.fieldManager],
      ['fieldValidation', options.fieldValidation],
      ...more,
    ]);
    return (await this.#transport.send({ ...request, query, signal: options.signal })) as T;
  }
}

type Frame = Transport extends { stream(request: TransportRequest): AsyncIterable<infer F> } ? F : never;

/** Written out, since a generator would have each event of each watch wait once more. */
function eventsOf<T>(frames: AsyncIterator<Frame>): AsyncIterator<WatchEvent<T>> {
  const end = async (): Promise<IteratorReturnResult<undefined>> => {
    await frames.return?.();
    return { done: true, value: undefined };
  };
  const told = (frame: IteratorResult<Frame>) => {
    if (frame.done || frame.value.type !== 'ERROR') return frame as IteratorResult<WatchEvent<T>>;
    const { object } = frame.value;
    return end().then(() => Promise.reject(new StatusError(object as Status)));
  };
  return { next: () => frames.next().then(told), return: end };
}

function listParameters(options: ListOptions): Parameters {
  return [
    ['labelSelector', options.labelSelector],
    ['fieldSelector', options.fieldSelector],
    ['limit', options.limit],
    ['continue', options.continue],
    ['resourceVersion', options.resourceVersion],
    ['resourceVersionMatch', options.resourceVersionMatch],
  ];
}

function queryOf(parameters: Parameters): ReadonlyMap<string, string> | undefined {
  const query = new Map<string, string>();
  for (const [name, value] of parameters) if (value !== undefined && value !== '') query.set(name, String(value));
  return query.size === 0 ? undefined : query;
}

/** Without a name the path would be the collection's, and a delete would hit all of it. */
function objectPath(type: AnyResource, ref: ObjectReference, subresource?: string): string {
  if (ref.name === '') throw badRequest('resource name may not be empty');
  if (type.namespaced && !ref.namespace) {
    throw badRequest('an empty namespace may not be set when a resource name is provided');
  }
  return resourcePath(type, { namespace: ref.namespace, name: ref.name, subresource });
}

function referenceOf(object: KubeObject): ObjectReference {
  return { namespace: object.metadata.namespace, name: object.metadata.name ?? '' };
}

/** Go's clients fill these in from the type, and so do we: code that builds an object need not repeat them. */
function withKind(type: AnyResource, object: object): object {
  const { apiVersion, kind } = object as { readonly apiVersion?: string; readonly kind?: string };
  if (apiVersion && kind) return object;
  const { apiVersion: _, kind: __, ...rest } = object as Record<string, unknown>;
  return { kind: kind || type.kind, apiVersion: apiVersion || apiVersionOf(type), ...rest };
}

function deleteOptions(options: DeleteCallOptions): object | undefined {
  const fields = {
    gracePeriodSeconds: options.gracePeriodSeconds,
    preconditions: options.preconditions,
    propagationPolicy: options.propagationPolicy,
    dryRun: options.dryRun ? ['All'] : undefined,
  };
  if (Object.values(fields).every((value) => value === undefined)) return undefined;
  return { kind: 'DeleteOptions', apiVersion: 'v1', ...fields };
}
