/**
 * Brings the changes of a revision index to watchers. Invariant: each watcher gets every change of its range after its start
 * revision exactly once and in order, or its end.
 *
 * A watcher is either live (it stands where the hub stands, and gets each batch as it is flushed) or catching up (it reads
 * the index's log in slices, a macrotask each, until it reaches the hub). The switch happens in one turn, so nothing falls
 * between. The store calls `wake` or `flush` after it has applied changes to the index.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { RangeTable } from './range-table.ts';
import { orderedKey, type RevisionIndex, type Version } from './revision-index.ts';
import {
  CompactedError,
  type Entry,
  type StoreEvent,
  type Subscription,
  type Watcher,
  type WatchOptions,
} from './store.ts';

export interface WatchHubOptions<V> {
  readonly clock: Clock;
  readonly log: Log;
  readonly index: RevisionIndex<V>;
  /** The value of a version that is not a removal. */
  readonly load: (version: Version<V>) => V;
}

interface Watch<V> {
  readonly start: string;
  readonly end: string;
  readonly watcher: Watcher<V>;
  /** All changes up to here have been delivered or lie outside the range. */
  position: number;
  /** The newest revision that the watcher has been told, by an event or by progress. */
  toldRevision: number;
  closed: boolean;
}

/** Log entries that one catching-up watcher looks at per macrotask... */
const catchUpSlice = 1024;
/** ...and what may be read from disk for it. */
const catchUpBytes = 4 * 1024 * 1024;

export class WatchHub<V> {
  readonly #options: WatchHubOptions<V>;
  readonly #live = new RangeTable<Watch<V>>();
  readonly #catchingUp = new Set<Watch<V>>();
  #position: number;
  #closedBy: Error | undefined;
  #wakeIsDue = false;
  #progressIsDue = false;
  #flushing = false;

  constructor(options: WatchHubOptions<V>) {
    this.#options = options;
    this.#position = options.index.revision;
  }

  watch({ start, end, afterRevision }: WatchOptions, watcher: Watcher<V>): Subscription {
    const watch: Watch<V> = {
      start: orderedKey(start),
      end: orderedKey(end),
      watcher,
      position: afterRevision,
      toldRevision: afterRevision,
      closed: false,
    };
    const { clock, index } = this.#options;
    if (afterRevision >= this.#position && afterRevision >= index.compactedRevision && !this.#closedBy) {
      this.#live.add(watch.start, watch.end, watch);
    } else {
      this.#catchingUp.add(watch);
      clock.soon(() => this.#catchUp(watch));
    }
    return { close: () => this.#remove(watch) };
  }

  /** Flushes in a later microtask, once for all changes of this turn. */
  wake(): void {
    if (this.#wakeIsDue) return;
    this.#wakeIsDue = true;
    queueMicrotask(() => {
      this.#wakeIsDue = false;
      this.flush();
    });
  }

  /** Delivers all applied changes to the live watchers, now. A watcher that causes changes while being called is not re-entered. */
  flush(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    try {
      const { index } = this.#options;
      while (this.#position < index.revision) {
        const changes = index.changesAfter(this.#position);
        this.#position = index.revision;
        this.#deliver(changes);
      }
    } finally {
      this.#flushing = false;
    }
    this.#scheduleProgress();
  }

  /** Ends all watches. */
  close(error: Error): void {
    this.#closedBy = error;
    for (const watch of [...this.#live.items(), ...this.#catchingUp]) this.#fail(watch, error);
  }

  #deliver(changes: readonly Version<V>[]): void {
    if (this.#live.size === 0) return;
    if (changes.length === 1) return this.#deliverOne(changes[0]!);
    const batches = new Map<Watch<V>, StoreEvent<V>[]>();
    for (const change of changes) {
      const watches = this.#live.find(orderedKey(change.key));
      if (watches.length === 0) continue;
      const event = this.#readEvent(change, watches);
      if (!event) continue;
      for (const watch of watches) {
        if (change.revision <= watch.position) continue;
        const batch = batches.get(watch);
        if (batch) batch.push(event);
        else batches.set(watch, [event]);
      }
    }
    for (const [watch, events] of batches) this.#send(watch, events);
  }

  #deliverOne(change: Version<V>): void {
    const watches = this.#live.find(orderedKey(change.key));
    const event = watches.length > 0 && this.#readEvent(change, watches);
    if (!event) return;
    // Watches may end while they are called.
    for (const watch of [...watches]) if (change.revision > watch.position) this.#send(watch, [event]);
  }

  #catchUp(watch: Watch<V>): void {
    if (watch.closed) return;
    const { index, clock } = this.#options;
    const compacted = watch.position < index.compactedRevision;
    const end = this.#closedBy ?? (compacted ? new CompactedError(index.compactedRevision) : undefined);
    if (end) {
      this.#fail(watch, end);
      return;
    }
    // The live watchers first, so that hub and index stand at the same revision when this one joins them.
    this.flush();
    const found = index.changesAfter(watch.position, catchUpSlice);
    const changes = found.slice(0, readableAtOnce(watch, found));
    const arrived = found.length < catchUpSlice && changes.length === found.length;
    watch.position = arrived ? this.#position : changes.at(-1)!.revision;
    if (arrived) {
      this.#catchingUp.delete(watch);
      this.#live.add(watch.start, watch.end, watch);
    }
    const events: StoreEvent<V>[] = [];
    for (const change of changes) {
      const event = isWithin(watch, orderedKey(change.key)) && this.#readEvent(change, [watch]);
      if (event) events.push(event);
    }
    this.#flushing = true;
    if (events.length > 0) this.#send(watch, events);
    this.#flushing = false;
    if (!arrived) clock.soon(() => this.#catchUp(watch));
    else this.#scheduleProgress();
  }

  /** Undefined, and the end of these watches, if a value cannot be read. */
  #readEvent(change: Version<V>, watches: readonly Watch<V>[]): StoreEvent<V> | undefined {
    try {
      return this.#event(change);
    } catch (error) {
      this.#options.log.error('the store cannot read a changed value', { key: change.key, error });
      for (const watch of [...watches]) this.#fail(watch, error as Error);
      return undefined;
    }
  }

  #event(change: Version<V>): StoreEvent<V> {
    const { load } = this.#options;
    const before = change.previous;
    return {
      type: change.removed ? 'remove' : 'put',
      key: change.key,
      revision: change.revision,
      value: change.removed ? undefined : load(change),
      previous: before && !before.removed ? entryOf(before, load(before)) : undefined,
    };
  }

  #send(watch: Watch<V>, events: readonly StoreEvent<V>[]): void {
    if (watch.closed) return;
    watch.toldRevision = events.at(-1)!.revision;
    this.#guard(watch, () => watch.watcher.onEvents(events));
  }

  #scheduleProgress(): void {
    if (this.#progressIsDue || !this.#isSomebodyBehind()) return;
    this.#progressIsDue = true;
    this.#options.clock.soon(() => {
      this.#progressIsDue = false;
      for (const watch of this.#live.items()) {
        if (watch.closed || watch.toldRevision >= this.#position || !watch.watcher.onProgress) continue;
        watch.toldRevision = this.#position;
        this.#guard(watch, () => watch.watcher.onProgress!(watch.toldRevision));
      }
    });
  }

  /** Whoever watches everything has been told by the events themselves. */
  #isSomebodyBehind(): boolean {
    for (const watch of this.#live.items())
      if (watch.toldRevision < this.#position && watch.watcher.onProgress) return true;
    return false;
  }

  #guard(watch: Watch<V>, call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.log.error('a watcher of the store threw and is ended', { error });
      this.#fail(watch, error as Error);
    }
  }

  #fail(watch: Watch<V>, error: Error): void {
    if (watch.closed) return;
    this.#remove(watch);
    try {
      watch.watcher.onError(error);
    } catch (thrown) {
      this.#options.log.error('a watcher of the store threw at its end', { error: thrown });
    }
  }

  #remove(watch: Watch<V>): void {
    watch.closed = true;
    this.#live.delete(watch);
    this.#catchingUp.delete(watch);
  }
}

/** How many of these changes, one at least, are not too much to read in one turn. */
function readableAtOnce<V>(watch: Watch<V>, changes: readonly Version<V>[]): number {
  let bytes = 0;
  const enough = changes.findIndex((change) => {
    if (!isWithin(watch, orderedKey(change.key))) return false;
    bytes += change.bytes + (change.previous?.bytes ?? 0);
    return bytes > catchUpBytes;
  });
  return enough < 0 ? changes.length : enough + 1;
}

function isWithin<V>(watch: Watch<V>, ordered: string): boolean {
  return watch.start <= ordered && ordered < watch.end;
}

/** The version as readers see it. */
export function entryOf<V>(version: Version<V>, value: V): Entry<V> {
  return { key: version.key, value, revision: version.revision, createRevision: version.createRevision };
}
