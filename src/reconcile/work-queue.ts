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
import { TokenBucket } from './token-bucket.ts';

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** First delay after a failure, doubled with each further one, up to `maxDelayMs`. Defaults 5 ms and 1000 s. */
  readonly baseDelayMs?: number | undefined;
  readonly maxDelayMs?: number | undefined;
  /** All failures together are let through at this rate; defaults 10 a second, 100 at once. */
  readonly retriesPerSecond?: number | undefined;
  readonly retryBurst?: number | undefined;
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

class KeyedWorkQueue implements WorkQueue {
  readonly #clock: Clock;
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #bucket: TokenBucket;
  /** Keys to be handed out, in order; a Set keeps order and knows its members. */
  readonly #ready = new Set<string>();
  readonly #working = new Set<string>();
  /** Added while being worked on. */
  readonly #again = new Set<string>();
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
    this.#bucket = new TokenBucket(options.clock, {
      perSecond: options.retriesPerSecond ?? 10,
      burst: options.retryBurst ?? 100,
    });
  }

  get length(): number {
    return this.#ready.size;
  }

  add(key: string): void {
    if (this.#shutDown) return;
    if (this.#working.has(key)) {
      this.#again.add(key);
      return;
    }
    this.#ready.add(key);
    this.#handOut();
  }

  addAfter(key: string, delayMs: number): void {
    if (this.#shutDown) return;
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
    this.#working.delete(key);
    if (this.#again.delete(key)) this.add(key);
  }

  shutDown(): void {
    this.#shutDown = true;
    this.#timer?.timer.cancel();
    this.#timer = undefined;
    this.#ready.clear();
    this.#again.clear();
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  #take(): string | undefined {
    for (const key of this.#ready) {
      this.#ready.delete(key);
      this.#working.add(key);
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
