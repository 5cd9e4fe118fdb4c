/**
 * A local, always current copy of a part of the cluster: list, then watch, for ever; survives `410 Gone`, silent disconnects and
 * server restarts. Controllers read from it instead of asking the server, and are told of every change.
 *
 * Objects handed out are shared and frozen: copy with `draft()` before changing anything. They always carry `apiVersion` and
 * `kind`, which servers leave out in lists.
 */
import type { KubeObject } from '../apimachinery/meta.ts';
import type { GroupVersionResource, ResourceType } from '../apimachinery/resource.ts';

export interface ChangeHandler<T> {
  added?(object: T): void;
  /** `previous` is what the informer held before. After a re-list, objects that did not change are not reported again. */
  updated?(object: T, previous: T): void;
  /** The last known state; after a missed deletion it can be old. */
  deleted?(object: T): void;
}

export interface Registration {
  /** Whether this handler has been called for everything of the initial list. */
  readonly synced: boolean;
  remove(): void;
}

export interface Informer<T> {
  readonly type: ResourceType<T>;
  /** Whether the initial list is in. */
  readonly synced: boolean;
  /** Resolves when the initial list is in and handlers have been called for it; rejects when the signal, or the set's, is aborted first. */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /** By `namespace/name` (or `name`). */
  get(key: string): T | undefined;
  /** All objects, or those of one namespace. */
  list(namespace?: string): readonly T[];
  /** Must be called before the values are asked for; adding the same name twice keeps the first. */
  addIndex(name: string, values: (object: T) => readonly string[]): void;
  byIndex(name: string, value: string): readonly T[];
  /**
   * Calls `added` for everything already known, before it returns, then follows. Handlers are called in the order of their
   * registration, after the informer itself shows the change; they are synchronous and quick: they enqueue. One that throws is
   * logged and does not keep the others from being called.
   */
  onChange(handler: ChangeHandler<T>): Registration;
  /** Ages: resourceVersion of the newest event or list seen. */
  readonly resourceVersion: string;
}

export interface InformerSelection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

/** Informers by resource and selection: asking twice gives the same one. Started on first request, stopped with the set. */
export interface InformerSet {
  of<T extends KubeObject>(type: ResourceType<T>, selection?: InformerSelection): Informer<T>;
  /** For those who follow whatever is served, and `forget` what no longer is: the same informer as `of` gives, if there is one. */
  whileServed<T extends KubeObject>(type: ResourceType<T>): Informer<T>;
  /**
   * Stops the informer of a kind that is served no more, which would ask for it for ever. What it holds stays readable; those who wait
   * for it are told. Who asks for the kind later gets a new one. An informer that anybody ever asked for by `of` goes on: he keeps it, and
   * relies on it once the kind is back.
   */
  forget(type: GroupVersionResource): void;
  /** Resolves when every informer asked for so far is synced. */
  whenSynced(signal?: AbortSignal): Promise<void>;
}
