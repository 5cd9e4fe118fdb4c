/**
 * One watch: takes the events of a resource that its index found, decides what they mean under its selectors, and buffers frames
 * until its reader comes for them. A reader who is too slow is cut off; it will watch again from where it was.
 *
 * Order is kept: the initial state first, then every matching change once, then the end. A reader either is called with what has come
 * in (`pumpTo`), or asks for it (`takeBatch`, or one by one as an iterable).
 */
import { internalError, messageOf } from '../../apimachinery/status.ts';
import type { FrameSink, WatchFrame, WatchSource } from '../request.ts';
import type { CacheEntry } from './cache-entry.ts';
import type { CacheEvent, Representation } from './cache-event.ts';
import type { Deliverable, Delivery } from './delivery.ts';
import { matchesSelectors, type Selection } from './selection.ts';

export interface CacheWatcherOptions {
  readonly selection: Selection;
  readonly representation: Representation;
  readonly wantsBookmarks: boolean;
  readonly delivery: Delivery;
  /** Frames that went to readers, of all watchers that share it. */
  readonly sent: { frames: number };
}

/** Frames that may wait for a slow reader. */
const bufferCapacity = 16_384;
const batchCapacity = 1024;
/** Objects of the initial state are encoded on the way out, so fewer of them make a batch. */
const initialBatchCapacity = 128;

export class CacheWatcher implements WatchSource, AsyncIterable<WatchFrame>, Deliverable {
  readonly selection: Selection;
  readonly representation: Representation;
  readonly wantsBookmarks: boolean;
  readonly #delivery: Delivery;
  readonly #sent: { frames: number };
  readonly #endCallbacks: (() => void)[] = [];
  #initial: readonly CacheEntry[] = [];
  #initialNext = 0;
  #buffer: WatchFrame[] = [];
  #ended = false;
  #scheduled = false;
  #sink: FrameSink | undefined;
  #sinkIsBusy = false;
  #wake: (() => void) | undefined;

  constructor(options: CacheWatcherOptions) {
    this.selection = options.selection;
    this.representation = options.representation;
    this.wantsBookmarks = options.wantsBookmarks;
    this.#delivery = options.delivery;
    this.#sent = options.sent;
  }

  get ended(): boolean {
    return this.#ended;
  }

  onEnd(callback: () => void): void {
    if (this.#ended) callback();
    else this.#endCallbacks.push(callback);
  }

  /** The present state; what matches is delivered as ADDED events before anything else. Only before the first event. */
  begin(entries: readonly CacheEntry[]): void {
    this.#initial = entries;
    this.#schedule();
  }

  offer(event: CacheEvent): void {
    try {
      const type = event.typeFor(this.selection);
      if (type) this.push(event.frame(type, this.representation));
    } catch (error) {
      // What cannot be read (a stored object that is broken) must not stop the changes of others.
      this.end(this.representation.error(internalError(messageOf(error)).status));
    }
  }

  push(frame: WatchFrame): void {
    if (this.#ended) return;
    if (this.#buffer.length >= bufferCapacity) {
      this.#buffer = [];
      this.end();
      return;
    }
    this.#buffer.push(frame);
    this.#schedule();
  }

  /** Nothing more will come; what is buffered is still delivered. */
  end(last?: WatchFrame): void {
    if (this.#ended) return;
    if (last) this.#buffer.push(last);
    this.#ended = true;
    for (const callback of this.#endCallbacks) callback();
    this.#schedule();
  }

  cancel(): void {
    this.#initial = [];
    this.#buffer = [];
    this.end();
  }

  pumpTo(sink: FrameSink): void {
    this.#sink = sink;
    this.#pump();
  }

  deliver(): void {
    this.#scheduled = false;
    this.#wake?.();
    this.#pump();
  }

  async takeBatch(): Promise<readonly WatchFrame[] | undefined> {
    for (;;) {
      const batch = this.#take();
      if (batch && batch.length > 0) {
        this.#sent.frames += batch.length;
        return batch;
      }
      if (!batch && this.#ended) return undefined;
      if (batch) this.#schedule();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchFrame, void, undefined> {
    try {
      for (;;) {
        const batch = await this.takeBatch();
        if (!batch) return;
        yield* batch;
      }
    } finally {
      this.cancel();
    }
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#delivery.schedule(this);
  }

  #pump(): void {
    const sink = this.#sink;
    if (!sink || this.#sinkIsBusy) return;
    for (let batch = this.#take(); batch; batch = this.#take()) {
      const busy = batch.length > 0 ? sink.write(batch) : undefined;
      this.#sent.frames += batch.length;
      if (!busy && this.#initial.length === 0) continue;
      if (!busy) return this.#schedule();
      this.#sinkIsBusy = true;
      const goOn = () => {
        this.#sinkIsBusy = false;
        this.#pump();
      };
      busy.then(goOn).catch(() => this.cancel());
      return;
    }
    if (!this.#ended) return;
    this.#sink = undefined;
    sink.end();
  }

  /** An empty batch: nothing yet, and there is more of the initial state to look through, in a later turn. */
  #take(): readonly WatchFrame[] | undefined {
    if (this.#initialNext < this.#initial.length) return this.#takeInitial();
    const batch = this.#buffer;
    if (batch.length === 0) return undefined;
    if (batch.length <= batchCapacity) {
      this.#buffer = [];
      return batch;
    }
    this.#buffer = batch.slice(batchCapacity);
    return batch.slice(0, batchCapacity);
  }

  #takeInitial(): readonly WatchFrame[] {
    const end = Math.min(this.#initial.length, this.#initialNext + initialBatchCapacity);
    const frames: WatchFrame[] = [];
    for (; this.#initialNext < end; this.#initialNext++) {
      const entry = this.#initial[this.#initialNext]!;
      if (!matchesSelectors(this.selection, entry)) continue;
      frames.push(this.representation.frame('ADDED', entry, entry.revision));
    }
    if (this.#initialNext === this.#initial.length) {
      this.#initial = [];
      this.#initialNext = 0;
    }
    return frames;
  }
}
