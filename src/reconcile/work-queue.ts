/**
 * The queue between informers and reconcilers. A key that is added twice before it is taken is handed out once; a key added while
 * somebody works on it is handed out again after `done`, never at the same time. Keys can be added after a delay, or after a delay
 * that grows with each failure.
 *
 *     queue.add('a'); queue.add('a');           one entry
 *     const key = await queue.next();           'a'
 *     queue.add('a');                           waits: 'a' is being worked on
 *     queue.done('a');                          now 'a' can be taken again
 */
import type { Clock, Timer } from '../base/clock.ts';
import { KeyedHeap } from '../base/heap.ts';
import type { CountedQueue, QueueCounts } from './queue-statistics.ts';
import { TokenBucket } from './token-bucket.ts';

/** All failures together are let through at this rate. */
const retryRate = { perSecond: 10, burst: 100 };

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** First delay after a failure, doubled with each further one, up to `maxDelayMs`. Defaults 5 ms and 1000 s. */
  readonly baseDelayMs?: number | undefined;
  readonly maxDelayMs?: number | undefined;
  /** Where the queue is counted; absent: nowhere. */
  readonly counts?: QueueCounts | undefined;
}

export interface WorkQueue {
  add(key: string): void;
  /** Adds when the delay has passed. Of several delays for one key the earliest counts. */
  addAfter(key: string, delayMs: number): void;
  /** Adds after the delay that the key's failures so far call for, and counts one more. */
  addRateLimited(key: string): void;
  /** Forgets the key's failures. */
  forget(key: string): void;
  /** Failures of the key since it was last forgotten. */
  retries(key: string): number;
  /** The next key, in order of addition; undefined when the queue is shut down. Whoever takes a key must call `done`. */
  next(): Promise<string | undefined>;
  done(key: string): void;
  /** Keys ready to be taken. */
  readonly length: number;
  /** Adds nothing more; waiting and later `next` calls give undefined. */
  shutDown(): void;
}

interface Delayed {
  readonly key: string;
  readonly dueMs: number;
  readonly sequence: number;
}

export function workQueue(options: WorkQueueOptions): WorkQueue {
  return new KeyedWorkQueue(options);
}

class KeyedWorkQueue implements WorkQueue, CountedQueue {
  readonly #clock: Clock;
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #bucket: TokenBucket;
  readonly #counts: QueueCounts | undefined;
  /** Keys to be handed out, in order, and when each was added; a Map keeps order and knows its members. */
  readonly #ready = new Map<string, number>();
  /** And since when. */
  readonly #working = new Map<string, number>();
  /** Added while being worked on, and when. */
  readonly #again = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  readonly #delayed = new KeyedHeap<Delayed>(
    (entry) => entry.key,
    (a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence),
  );
  #waiting: ((key: string | undefined) => void)[] = [];
  #timer: { readonly timer: Timer; readonly dueMs: number } | undefined;
  #sequence = 0;
  #shutDown = false;

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#baseDelayMs = options.baseDelayMs ?? 5;
    this.#maxDelayMs = options.maxDelayMs ?? 1_000_000;
    this.#bucket = new TokenBucket(options.clock, retryRate);
    this.#counts = options.counts;
    this.#counts?.follow(this);
  }

  get length(): number {
    return this.#ready.size;
  }

  get depth(): number {
    return this.#ready.size + this.#again.size;
  }

  startsOfWork(): Iterable<number> {
    return this.#working.values();
  }

  add(key: string): void {
    if (this.#shutDown) return;
    const isWorkedOn = this.#working.has(key);
    const queue = isWorkedOn ? this.#again : this.#ready;
    if (!queue.has(key)) {
      queue.set(key, this.#clock.monotonic());
      this.#counts?.added();
    }
    if (!isWorkedOn) this.#handOut();
  }

  addAfter(key: string, delayMs: number): void {
    if (this.#shutDown) return;
    this.#counts?.retried();
    if (!(delayMs > 0)) return this.add(key);
    const dueMs = this.#clock.monotonic() + delayMs;
    const known = this.#delayed.get(key);
    if (known && known.dueMs <= dueMs) return;
    this.#delayed.set({ key, dueMs, sequence: this.#sequence++ });
    this.#arm();
  }

  addRateLimited(key: string): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const delayMs = Math.min(this.#baseDelayMs * 2 ** failures, this.#maxDelayMs);
    this.addAfter(key, Math.max(delayMs, this.#bucket.reserve()));
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  next(): Promise<string | undefined> {
    const key = this.#take();
    if (key !== undefined || this.#shutDown) return Promise.resolve(key);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  done(key: string): void {
    const startMs = this.#working.get(key);
    if (startMs !== undefined) this.#counts?.worked(this.#clock.monotonic() - startMs);
    this.#working.delete(key);
    const addedMs = this.#again.get(key);
    if (addedMs === undefined) return;
    this.#again.delete(key);
    this.#ready.set(key, addedMs);
    this.#handOut();
  }

  shutDown(): void {
    this.#shutDown = true;
    this.#timer?.timer.cancel();
    this.#timer = undefined;
    this.#ready.clear();
    this.#again.clear();
    this.#counts?.forget(this);
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  #take(): string | undefined {
    for (const [key, addedMs] of this.#ready) {
      const nowMs = this.#clock.monotonic();
      this.#ready.delete(key);
      this.#working.set(key, nowMs);
      this.#counts?.waited(nowMs - addedMs);
      return key;
    }
    return undefined;
  }

  #handOut(): void {
    while (this.#waiting.length > 0 && this.#ready.size > 0) this.#waiting.shift()!(this.#take());
  }

  /** One timer, for the earliest delay. */
  #arm(): void {
    const first = this.#delayed.peek();
    if (!first || (this.#timer && this.#timer.dueMs <= first.dueMs)) return;
    this.#timer?.timer.cancel();
    const timer = this.#clock.after(first.dueMs - this.#clock.monotonic(), () => {
      this.#timer = undefined;
      this.#release();
    });
    this.#timer = { timer, dueMs: first.dueMs };
  }

  #release(): void {
    const nowMs = this.#clock.monotonic();
    for (let first = this.#delayed.peek(); first && first.dueMs <= nowMs; first = this.#delayed.peek()) {
      this.#delayed.pop();
      this.add(first.key);
    }
    this.#arm();
  }
}
