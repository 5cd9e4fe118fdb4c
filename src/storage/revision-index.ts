/**
 * What keys stand at which revision: the part of a store that is the same whether values lie in memory or on disk.
 * Invariant: it holds durable changes only, in revision order; whoever asks it never sees a pending write.
 *
 * Each change is a `Version`; the versions of a key form a chain from the newest back to the oldest that is not yet compacted.
 * All changes after the compacted revision also stand in one log, from which watches catch up.
 *
 *   put a (2), put b (3), put a (4), remove b (5):
 *     live    a -> 4 -> 2
 *     buried  b -> 5 (removed) -> 3
 *     log     2 3 4 5
 *   compacted at 4:  a -> 4;  b -> 5 -> 3;  log 5        (3 is what a read at revision 4 finds)
 *   compacted at 5:  a -> 4;  b is gone;    log empty
 */
import { SortedMap } from '../base/sorted-map.ts';
import { CompactedError, type ExpectedRevision, FutureRevisionError, type RangeOptions } from './store.ts';

/** One change of one key. */
export interface Version<V> {
  readonly key: string;
  readonly revision: number;
  readonly createRevision: number;
  readonly removed: boolean;
  /** Wall time at which the key disappears; 0: never. */
  readonly expiresAtMs: number;
  /** What it takes on disk; 0: nothing. */
  readonly bytes: number;
  /** The value, where it is in memory. */
  value: V | undefined;
  /** The change of this key before this one; undefined: none, or compacted. */
  previous: Version<V> | undefined;
}

/** A compare-and-set of one key; `content` undefined removes it. */
export interface Write<V> {
  readonly key: string;
  /** That the change would have. */
  readonly revision: number;
  readonly expected: ExpectedRevision;
  readonly content: { readonly value: V } | undefined;
  readonly expiresAtMs: number;
  readonly bytes: number;
}

/** The change that a write makes of what stands there; undefined if that is not what it expects, or nothing is there to remove. */
export function versionAfter<V>(head: Version<V> | undefined, write: Write<V>): Version<V> | undefined {
  const { key, revision, expected, content, expiresAtMs, bytes } = write;
  const matches = expected === undefined || expected === (head?.revision ?? 0);
  if (!matches || (!content && !head)) return undefined;
  return {
    key,
    revision,
    createRevision: head?.createRevision ?? revision,
    removed: !content,
    expiresAtMs,
    bytes,
    value: content?.value,
    previous: undefined,
  };
}

export interface Selection<V> {
  readonly versions: readonly Version<V>[];
  readonly count: number;
  readonly more: boolean;
  readonly revision: number;
}

/** Log entries are dropped from memory in blocks of at least this many. */
const logTrimLength = 4096;

export class RevisionIndex<V> {
  #revision = 1;
  #compactedRevision = 0;
  #bytes = 0;
  #liveBytes = 0;
  /** Keys that exist. */
  readonly #live = new SortedMap<Version<V>>();
  /** Keys whose newest change is a removal that is not compacted yet. */
  readonly #buried = new SortedMap<Version<V>>();
  #log: Version<V>[] = [];
  /** Log entries before this position are compacted. */
  #logStart = 0;

  get revision(): number {
    return this.#revision;
  }

  get compactedRevision(): number {
    return this.#compactedRevision;
  }

  /** What the changes take that are kept for those who ask for the past: superseded values, and removals. */
  get historyBytes(): number {
    return this.#bytes - this.#liveBytes;
  }

  /** Changes that watches can catch up on. */
  get historyLength(): number {
    return this.#log.length - this.#logStart;
  }

  /** The newest change of a key that exists. */
  head(key: string): Version<V> | undefined {
    return this.#live.get(orderedKey(key));
  }

  /** What stood at `key` at `revision` (absent: now). */
  at(key: string, revision?: number): Version<V> | undefined {
    const ordered = orderedKey(key);
    if (revision === undefined) return this.#live.get(ordered);
    this.#checkReadable(revision);
    return versionAt(this.#live.get(ordered) ?? this.#buried.get(ordered), revision);
  }

  select({ start, end, limit = 0, revision }: RangeOptions): Selection<V> {
    const from = orderedKey(start);
    const to = orderedKey(end);
    if (revision !== undefined) this.#checkReadable(revision);
    if (revision !== undefined && revision < this.#revision) return this.#selectOld(from, to, limit, revision);
    const count = this.#live.countBetween(from, to);
    const wanted = limit > 0 ? Math.min(limit, count) : count;
    const versions: Version<V>[] = [];
    if (wanted > 0) {
      this.#live.visitBetween(from, to, (version) => {
        versions.push(version);
        return versions.length < wanted;
      });
    }
    return { versions, count, more: wanted < count, revision: this.#revision };
  }

  /** Adds the next change. Its `previous` is set here. */
  apply(version: Version<V>): void {
    this.#place(version);
    this.#log.push(version);
    this.#revision = version.revision;
  }

  /**
   * Refills an empty index from a backend's records, which come in revision order. Returns the revisions whose records
   * nobody can ask for, left over when the backend was stopped before it had removed them.
   */
  restore(versions: Iterable<Version<V>>, compactedRevision: number): number[] {
    const leftOver: number[] = [];
    this.#compactedRevision = compactedRevision;
    for (const version of versions) {
      if (version.revision > compactedRevision) {
        this.apply(version);
        continue;
      }
      this.#place(version);
      this.#letGo(version, leftOver);
      this.#revision = version.revision;
    }
    this.#revision = Math.max(this.#revision, compactedRevision);
    return leftOver;
  }

  /** Up to `limit` changes with a revision > `after`, in order. Complete only if `after` is not below the compacted revision. */
  changesAfter(after: number, limit = Number.POSITIVE_INFINITY): readonly Version<V>[] {
    let low = this.#logStart;
    let high = this.#log.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#log[middle]!.revision <= after) low = middle + 1;
      else high = middle;
    }
    return this.#log.slice(low, Math.min(low + limit, this.#log.length));
  }

  /** From now on nothing before `revision` can be read. The memory is given back by `forget`. False: it was so already. */
  compact(revision: number): boolean {
    if (revision > this.#revision) throw new FutureRevisionError(revision);
    if (revision <= this.#compactedRevision) return false;
    this.#compactedRevision = revision;
    return true;
  }

  /**
   * Forgets what compaction made unreachable, looking at no more than `limit` changes; returns the revisions whose values
   * nobody can ask for any more, or undefined when there is nothing left to look at.
   */
  forget(limit: number): number[] | undefined {
    const stop = Math.min(this.#logStart + limit, this.#log.length);
    const superseded: number[] = [];
    let position = this.#logStart;
    for (; position < stop; position++) {
      const version = this.#log[position]!;
      if (version.revision > this.#compactedRevision) break;
      this.#letGo(version, superseded);
    }
    if (position === this.#logStart) return undefined;
    this.#logStart = position;
    if (this.#logStart >= logTrimLength || this.#logStart === this.#log.length) {
      this.#log = this.#log.slice(this.#logStart);
      this.#logStart = 0;
    }
    return superseded;
  }

  /** All keys that exist and will disappear by themselves. */
  *expiring(): Iterable<Version<V>> {
    const found: Version<V>[] = [];
    this.#live.visitBetween('', highestOrderedKey, (version) => {
      if (version.expiresAtMs > 0) found.push(version);
      return true;
    });
    yield* found;
  }

  #place(version: Version<V>): void {
    const ordered = orderedKey(version.key);
    const buried = this.#buried.get(ordered);
    const live = this.#live.get(ordered);
    version.previous = buried ?? live;
    this.#bytes += version.bytes;
    this.#liveBytes += (version.removed ? 0 : version.bytes) - (live?.bytes ?? 0);
    if (version.removed) {
      this.#live.delete(ordered);
      this.#buried.set(ordered, version);
    } else {
      if (buried) this.#buried.delete(ordered);
      this.#live.set(ordered, version);
    }
  }

  /** Nobody can ask any more for what was before this change; adds the revisions that this makes superfluous to `gone`. */
  #letGo(version: Version<V>, gone: number[]): void {
    const { previous } = version;
    if (previous) {
      gone.push(previous.revision);
      this.#bytes -= previous.bytes;
      version.previous = undefined;
    }
    if (version.removed && this.#unbury(version)) {
      gone.push(version.revision);
      this.#bytes -= version.bytes;
    }
  }

  #unbury(version: Version<V>): boolean {
    const ordered = orderedKey(version.key);
    return this.#buried.get(ordered) === version && this.#buried.delete(ordered);
  }

  /** A read in the past walks the chain of every key of the range, removed ones included, to count them. */
  #selectOld(from: string, to: string, limit: number, revision: number): Selection<V> {
    const versions: Version<V>[] = [];
    let count = 0;
    const consider = (newest: Version<V>) => {
      const version = versionAt(newest, revision);
      if (!version) return;
      count++;
      if (limit === 0 || count <= limit) versions.push(version);
    };
    const buried: { ordered: string; version: Version<V> }[] = [];
    this.#buried.visitBetween(from, to, (version, ordered) => {
      buried.push({ ordered, version });
      return true;
    });
    let next = 0;
    this.#live.visitBetween(from, to, (version, ordered) => {
      while (next < buried.length && buried[next]!.ordered < ordered) consider(buried[next++]!.version);
      consider(version);
      return true;
    });
    while (next < buried.length) consider(buried[next++]!.version);
    return { versions, count, more: versions.length < count, revision };
  }

  #checkReadable(revision: number): void {
    if (revision > this.#revision) throw new FutureRevisionError(revision);
    if (revision < this.#compactedRevision) throw new CompactedError(this.#compactedRevision);
  }
}

function versionAt<V>(newest: Version<V> | undefined, revision: number): Version<V> | undefined {
  let version = newest;
  while (version && version.revision > revision) version = version.previous;
  return version?.removed ? undefined : version;
}

const highestOrderedKey = '\uffff\uffff';

/**
 * The key in a form that JavaScript's `<` puts in the order of UTF-8 bytes. The two orders differ only above U+D7FF, where
 * UTF-16 has the surrogates of the higher planes before U+E000..U+FFFF; exchanging those two blocks mends it.
 */
export function orderedKey(key: string): string {
  if (!/[\ud800-\uffff]/.test(key)) return key;
  let ordered = '';
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    const shifted = unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
    ordered += String.fromCharCode(shifted);
  }
  return ordered;
}

/** Keys are non-empty well-formed text, for they must survive the way through UTF-8. */
export function checkKey(key: string): void {
  if (key === '' || !key.isWellFormed()) throw new TypeError(`not a storage key: ${JSON.stringify(key)}`);
}
