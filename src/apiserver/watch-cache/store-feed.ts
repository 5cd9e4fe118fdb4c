/**
 * The one watch on the store from which all caches live. Each change goes to the cache whose prefix its key has; caches that
 * nobody has asked for yet do not exist and cost nothing. The feed's revision says up to where every cache is complete: whoever
 * must see an acknowledged write waits until the feed has reached the store's revision.
 */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { CompactedError, type Store, type StoreEvent, type Subscription } from '../../storage/store.ts';

/** What the feed serves: one cache. */
export interface FeedSink<V> {
  /** In revision order; all of one prefix. */
  apply(events: readonly StoreEvent<V>[]): void;
  /** Changes were missed: everything must be read again. */
  reset(): void;
}

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
}

export interface StoreFeedOptions<V> {
  readonly store: Store<V>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The caches of one prefix: one, except for custom resources of several versions. */
class SinkGroup<V> implements FeedSink<V> {
  readonly sinks = new Set<FeedSink<V>>();

  apply(events: readonly StoreEvent<V>[]): void {
    for (const sink of this.sinks) sink.apply(events);
  }

  reset(): void {
    for (const sink of this.sinks) sink.reset();
  }
}

/** All keys there can be begin with a slash. */
const everyKey = { start: '/', end: '0' } as const;
const restartDelayMs = 100;

export class StoreFeed<V> {
  readonly #options: StoreFeedOptions<V>;
  readonly #sinks = new Map<string, SinkGroup<V>>();
  #first: { readonly prefix: string; readonly callback: () => void } | undefined;
  #waiters: Waiter[] = [];
  #subscription: Subscription | undefined;
  #revision: number;
  #closed = false;

  constructor(options: StoreFeedOptions<V>) {
    this.#options = options;
    this.#revision = options.store.revision;
    this.#subscribe();
  }

  /** Everything up to here has been handed to the sinks. */
  get revision(): number {
    return this.#revision;
  }

  attach(prefix: string, sink: FeedSink<V>): void {
    const group = this.#sinks.get(prefix) ?? new SinkGroup<V>();
    group.sinks.add(sink);
    this.#sinks.set(prefix, group);
  }

  detach(prefix: string, sink: FeedSink<V>): void {
    const group = this.#sinks.get(prefix);
    group?.sinks.delete(sink);
    if (group?.sinks.size === 0) this.#sinks.delete(prefix);
  }

  /** Calls back once, when the first change below this prefix comes. */
  onFirst(prefix: string, callback: () => void): void {
    this.#first = { prefix, callback };
  }

  /** Resolves once all changes up to `revision` have been handed to the sinks. */
  reach(revision: number): Promise<void> | undefined {
    if (this.#revision >= revision) return undefined;
    return new Promise((resolve) => this.#waiters.push({ revision, resolve }));
  }

  close(): void {
    this.#closed = true;
    this.#subscription?.close();
    this.#release(Number.POSITIVE_INFINITY);
  }

  #subscribe(): void {
    this.#subscription = this.#options.store.watch(
      { ...everyKey, afterRevision: this.#revision },
      {
        onEvents: (events) => this.#deliver(events),
        onProgress: (revision) => this.#advance(revision),
        onError: (error) => this.#fail(error),
      },
    );
  }

  #deliver(events: readonly StoreEvent<V>[]): void {
    if (this.#first) this.#callFirst(events, this.#first);
    // Runs of one resource are common, so that most batches are handed on as they are.
    let start = 0;
    let sink = this.#sinkOf(events[0]!.key);
    for (let i = 1; i < events.length; i++) {
      const next = this.#sinkOf(events[i]!.key);
      if (next === sink) continue;
      sink?.apply(events.slice(start, i));
      start = i;
      sink = next;
    }
    sink?.apply(start === 0 ? events : events.slice(start));
    this.#advance(events.at(-1)!.revision);
  }

  #callFirst(events: readonly StoreEvent<V>[], { prefix, callback }: { prefix: string; callback: () => void }): void {
    if (!events.some(({ key }) => key.startsWith(prefix))) return;
    this.#first = undefined;
    callback();
  }

  /** `/registry/pods/ns/a` belongs to `/registry/pods/`; some prefixes have one segment more. */
  #sinkOf(key: string): SinkGroup<V> | undefined {
    const first = key.indexOf('/', key.indexOf('/', 1) + 1);
    if (first < 0) return undefined;
    const sink = this.#sinks.get(key.slice(0, first + 1));
    if (sink) return sink;
    const second = key.indexOf('/', first + 1);
    return second < 0 ? undefined : this.#sinks.get(key.slice(0, second + 1));
  }

  #advance(revision: number): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    if (this.#waiters.length > 0) this.#release(revision);
  }

  #release(revision: number): void {
    const due = this.#waiters.filter((waiter) => waiter.revision <= revision);
    if (due.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => waiter.revision > revision);
    for (const waiter of due) waiter.resolve();
  }

  /** Begins again from where it was; only if the store has forgotten that do the caches have to. */
  #fail(error: Error): void {
    if (this.#closed) return;
    const { log, clock, store } = this.#options;
    log.warn('the feed of the store broke off and begins anew', { error: error.message });
    clock.after(restartDelayMs, () => {
      if (this.#closed) return;
      const forgotten = error instanceof CompactedError;
      if (forgotten) this.#revision = Math.max(this.#revision, store.revision);
      this.#subscribe();
      if (forgotten) for (const sink of this.#sinks.values()) sink.reset();
    });
  }
}
