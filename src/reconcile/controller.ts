/**
 * The control loop: keys of changed objects go into a queue, `reconcile` brings one key's world to what was asked, failures come
 * back with growing delays. One key is never reconciled twice at the same time.
 */
import type { KubeObject } from '../apimachinery/meta.ts';
import { controllerOf, keyOf } from '../apimachinery/meta.ts';
import { parseApiVersion } from '../apimachinery/resource.ts';
import { isConflict, messageOf } from '../apimachinery/status.ts';
import { type CauseNote, type CauseSubject, subjectOfKey } from './causes.ts';
import type { ComponentContext } from './component.ts';
import type { Informer } from './informer.ts';
import { type WorkQueue, type WorkQueueOptions, workQueue } from './work-queue.ts';

/** When to look at the key again although nothing changed. */
export interface ReconcileResult {
  readonly againAfterMs?: number | undefined;
  /** What holds the object up whose key this is; absent: nothing. */
  readonly causes?: readonly CauseNote[] | undefined;
}

export interface ControllerOptions {
  /** As in upstream's logs and metrics, e.g. `deployment-controller`. */
  readonly name: string;
  /** The queue's name in upstream's metrics, e.g. `deployment`; default: the controller's. */
  readonly queue?: string | undefined;
  /** Keys reconciled at the same time; default 5. */
  readonly workers?: number | undefined;
  /**
   * Brings one key to its desired state. Throwing means: try again with backoff (5 ms doubling to 1000 s by default).
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: a reconcile that returns nothing is the common case.
  reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined | void>;
  /** Informers that must be synced before the first key is reconciled, beside those being watched. */
  readonly waitFor?: readonly Pick<Informer<never>, 'whenSynced'>[] | undefined;
  /** Failures in a row after which a key is dropped until it changes again; default: never. */
  readonly maxRetries?: number | undefined;
  /**
   * Which object a key is about, for its causes; default: the object of that key of the first informer that is watched under its
   * own keys.
   */
  about?(key: string): CauseSubject | undefined;
  /** Delays after failures, where upstream's controller has others than the default. */
  readonly backoff?: Omit<WorkQueueOptions, 'clock' | 'counts'> | undefined;
}

export interface Controller {
  /** Puts a key into the queue, now or after a delay. */
  enqueue(key: string, afterMs?: number): void;
  /** Enqueues each object of this informer under its own key whenever it changes. */
  watch<T extends KubeObject>(informer: Informer<T>): void;
  /** Enqueues other keys for each change: `previous` is undefined for an addition, `object` is the last state for a deletion. */
  watchMapped<T extends KubeObject>(
    informer: Informer<T>,
    keys: (object: T, previous: T | undefined) => readonly string[],
  ): void;
  /**
   * Enqueues the key of the controlling owner of kind `owner.kind` in group `owner.group` (before and after the change). A resource
   * type will do as the owner; `namespaced: false` says that owners have no namespace.
   */
  watchOwned<T extends KubeObject>(
    informer: Informer<T>,
    owner: { readonly group: string; readonly kind: string; readonly namespaced?: boolean | undefined },
  ): void;
  /** Runs the workers until the context's signal is aborted, then waits for the keys under way. */
  run(): Promise<void>;
}

export type CreateController = (context: ComponentContext, options: ControllerOptions) => Controller;

export const createController: CreateController = (context, options) => new QueuedController(context, options);

const defaultWorkers = 5;

class QueuedController implements Controller {
  readonly #context: ComponentContext;
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue;
  readonly #informers = new Set<Pick<Informer<never>, 'whenSynced'>>();
  /** What keys name: objects of the first type that is watched under its own keys. */
  #subject: { readonly group: string; readonly kind: string } | undefined;

  constructor(context: ComponentContext, options: ControllerOptions) {
    this.#context = context;
    this.#options = options;
    const counts = context.queues.of(options.queue ?? options.name);
    this.#queue = workQueue({ ...options.backoff, clock: context.clock, counts });
    for (const informer of options.waitFor ?? []) this.#informers.add(informer);
  }

  enqueue(key: string, afterMs = 0): void {
    if (afterMs > 0) this.#queue.addAfter(key, afterMs);
    else this.#queue.add(key);
  }

  watch<T extends KubeObject>(informer: Informer<T>): void {
    this.#subject ??= informer.type;
    this.watchMapped(informer, (object) => [keyOf(object)]);
  }

  watchMapped<T extends KubeObject>(
    informer: Informer<T>,
    keys: (object: T, previous: T | undefined) => readonly string[],
  ): void {
    this.#informers.add(informer as Pick<Informer<never>, 'whenSynced'>);
    const enqueue = (object: T, previous?: T) => {
      for (const key of keys(object, previous)) this.#queue.add(key);
    };
    informer.onChange({
      added: (object) => enqueue(object),
      updated: (object, previous) => enqueue(object, previous),
      deleted: (object) => enqueue(object),
    });
  }

  watchOwned<T extends KubeObject>(
    informer: Informer<T>,
    owner: { readonly group: string; readonly kind: string; readonly namespaced?: boolean | undefined },
  ): void {
    this.watchMapped(informer, (object, previous) => {
      const now = ownerKey(object, owner);
      const before = previous && ownerKey(previous, owner);
      return [now, before === now ? undefined : before].filter((key) => key !== undefined);
    });
  }

  async run(): Promise<void> {
    const { signal, log } = this.#context;
    const stop = () => this.#queue.shutDown();
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    try {
      await Promise.all([...this.#informers].map((informer) => informer.whenSynced(signal)));
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    log.debug('controller started', { controller: this.#options.name });
    const workers = this.#options.workers ?? defaultWorkers;
    await Promise.all(Array.from({ length: workers }, () => this.#work()));
  }

  async #work(): Promise<void> {
    for (let key = await this.#queue.next(); key !== undefined; key = await this.#queue.next()) {
      try {
        const result = await this.#options.reconcile(key, this.#context.signal);
        this.#queue.forget(key);
        this.#explain(key, result?.causes ?? []);
        if (result?.againAfterMs !== undefined) this.#queue.addAfter(key, result.againAfterMs);
      } catch (error) {
        this.#failed(key, error);
      } finally {
        this.#queue.done(key);
      }
    }
  }

  #failed(key: string, error: unknown): void {
    const { signal, log } = this.#context;
    if (signal.aborted) return;
    const fields = { controller: this.#options.name, key, error: messageOf(error) };
    if (this.#queue.retries(key) >= (this.#options.maxRetries ?? Number.POSITIVE_INFINITY)) {
      this.#queue.forget(key);
      log.error('dropping key after too many failures', fields);
      return;
    }
    // Somebody else wrote first: the newer object is on its way, and all is well.
    if (isConflict(error)) log.debug('reconcile met a conflict', fields);
    else {
      log.warn('reconcile failed', { ...fields, stack: error instanceof Error ? error.stack : undefined });
      this.#explain(key, [{ reason: 'ReconcileFailed', message: fields.error }]);
    }
    this.#queue.addRateLimited(key);
  }

  #explain(key: string, causes: readonly CauseNote[]): void {
    const { about, name } = this.#options;
    const subject = about ? about(key) : this.#subject && subjectOfKey(this.#subject, key);
    if (subject) this.#context.causes.replace(name, subject, causes);
  }
}

function ownerKey(
  object: KubeObject,
  owner: { readonly group: string; readonly kind: string; readonly namespaced?: boolean | undefined },
): string | undefined {
  const reference = controllerOf(object);
  if (reference?.kind !== owner.kind || parseApiVersion(reference.apiVersion).group !== owner.group) return undefined;
  const namespace = owner.namespaced === false ? '' : object.metadata.namespace;
  return namespace ? `${namespace}/${reference.name}` : reference.name;
}
