/**
 * The control loop: keys of changed objects go into a queue, `reconcile` brings one key's world to what was asked, failures come
 * back with growing delays. One key is never reconciled twice at the same time.
 */
import type { ComponentContext } from './component.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import type { Informer } from './informer.ts';

/** When to look at the key again although nothing changed. */
export interface ReconcileResult {
  readonly againAfterMs?: number;
}

export interface ControllerOptions {
  /** As in upstream's logs and metrics, e.g. `deployment-controller`. */
  readonly name: string;
  /** Keys reconciled at the same time; default 5. */
  readonly workers?: number;
  /**
   * Brings one key to its desired state. Throwing means: try again with backoff (5 ms doubling to 1000 s by default).
   */
  reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined | void>;
  /** Informers that must be synced before the first key is reconciled. */
  readonly waitFor?: readonly Informer<never>[];
  /** Failures in a row after which a key is dropped until it changes again; default: never. */
  readonly maxRetries?: number;
}

export interface Controller {
  /** Puts a key into the queue, now or after a delay. */
  enqueue(key: string, afterMs?: number): void;
  /** Enqueues each object of this informer under its own key whenever it changes. */
  watch<T extends KubeObject>(informer: Informer<T>): void;
  /** Enqueues other keys for each change: `previous` is undefined for an addition, `object` is the last state for a deletion. */
  watchMapped<T extends KubeObject>(informer: Informer<T>, keys: (object: T, previous: T | undefined) => readonly string[]): void;
  /** Enqueues the key of the controlling owner of kind `ownerKind` in group `ownerGroup` (before and after the change). */
  watchOwned<T extends KubeObject>(informer: Informer<T>, owner: { readonly group: string; readonly kind: string }): void;
  /** Runs the workers until the context's signal is aborted. */
  run(): Promise<void>;
}

export type CreateController = (context: ComponentContext, options: ControllerOptions) => Controller;
