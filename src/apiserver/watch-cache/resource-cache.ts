/**
 * The present state of one resource in memory, and its changes as they happen: everything that is read or watched comes from here.
 * Filled on first use from one consistent read of the store, kept current by the feed.
 *
 * Invariants: entries are those of `revision`, no older and no newer; each change reaches every watcher it concerns exactly once
 * and in order; a watch that begins at a revision sees all that came after it, or is refused.
 */

import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { SortedMap } from '../../base/sorted-map.ts';
import { type Entry, prefixEnd, type StoreEvent } from '../../storage/store.ts';
import type { StoredKind } from '../served-resource.ts';
import { CacheEntry, contextOf, type DecodedPool, type EntryContext, type WrittenObject } from './cache-entry.ts';
import { CacheEvent, type RetoldEvents } from './cache-event.ts';
import { CacheWatcher, type CacheWatcherOptions } from './cache-watcher.ts';
import type { Delivery } from './delivery.ts';
import { EventHistory, heldBytes, usualBounds } from './event-history.ts';
import type { ObjectForm } from './object-form.ts';
import { triggerField } from './selectable-fields.ts';
import type { Source } from './source.ts';
import type { FeedSink } from './store-feed.ts';
import { WatcherIndex } from './watcher-index.ts';

export interface ResourceCacheOptions<V> {
  readonly kind: StoredKind;
  readonly form: ObjectForm<V>;
  readonly source: Source<V>;
  readonly pool: DecodedPool;
  readonly retold: RetoldEvents;
  readonly delivery: Delivery;
  readonly clock: Clock;
  readonly log: Log;
  /** Values written after this revision are of this release's making and served as they are. */
  readonly trustedAfter: number;
}

const pageSize = 1000;
const bookmarkIntervalMs = 60_000;
/** What the history of a small resource may hold; of a large one, this share of what it holds itself. */
const historyBytes = 16 * 1024 * 1024;
const historyShare = 0.25;

export class ResourceCache<V = unknown> implements FeedSink<V> {
  readonly #options: ResourceCacheOptions<V>;
  readonly #context: EntryContext<V>;
  readonly #watchers: WatcherIndex;
  /** Frames told to watchers so far. */
  readonly sent = { frames: 0 };
  /** Objects of writes under way, by the stored value: they spare the decoding of what was just encoded. */
  readonly #lent = new Map<V, WrittenObject>();
  #entries = new SortedMap<CacheEntry<V>>();
  /** Of all entries. */
  #storedBytes = 0;
  #history: EventHistory;
  #loading: Promise<void> | undefined;
  #loaded = false;
  #detached = false;
  /** Raised when a filling under way has become worthless. */
  #generation = 0;
  #early: StoreEvent<V>[] = [];
  #loadedRevision = 0;
  #bookmarkTimer: Timer | undefined;
  /** One reading of the past at a time: after it, others mostly find what they need. */
  #recalling: Promise<void> | undefined;

  constructor(options: ResourceCacheOptions<V>) {
    this.#options = options;
    this.#context = contextOf(options.kind, options.form, options.pool);
    this.#watchers = new WatcherIndex(triggerField(options.kind));
    this.#history = this.#emptyHistory(0);
  }

  get kind(): StoredKind {
    return this.#options.kind;
  }

  /** All changes up to here are in. */
  get revision(): number {
    return Math.max(this.#loadedRevision, this.#options.source.feed.revision);
  }

  get size(): number {
    return this.#entries.size;
  }

  get watcherCount(): number {
    return this.#watchers.size;
  }

  /** Undefined when it is filled already, so that the usual case waits for nothing. */
  ready(): Promise<void> | undefined {
    if (this.#loaded) return undefined;
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  /** Resolves when the cache shows everything that was acknowledged before the call. */
  async fresh(): Promise<void> {
    const loading = this.ready();
    if (loading) await loading;
    const { feed, store } = this.#options.source;
    const reached = feed.reach(store.currentRevision ? await store.currentRevision() : store.revision);
    if (reached) await reached;
  }

  /** Resolves when the cache shows this revision; undefined when it does already. Never before `ready`. */
  reach(revision: number): Promise<void> | undefined {
    return this.revision >= revision ? undefined : this.#options.source.feed.reach(revision);
  }

  get(key: string): CacheEntry | undefined {
    return this.#entries.get(key) as CacheEntry | undefined;
  }

  /** Visits keys >= start and < end in order, until `visit` returns false. */
  visit(start: string, end: string, visit: (entry: CacheEntry) => boolean | undefined): void {
    this.#entries.visitBetween(start, end, visit as (entry: CacheEntry<V>) => boolean | undefined);
  }

  count(start: string, end: string): number {
    return this.#entries.countBetween(start, end);
  }

  /** An entry for what was read from the store itself: the cached one where it is the same revision. */
  entryOf(entry: Entry<V>): CacheEntry {
    const cached = this.#entries.get(entry.key);
    return (cached?.revision === entry.revision ? cached : this.#entry(entry)) as CacheEntry;
  }

  /** Lets the object of a write that is about to happen be used when its event comes. */
  lend(value: V, written: WrittenObject): void {
    if (this.#loaded && !this.#options.form.keepsObjects) this.#lent.set(value, written);
  }

  /** The write failed, or its event never came. */
  takeBack(value: V): void {
    this.#lent.delete(value);
  }

  /** Live from now on; call `begin` or `replay` before anything else happens. */
  watch(options: Omit<CacheWatcherOptions, 'delivery' | 'sent'>): CacheWatcher {
    const watcher = new CacheWatcher({ ...options, delivery: this.#options.delivery, sent: this.sent });
    watcher.onEnd(() => this.#watchers.remove(watcher));
    this.#watchers.add(watcher);
    if (watcher.wantsBookmarks) this.#armBookmarks();
    return watcher;
  }

  /** The oldest revision from which a watch can begin. */
  get oldestRevision(): number {
    return Math.min(this.#history.beginsAfter, this.revision);
  }

  /** Extends what `replay` knows back to this revision, if the store still has it. Undefined when nothing need be done. */
  recall(revision: number): Promise<void> | undefined {
    if (revision >= this.oldestRevision || this.#history.hasLost(revision)) return undefined;
    const recalling = (this.#recalling ?? Promise.resolve()).then(() => this.#recall(revision));
    this.#recalling = recalling.catch(() => {});
    return recalling;
  }

  /** Offers a new watcher what happened after `revision`; false when some of it is forgotten. */
  replay(watcher: CacheWatcher, revision: number): boolean {
    const events = this.#history.after(revision);
    if (!events) return false;
    const { namespace, name } = watcher.selection;
    const isNear = ({ subject }: CacheEvent) =>
      (!namespace || subject.namespace === namespace) && (name === undefined || subject.name === name);
    watcher.resume(namespace || name !== undefined ? events.filter(isNear) : events, this.#options.retold);
    return true;
  }

  apply(events: readonly StoreEvent<V>[]): void {
    if (!this.#loaded) {
      this.#early.push(...events);
      return;
    }
    const gone: CacheEntry[] = [];
    for (const event of events) {
      // Where the feed lags behind the store, the read that filled the cache has shown this already.
      if (event.revision <= this.#loadedRevision) continue;
      const change = this.#change(event);
      if (!change) continue;
      this.#history.push(change);
      this.#watchers.dispatch(change);
      change.forgetFrames();
      if (change.previous?.hasForms) gone.push(change.previous);
    }
    // Watchers who come for what they were just told still find its forms.
    if (gone.length > 0)
      this.#options.clock.soon(() => {
        for (const entry of gone) entry.retire();
      });
  }

  reset(): void {
    this.#generation++;
    this.#loaded = false;
    this.#loading = undefined;
    this.#early = [];
    this.close();
  }

  /** Ends all watches. */
  close(): void {
    for (const watcher of [...this.#watchers.watchers()]) watcher.end();
    this.#history.close();
    this.#bookmarkTimer?.cancel();
    this.#bookmarkTimer = undefined;
  }

  /** The resource is served no longer, or no longer like this: ends all watches, and follows the store no more. */
  detach(): void {
    this.#detached = true;
    this.#options.source.feed.detach(this.#options.kind.prefix, this);
    this.close();
  }

  async #recall(revision: number): Promise<void> {
    const history = this.#history;
    const { beginsAfter: upToRevision } = history;
    if (revision >= upToRevision || history.hasLost(revision)) return;
    const { source, kind, form } = this.#options;
    const bytesOf = ({ previous }: StoreEvent<V>) =>
      heldBytes({ previous: previous && { storedBytes: form.bytesOf(previous.value) } });
    history.hold();
    try {
      const { pastChanges } = await import('./past-changes.ts');
      const range = { prefix: kind.prefix, afterRevision: revision, upToRevision };
      const past = await pastChanges(source.store, { ...range, bytesOf, maxBytes: history.room });
      if (!past) history.lose(revision);
      // So much may have come in meanwhile that the beginning was pushed forward.
      else if (history.beginsAfter === upToRevision) {
        const known = new Map<string, CacheEntry>();
        const events = past.flatMap((event) => this.#pastChange(event, known) ?? []);
        history.prepend(events, revision);
      }
    } finally {
      history.release();
    }
  }

  /** `known`: what earlier changes left behind, so that each object is there once. */
  #pastChange(event: StoreEvent<V>, known: Map<string, CacheEntry>): CacheEvent | undefined {
    const { type, key, revision, value, previous } = event;
    const before = previous && (known.get(key) ?? this.entryOf(previous));
    if (type === 'remove') {
      known.delete(key);
      return before && new CacheEvent(revision, undefined, before);
    }
    const createRevision = previous?.createRevision ?? revision;
    const entry = this.entryOf({ key, value: value as V, revision, createRevision });
    known.set(key, entry);
    return new CacheEvent(revision, entry, before);
  }

  #change(event: StoreEvent<V>): CacheEvent | undefined {
    const { key, revision } = event;
    const previous = this.#entries.get(key);
    if (event.type === 'remove') {
      if (!previous) return undefined;
      this.#entries.delete(key);
      this.#storedBytes -= previous.storedBytes;
      return new CacheEvent(revision, undefined, previous as CacheEntry);
    }
    const value = event.value as V;
    const createRevision = previous?.createRevision ?? event.previous?.createRevision ?? revision;
    const entry = this.#entry({ key, value, revision, createRevision });
    const written = this.#lent.get(value);
    if (written) {
      this.#lent.delete(value);
      entry.lend(written);
    }
    this.#entries.set(key, entry);
    this.#storedBytes += entry.storedBytes - (previous?.storedBytes ?? 0);
    return new CacheEvent(revision, entry as CacheEntry, previous as CacheEntry | undefined);
  }

  #emptyHistory(beginsAfter: number): EventHistory {
    const bytes = () => Math.max(historyBytes, this.#storedBytes * historyShare);
    return new EventHistory({ clock: this.#options.clock, bounds: { ...usualBounds, bytes }, beginsAfter });
  }

  #entry(entry: Entry<V>): CacheEntry<V> {
    return new CacheEntry(this.#context, entry, entry.revision > this.#options.trustedAfter);
  }

  /** One consistent read in pages; what happens meanwhile waits in `#early` and is applied on top. */
  async #load(): Promise<void> {
    const { source, kind, clock } = this.#options;
    const generation = this.#generation;
    if (!this.#detached) source.feed.attach(kind.prefix, this);
    const end = prefixEnd(kind.prefix);
    const entries = new SortedMap<CacheEntry<V>>();
    let start = kind.prefix;
    let revision: number | undefined;
    let storedBytes = 0;
    for (;;) {
      const page = await source.store.range({ start, end, limit: pageSize, revision });
      revision ??= page.revision;
      for (const stored of page.entries) {
        const entry = this.#entry(stored);
        entries.set(entry.key, entry);
        storedBytes += entry.storedBytes;
      }
      if (!page.more) break;
      start = `${page.entries.at(-1)!.key}\0`;
      await new Promise<void>((resolve) => clock.soon(resolve));
    }
    if (generation !== this.#generation) {
      await this.ready();
      return;
    }
    this.#entries = entries;
    this.#storedBytes = storedBytes;
    this.#history = this.#emptyHistory(revision);
    this.#loadedRevision = revision;
    this.#loaded = true;
    const early = this.#early;
    this.#early = [];
    if (early.length > 0) this.apply(early);
  }

  #armBookmarks(): void {
    this.#bookmarkTimer ??= this.#options.clock.after(bookmarkIntervalMs, () => {
      this.#bookmarkTimer = undefined;
      let wanted = false;
      for (const watcher of this.#watchers.watchers()) {
        if (!watcher.wantsBookmarks) continue;
        wanted = true;
        watcher.push(watcher.representation.bookmark(this.revision));
      }
      if (wanted) this.#armBookmarks();
    });
  }
}
