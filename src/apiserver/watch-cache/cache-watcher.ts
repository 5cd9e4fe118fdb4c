/**
 * One watch: takes the events of a resource that its index found, decides what they mean under its selectors, and buffers frames
 * until its reader comes for them. A reader who is too slow is cut off; it will watch again from where it was.
 *
 * Order is kept: the initial state first, then every matching change once, then the end. A reader either is called with what has come
 * in (`pumpTo`), or asks for it (`takeBatch`, or one by one as an iterable).
 */
import { internalError, messageOf } from '../../apimachinery/status.ts';
import type { Timer } from '../../base/clock.ts';
import type { FrameSink, WatchFrame, WatchSource } from '../request.ts';
import type { CacheEntry } from './cache-entry.ts';
import type { CacheEvent, Representation, RetoldEvents } from './cache-event.ts';
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
/** What a watch begins with is encoded on the way out, so less of it makes a batch. */
const backlogBatchCapacity = 128;
/** A reader that took nothing of what a watch begins with for so long is cut off: meanwhile that cannot be forgotten. */
const stalledAfterMs = 60_000;

/** What a watch begins with: the present state, or what has happened since a revision. */
interface Backlog {
  readonly length: number;
  /** Undefined: does not match. */
  frame(index: number): WatchFrame | undefined;
}

export class CacheWatcher implements WatchSource, AsyncIterable<WatchFrame>, Deliverable {
  readonly selection: Selection;
  readonly representation: Representation;
  readonly wantsBookmarks: boolean;
  readonly #delivery: Delivery;
  readonly #sent: { frames: number };
  readonly #endCallbacks: (() => void)[] = [];
  #backlog: Backlog | undefined;
  #backlogNext = 0;
  #stalled: Timer | undefined;
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
    const { selection, representation } = this;
    this.#tellFirst({
      length: entries.length,
      frame(index) {
        const entry = entries[index]!;
        return matchesSelectors(selection, entry) ? representation.frame('ADDED', entry, entry.revision) : undefined;
      },
    });
  }

  /** What has happened; told as fast as the reader reads, before anything else. Only before the first event. */
  resume(events: readonly CacheEvent[], retold: RetoldEvents): void {
    if (events.length === 0) return;
    const { selection, representation } = this;
    this.#tellFirst({
      length: events.length,
      frame(index) {
        const event = events[index]!;
        const isNew = !event.hasFrames;
        try {
          const type = event.typeFor(selection);
          return type && event.frame(type, representation);
        } finally {
          if (isNew && event.hasFrames) retold.hold(event, event.subject.storedBytes);
        }
      },
    });
  }

  #tellFirst(backlog: Backlog): void {
    this.#backlog = backlog;
    this.#watchProgress();
    this.#schedule();
  }

  /** What is still to be told first is held for a reader that goes on reading, and not for one that has stopped. */
  #watchProgress(): void {
    const reached = this.#backlogNext;
    this.#stalled = this.#delivery.after(stalledAfterMs, () => {
      if (this.#backlogNext > reached) this.#watchProgress();
      else this.#cutOff();
    });
  }

  #dropBacklog(): void {
    this.#backlog = undefined;
    this.#stalled?.cancel();
    this.#stalled = undefined;
  }

  #cutOff(): void {
    this.#dropBacklog();
    this.#buffer = [];
    this.end();
  }

  offer(event: CacheEvent): void {
    try {
      const type = event.typeFor(this.selection);
      if (type) this.push(event.frame(type, this.representation));
    } catch (error) {
      // What cannot be read (a stored object that is broken) must not stop the changes of others.
      this.#fail(error);
    }
  }

  push(frame: WatchFrame): void {
    if (this.#ended) return;
    if (this.#buffer.length >= bufferCapacity) return this.#cutOff();
    this.#buffer.push(frame);
    this.#schedule();
  }

  /** Nothing more will come; what is buffered is still delivered. */
  end(last?: WatchFrame): void {
    if (this.#ended) return;
    if (last) this.#buffer.push(last);
    this.#ended = true;
    // The server may be about to stop, which a timer must not delay.
    this.#stalled?.cancel();
    for (const callback of this.#endCallbacks) callback();
    this.#schedule();
  }

  #fail(error: unknown): void {
    this.end(this.representation.error(internalError(messageOf(error)).status));
  }

  cancel(): void {
    this.#cutOff();
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
      if (!busy && !this.#backlog) continue;
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

  /** An empty batch: nothing yet, and there is more of the backlog to look through, in a later turn. */
  #take(): readonly WatchFrame[] | undefined {
    if (this.#backlog) return this.#takeBacklog(this.#backlog);
    const batch = this.#buffer;
    if (batch.length === 0) return undefined;
    if (batch.length <= batchCapacity) {
      this.#buffer = [];
      return batch;
    }
    this.#buffer = batch.slice(batchCapacity);
    return batch.slice(0, batchCapacity);
  }

  #takeBacklog(backlog: Backlog): readonly WatchFrame[] {
    const end = Math.min(backlog.length, this.#backlogNext + backlogBatchCapacity);
    const frames: WatchFrame[] = [];
    try {
      for (; this.#backlogNext < end; this.#backlogNext++) {
        const frame = backlog.frame(this.#backlogNext);
        if (frame) frames.push(frame);
      }
    } catch (error) {
      // What came after it must not be told without it.
      this.#dropBacklog();
      this.#buffer = [];
      this.#fail(error);
    }
    if (this.#backlogNext === backlog.length) this.#dropBacklog();
    return frames;
  }
}
