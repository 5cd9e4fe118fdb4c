/**
 * One watch: takes the events of a resource that its index found, decides what they mean under its selectors, and buffers frames
 * until its reader comes for them. A reader who is too slow is cut off; it will watch again from where it was.
 *
 * Order is kept: the initial state first, then every matching change once, then the end. The reader may take frames singly (the
 * iterable) or all that are there (`takeBatch`), which costs one promise per batch instead of one per event.
 */
import { everyField, type FieldMatcher } from '../../apimachinery/fields.ts';
import { everything, type LabelMatcher } from '../../apimachinery/labels.ts';
import type { WatchFrame } from '../request.ts';
import type { CacheEntry } from './cache-entry.ts';
import type { CacheEvent, FrameType, Representation } from './cache-event.ts';

/** Which objects are meant. Field names are the hub version's. */
export interface Selection {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly labels: LabelMatcher;
  readonly fields: FieldMatcher;
}

export const everyObject: Selection = { labels: everything, fields: everyField };

export interface CacheWatcherOptions {
  readonly selection: Selection;
  readonly representation: Representation;
  readonly wantsBookmarks: boolean;
}

/** Frames that may wait for a slow reader. */
const bufferCapacity = 16_384;
const batchCapacity = 1024;

export class CacheWatcher implements AsyncIterable<WatchFrame> {
  readonly selection: Selection;
  readonly representation: Representation;
  readonly wantsBookmarks: boolean;
  readonly #selects: boolean;
  #initial: readonly CacheEntry[] = [];
  #initialNext = 0;
  #buffer: WatchFrame[] = [];
  #ended = false;
  readonly #endCallbacks: (() => void)[] = [];
  #wake: (() => void) | undefined;

  constructor(options: CacheWatcherOptions) {
    this.selection = options.selection;
    this.representation = options.representation;
    this.wantsBookmarks = options.wantsBookmarks;
    this.#selects = !options.selection.labels.empty || !options.selection.fields.empty;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Calls back once, when the watch has ended for whatever reason. */
  onEnd(callback: () => void): void {
    this.#endCallbacks.push(callback);
  }

  /** The present state, delivered as ADDED events before anything else. Only before the first event. */
  begin(entries: readonly CacheEntry[]): void {
    this.#initial = entries;
    this.#wake?.();
  }

  offer(event: CacheEvent): void {
    const type = this.#typeFor(event);
    if (type) this.push(event.frame(type, this.representation));
  }

  push(frame: WatchFrame): void {
    if (this.#ended) return;
    if (this.#buffer.length >= bufferCapacity) {
      this.#buffer = [];
      this.end();
      return;
    }
    this.#buffer.push(frame);
    this.#wake?.();
  }

  /** Nothing more will come; what is buffered is still delivered. */
  end(last?: WatchFrame): void {
    if (this.#ended) return;
    if (last) this.#buffer.push(last);
    this.#ended = true;
    for (const callback of this.#endCallbacks) callback();
    this.#wake?.();
  }

  /** The reader has gone away: drops everything. */
  cancel(): void {
    this.#initial = [];
    this.#buffer = [];
    this.end();
  }

  /** What is there, or the next that comes; undefined at the end. */
  async takeBatch(): Promise<readonly WatchFrame[] | undefined> {
    for (;;) {
      if (this.#initialNext < this.#initial.length) return this.#takeInitial();
      if (this.#buffer.length > 0) return this.#takeBuffered();
      if (this.#ended) return undefined;
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

  matches(entry: CacheEntry): boolean {
    return matchesSelectors(this.selection, entry);
  }

  #typeFor(event: CacheEvent): FrameType | undefined {
    const { entry, previous } = event;
    if (!this.#selects) return entry ? (previous ? 'MODIFIED' : 'ADDED') : 'DELETED';
    const isIn = entry !== undefined && this.matches(entry);
    const wasIn = previous !== undefined && this.matches(previous);
    if (isIn) return wasIn ? 'MODIFIED' : 'ADDED';
    return wasIn ? 'DELETED' : undefined;
  }

  #takeInitial(): WatchFrame[] {
    const end = Math.min(this.#initial.length, this.#initialNext + batchCapacity);
    const frames: WatchFrame[] = [];
    for (; this.#initialNext < end; this.#initialNext++) {
      const entry = this.#initial[this.#initialNext]!;
      frames.push(this.representation.frame('ADDED', entry, entry.revision));
    }
    if (this.#initialNext === this.#initial.length) {
      this.#initial = [];
      this.#initialNext = 0;
    }
    return frames;
  }

  #takeBuffered(): readonly WatchFrame[] {
    const batch = this.#buffer;
    if (batch.length <= batchCapacity) {
      this.#buffer = [];
      return batch;
    }
    this.#buffer = batch.slice(batchCapacity);
    return batch.slice(0, batchCapacity);
  }
}

/** Labels and fields; namespace and name are the index's matter. */
export function matchesSelectors({ labels, fields }: Selection, entry: CacheEntry): boolean {
  if (!labels.empty && !labels.matches(entry.labels)) return false;
  return fields.empty || fields.matches(entry.fields);
}
