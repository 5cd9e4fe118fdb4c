/**
 * The one way every component, tool and test talks to an API server. A `Client` speaks in typed resources and throws
 * `StatusError`; what carries the calls is a `Transport`: HTTPS (`http-transport.ts`) or a function call into an API server of
 * the same process (given by the composition root). Both behave alike; `client.contract.ts` proves it.
 */
import type { DeleteOptions } from '../apimachinery/gen/meta-v1.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import type { ResourceType } from '../apimachinery/resource.ts';

export interface ObjectReference {
  /** Leave out for a cluster-scoped resource. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface GetOptions extends CallOptions {
  readonly resourceVersion?: string | undefined;
  readonly subresource?: string | undefined;
}

export interface ListOptions extends CallOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined;
}

export interface WatchOptions extends CallOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Deliver what came after this version; absent: begin with the present state as ADDED events. */
  readonly resourceVersion?: string | undefined;
  readonly allowWatchBookmarks?: boolean | undefined;
  /** The state first as ADDED events, closed by a bookmark annotated `k8s.io/initial-events-end`. */
  readonly sendInitialEvents?: boolean | undefined;
  readonly timeoutSeconds?: number | undefined;
}

export interface WriteOptions extends CallOptions {
  readonly subresource?: string | undefined;
  readonly dryRun?: boolean | undefined;
  readonly fieldManager?: string | undefined;
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict' | undefined;
}

export interface PatchOptions extends WriteOptions {
  /** Server-side apply: take over fields that others own. */
  readonly force?: boolean | undefined;
}

export interface DeleteCallOptions extends CallOptions {
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground' | undefined;
  readonly preconditions?: DeleteOptions['preconditions'];
  readonly dryRun?: boolean | undefined;
}

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

export interface Patch {
  readonly type: PatchType;
  /** An array of operations for `json`, an object for the others. */
  readonly body: unknown;
}

export interface ObjectList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  readonly continue: string | undefined;
  readonly remainingItemCount: number | undefined;
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Only `object.metadata.resourceVersion` (and annotations) are set. */
  | { readonly type: 'BOOKMARK'; readonly object: KubeObject };

export interface Client {
  get<T>(type: ResourceType<T>, ref: ObjectReference, options?: GetOptions): Promise<T>;
  list<T>(type: ResourceType<T>, options?: ListOptions): Promise<ObjectList<T>>;
  /**
   * Changes until the server ends the watch (normal completion) or it fails (`StatusError`, 410 `Expired` when the version is
   * too old). Leaving the loop or aborting the signal ends it.
   */
  watch<T>(type: ResourceType<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /** Creates in `object.metadata.namespace`. `apiVersion` and `kind` may be left out. */
  create<T extends KubeObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T>;
  /** Creates through a subresource of a named object (`pods/binding`, `pods/eviction`, `serviceaccounts/token`). */
  createSubresource<R>(
    type: ResourceType<unknown>,
    ref: ObjectReference,
    subresource: string,
    body: unknown,
    options?: WriteOptions,
  ): Promise<R>;
  /** Replaces; fails with Conflict when `metadata.resourceVersion` is set and no longer current. */
  update<T extends KubeObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T>;
  updateStatus<T extends KubeObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T>;
  patch<T>(type: ResourceType<T>, ref: ObjectReference, patch: Patch, options?: PatchOptions): Promise<T>;
  /** The deleted object, or as it stands while finalizers or a grace period keep it; a Status where the server answers with one. */
  delete<T>(type: ResourceType<T>, ref: ObjectReference, options?: DeleteCallOptions): Promise<T>;
  deleteCollection<T>(type: ResourceType<T>, options?: ListOptions & DeleteCallOptions): Promise<void>;
  /** Any other call, e.g. `/version` or discovery. The decoded JSON body, or the text where it is not JSON. */
  raw(request: TransportRequest): Promise<unknown>;
}

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With leading slash, without query. */
  readonly path: string;
  readonly query?: ReadonlyMap<string, string> | undefined;
  /** A JSON value, not yet encoded. */
  readonly body?: unknown;
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Carries requests. Answers of 400 and above are thrown as `StatusError`. */
export interface Transport {
  /** The decoded JSON answer (text for other media types). */
  send(request: TransportRequest): Promise<unknown>;
  /** The events of a watch, as they arrive; ends when the server ends it. */
  stream(request: TransportRequest): AsyncIterable<{ readonly type: string; readonly object: unknown }>;
  /** Ends idle connections; calls under way fail. */
  close(): Promise<void>;
}
