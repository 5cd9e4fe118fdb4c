/**
 * One watch on etcd that outlives its connections. Invariant: its watcher gets every change of its range after its position exactly
 * once and in order, or its end.
 *
 * A watcher that wants to hear of progress hears of it in one of two ways, by the release of the member that serves the stream. One that
 * can be believed is asked (`ProgressRequests`); since a stream has this one watch only, an answer is this watch's. An older one is asked for
 * all keys of etcd, not for the range alone: every revision then has an event, and each event proves that all before it have come.
 *
 * It begins at its position, the change there included, and passes that one over: etcd takes a watch from the very revision that was
 * compacted, whose removals are gone, and so one that begins after a position before it would have a gap.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { orderedKey } from '../revision-index.ts';
import { CompactedError, type Entry, type StoreEvent, type Watcher, type WatchOptions } from '../store.ts';
import type { EtcdConnection, WatchedMember, WatchStream } from './connection.ts';
import type { KeySpace } from './key-space.ts';
import { deleteEvent, type Event, type KeyValue, type WatchResponse } from './messages.ts';
import { ProgressRequests } from './progress-requests.ts';
import { tellsProgress } from './releases.ts';

export interface EtcdWatchOptions<V> {
  readonly connection: EtcdConnection;
  readonly clock: Clock;
  readonly log: Log;
  readonly keys: KeySpace;
  readonly toEntry: (kv: KeyValue) => Entry<V>;
  readonly compactedRevision: () => number;
  /** The newest revision known when the watch begins: it says when it is there. */
  readonly knownRevision: () => number;
  /** Changes up to this revision are known. */
  readonly onRevision: (revision: number) => void;
  readonly onCompacted: (revision: number) => void;
  readonly onEnd: (watch: EtcdWatch<V>) => void;
}

const reopenDelayMs = 100;
const firstKey = Uint8Array.of(0);
const allKeys = { key: firstKey, rangeEnd: firstKey };

export class EtcdWatch<V> {
  readonly #options: EtcdWatchOptions<V>;
  readonly #range: { readonly start: string; readonly end: string };
  readonly #ownBounds: { readonly key: Uint8Array; readonly rangeEnd: Uint8Array };
  readonly #watcher: Watcher<V>;
  #position: number;
  #toldRevision: number;
  #stream: WatchStream | undefined;
  #reopening: Timer | undefined;
  /** Of a response that comes in several parts. */
  #parts: Event[] = [];
  /** Of the stream, if its member can be believed, once the watch has been created: an earlier question is answered for no watch. */
  #progress: ProgressRequests | undefined;
  #wanted: number;
  #waiting: { readonly revision: number; readonly resolve: () => void }[] = [];
  #closed = false;

  constructor({ start, end, afterRevision }: WatchOptions, watcher: Watcher<V>, options: EtcdWatchOptions<V>) {
    this.#options = options;
    this.#watcher = watcher;
    this.#range = { start: orderedKey(start), end: orderedKey(end) };
    this.#ownBounds = options.keys.bounds(start, end);
    this.#position = afterRevision;
    this.#toldRevision = afterRevision;
    this.#wanted = options.knownRevision();
    void this.#open();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopAsking();
    this.#reopening?.cancel();
    this.#stream?.cancel();
    this.#options.onEnd(this);
    for (const { resolve } of this.#waiting) resolve();
  }

  /** Ends the watch with this error. */
  fail(error: Error): void {
    if (this.#closed) return;
    this.close();
    try {
      this.#watcher.onError(error);
    } catch (thrown) {
      this.#options.log.error('a watcher of the store threw at its end', { error: thrown });
    }
  }

  /** Resolves when all up to `revision` has been delivered, or the watch has ended; at once if this watch cannot tell. */
  reach(revision: number): Promise<void> {
    if (this.#closed || this.#position >= revision || !this.#watcher.onProgress) return Promise.resolve();
    this.want(revision);
    return new Promise((resolve) => this.#waiting.push({ revision, resolve }));
  }

  /** Somebody waits until the watcher has heard that all up to `revision` has been delivered. */
  want(revision: number): void {
    if (revision > this.#wanted) this.#wanted = revision;
    this.#progress?.want(revision);
  }

  /** The watcher is to hear of `revision`, in a while if nothing else tells it. */
  expect(revision: number): void {
    if (revision > this.#wanted) this.#wanted = revision;
    this.#progress?.expect(revision);
  }

  async #open(): Promise<void> {
    const member = this.#options.connection.memberForWatch();
    try {
      const isBelieved = this.#watcher.onProgress !== undefined && tellsProgress(await member.version());
      if (!this.#closed) this.#watchAt(member, isBelieved);
    } catch (error) {
      this.#reopen(member, (error as Error).message);
    }
  }

  #watchAt(member: WatchedMember, isBelieved: boolean): void {
    this.#parts = [];
    let ended = false;
    const again = (reason: string) => {
      if (ended) return;
      ended = true;
      this.#reopen(member, reason);
    };
    const onMessage = (response: WatchResponse) => {
      if (this.#closed || ended) return;
      if (response.compactRevision > 0) {
        this.#options.onCompacted(response.compactRevision);
        this.fail(new CompactedError(this.#options.compactedRevision()));
      } else if (response.canceled) {
        stream.cancel();
        again(response.cancelReason);
      } else if (response.created) {
        if (isBelieved) this.#askAt(stream);
      } else this.#receive(response);
    };
    const stream = member.open({ onMessage, onEnd: (error) => again(error?.message ?? 'the stream ended') });
    this.#stream = stream;
    const bounds = this.#watcher.onProgress && !isBelieved ? allKeys : this.#ownBounds;
    const startRevision = Math.max(1, this.#position);
    stream.send({ create: { ...bounds, startRevision, progressNotify: isBelieved, prevKv: true, fragment: true } });
  }

  #askAt(stream: WatchStream): void {
    const ask = () => stream.send({ progress: {} });
    this.#progress = new ProgressRequests({ clock: this.#options.clock, ask, position: () => this.#position });
    this.#progress.want(this.#wanted);
  }

  #stopAsking(): void {
    this.#progress?.close();
    this.#progress = undefined;
  }

  #reopen(member: WatchedMember, reason: string): void {
    if (this.#closed) return;
    this.#stopAsking();
    member.leave();
    const { clock, log } = this.#options;
    log.warn('a watch on etcd broke off and goes on from where it was', { reason, revision: this.#position });
    this.#reopening = clock.after(reopenDelayMs, () => void this.#open());
  }

  #receive({ header, fragment, events }: WatchResponse): void {
    const all = this.#parts.length > 0 ? [...this.#parts, ...events] : events;
    this.#parts = fragment ? [...all] : [];
    if (fragment) return;
    // Without events, a response says how far the watch is.
    const isAnswer = all.length === 0;
    const last = isAnswer ? this.#progress && header?.revision : all.at(-1)!.kv!.modRevision;
    if (last && last > this.#position) this.#advance(all, last);
    if (isAnswer) this.#progress?.answered();
    else this.#progress?.heard();
  }

  #advance(events: readonly Event[], last: number): void {
    try {
      const own = this.#readEvents(events);
      this.#position = last;
      this.#options.onRevision(last);
      this.#deliver(own, last);
    } catch (error) {
      if (!(error instanceof CompactedError)) this.#options.log.error('a watch on the store is ended', { error });
      this.fail(error as Error);
    }
    for (const { revision, resolve } of this.#waiting) if (revision <= this.#position) resolve();
    this.#waiting = this.#waiting.filter(({ revision }) => revision > this.#position);
  }

  #deliver(events: readonly StoreEvent<V>[], last: number): void {
    if (events.length > 0) {
      this.#toldRevision = events.at(-1)!.revision;
      this.#watcher.onEvents(events);
    }
    if (this.#closed || this.#toldRevision >= last) return;
    this.#toldRevision = last;
    this.#watcher.onProgress?.(last);
  }

  #readEvents(events: readonly Event[]): StoreEvent<V>[] {
    const { keys, toEntry } = this.#options;
    const read: StoreEvent<V>[] = [];
    for (const { type, kv, previous } of events) {
      if (!kv || kv.modRevision <= this.#position) continue;
      const key = keys.fromEtcd(kv.key);
      if (key === undefined) continue;
      const ordered = orderedKey(key);
      if (ordered < this.#range.start || ordered >= this.#range.end) continue;
      const removed = type === deleteEvent;
      // What stood before a change is gone once the change itself is compacted: as good as a gap.
      if (!previous && (removed || kv.createRevision < kv.modRevision))
        throw new CompactedError(Math.max(this.#options.compactedRevision(), kv.modRevision));
      read.push({
        type: removed ? 'remove' : 'put',
        key,
        revision: kv.modRevision,
        value: removed ? undefined : toEntry(kv).value,
        previous: previous && toEntry(previous),
      });
    }
    return read;
  }
}
