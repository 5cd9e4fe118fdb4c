/**
 * Whether a history (`history.fixture.ts`) could be that of a store that keeps its promises.
 *
 * Revisions put all writes into one order, so nothing has to be searched: acknowledged writes and the events of all watches together give
 * the one possible line of changes, and everything anyone saw is held against it.
 *
 *     put a=1 -> 2    put a=2 expecting 2 -> 3    remove a expecting 3 -> 4
 *     line of a:  [0,2) absent   [2,3) "1"   [3,4) "2"   [4,..) absent
 *
 * A read that began when revision 3 had been told and that ended before revision 4 was asked for may say "2" and nothing else.
 */
import type { History, ListRecord, OperationRecord, ReadRecord, WatchHistory, WriteRecord } from './history.fixture.ts';

export type Rule =
  | 'a revision is given once'
  | 'revisions rise'
  | 'an acknowledged write is kept'
  | 'a refused write leaves nothing'
  | 'nothing appears that nobody wrote'
  | 'compare-and-set holds'
  | 'a conflict has a reason'
  | 'a watch is in order'
  | 'a watch has no gap'
  | 'a watch tells the truth'
  | 'a fresh read is not stale'
  | 'a read is of some moment'
  | 'a list is of one moment';

export interface Violation {
  readonly rule: Rule;
  readonly detail: string;
}

/** Empty: nothing speaks against it. */
export function checkHistory(history: History): readonly Violation[] {
  return new HistoryCheck(history).run();
}

interface Change {
  readonly revision: number;
  readonly key: string;
  /** Undefined: a removal. */
  readonly value: string | undefined;
}

/** What a key was from one revision to before another. */
interface Life extends Change {
  readonly until: number;
}

const isWrite = (record: OperationRecord): record is WriteRecord => record.kind === 'put' || record.kind === 'remove';

class HistoryCheck {
  readonly #history: History;
  readonly #violations: Violation[] = [];
  readonly #changes = new Map<number, Change>();
  readonly #lives = new Map<string, Life[]>();
  /** The revision of each acknowledged write, found for removals whose answer does not tell. */
  readonly #revisionOf = new Map<OperationRecord, number>();

  constructor(history: History) {
    this.#history = history;
  }

  run(): readonly Violation[] {
    this.#collectChanges();
    this.#buildLives();
    this.#checkWrites();
    this.#checkOrigins();
    for (const watch of this.#history.watches) this.#checkWatch(watch);
    this.#checkAgainstTime();
    this.#checkLists();
    return this.#violations;
  }

  #say(rule: Rule, detail: string): void {
    this.#violations.push({ rule, detail });
  }

  #collectChanges(): void {
    const add = (change: Change, source: string) => {
      const known = this.#changes.get(change.revision);
      if (!known) this.#changes.set(change.revision, change);
      else if (known.key !== change.key || known.value !== change.value)
        this.#say('a revision is given once', `${tell(known)}, and by ${source} ${tell(change)}`);
    };
    const acknowledged = new Map<number, WriteRecord>();
    for (const record of this.#history.operations) {
      if (!isWrite(record) || record.outcome !== 'acknowledged' || record.revision === undefined) continue;
      const other = acknowledged.get(record.revision);
      if (other)
        this.#say('a revision is given once', `${record.revision} to ${tellWrite(other)} and to ${tellWrite(record)}`);
      acknowledged.set(record.revision, record);
      add({ revision: record.revision, key: record.key, value: record.value }, record.client);
    }
    for (const { name, events } of this.#history.watches)
      for (const { revision, key, type, value } of events)
        add({ revision, key, value: type === 'removed' ? undefined : value }, `watch ${name}`);
  }

  #buildLives(): void {
    const sorted = [...this.#changes.values()].sort((a, b) => a.revision - b.revision);
    const open = new Map<string, Change>();
    const close = (change: Change, until: number) => this.#livesOf(change.key).push({ ...change, until });
    for (const change of sorted) {
      close(open.get(change.key) ?? absentFromTheStart(change.key), change.revision);
      open.set(change.key, change);
    }
    for (const change of open.values()) close(change, Number.POSITIVE_INFINITY);
  }

  #livesOf(key: string): Life[] {
    const lives = this.#lives.get(key) ?? [];
    this.#lives.set(key, lives);
    return lives;
  }

  /** The lives of a key that nothing ever happened to are one. */
  #knownLives(key: string): readonly Life[] {
    return this.#lives.get(key) ?? [{ ...absentFromTheStart(key), until: Number.POSITIVE_INFINITY }];
  }

  /** Compare-and-set: what a write expected is what it replaced. */
  #checkWrites(): void {
    const claimed = new Map<number, WriteRecord>();
    for (const record of this.#history.operations) {
      if (!isWrite(record) || record.outcome !== 'acknowledged') continue;
      const revision = record.revision ?? this.#removalOf(record, claimed);
      if (revision === undefined) {
        this.#say('an acknowledged write is kept', `${tellWrite(record)}: no such removal was ever seen`);
        continue;
      }
      claimed.set(revision, record);
      this.#revisionOf.set(record, revision);
      this.#checkReplaced(record, revision);
    }
  }

  /** A removal whose answer has no revision: the one that ended what it expected to end. */
  #removalOf(record: WriteRecord, claimed: ReadonlyMap<number, WriteRecord>): number | undefined {
    const ends = (this.#lives.get(record.key) ?? []).filter(
      ({ value, revision, until }) =>
        value !== undefined &&
        (record.expected === undefined || record.expected === revision) &&
        this.#changes.has(until) &&
        this.#changes.get(until)?.value === undefined,
    );
    return ends.find(({ until }) => !claimed.has(until))?.until;
  }

  #checkReplaced(record: WriteRecord, revision: number): void {
    const before = this.#knownLives(record.key).find(({ until }) => until === revision);
    const standing = before?.value === undefined ? 0 : before.revision;
    if (record.expected !== undefined && record.expected !== standing)
      this.#say('compare-and-set holds', `${tellWrite(record)} at ${revision} replaced ${standing}`);
    else if (record.kind === 'remove' && standing === 0)
      this.#say('compare-and-set holds', `${tellWrite(record)} at ${revision} removed what did not exist`);
  }

  /** Each change is someone's, and of someone who was not told that it would not happen. */
  #checkOrigins(): void {
    const puts = new Map<string, WriteRecord>();
    const removals = new Map<string, WriteRecord[]>();
    for (const record of this.#history.operations) {
      if (record.kind === 'put') puts.set(record.value!, record);
      if (record.kind === 'remove') removals.set(record.key, [...(removals.get(record.key) ?? []), record]);
    }
    const seen = new Map<string, number>();
    for (const change of [...this.#changes.values()].sort((a, b) => a.revision - b.revision)) {
      if (change.value === undefined) this.#checkRemoval(change, removals.get(change.key) ?? []);
      else this.#checkPut(change, puts.get(change.value), seen);
    }
  }

  #checkPut(change: Change, record: WriteRecord | undefined, seen: Map<string, number>): void {
    const earlier = seen.get(change.value!);
    if (!record || record.key !== change.key || earlier !== undefined)
      return this.#say(
        'nothing appears that nobody wrote',
        `${tell(change)}${earlier === undefined ? '' : `, which is at ${earlier} already`}`,
      );
    seen.set(change.value!, change.revision);
    if (record.outcome === 'conflict' || record.outcome === 'failed')
      this.#say('a refused write leaves nothing', `${tellWrite(record)} is at ${change.revision}`);
    else if (record.outcome === 'unknown') this.#checkReplaced(record, change.revision);
  }

  #checkRemoval(change: Change, records: readonly WriteRecord[]): void {
    const ended = this.#knownLives(change.key).find(({ until }) => until === change.revision);
    const fitting = records.filter(
      ({ expected, outcome }) =>
        (outcome === 'acknowledged' || outcome === 'unknown') &&
        (expected === undefined || expected === ended?.revision),
    );
    if (fitting.length === 0) this.#say('nothing appears that nobody wrote', tell(change));
  }

  #checkWatch({ name, afterRevision, upTo, events }: WatchHistory): void {
    let last = afterRevision;
    const delivered = new Set<number>();
    for (const { revision, type, key, value } of events) {
      if (revision <= last) this.#say('a watch is in order', `${name}: ${revision} after ${last}`);
      last = Math.max(last, revision);
      delivered.add(revision);
      const before = this.#knownLives(key).find(({ until }) => until === revision);
      const existed = before?.value !== undefined;
      if (existed === (type === 'created'))
        this.#say('a watch tells the truth', `${name}: ${key} ${type} at ${revision}, existed before: ${existed}`);
      if (type === 'removed' && value !== before?.value)
        this.#say('a watch tells the truth', `${name}: ${key} removed at ${revision} with ${value}`);
    }
    for (const change of this.#changes.values())
      if (change.revision > afterRevision && change.revision <= upTo && !delivered.has(change.revision))
        this.#say('a watch has no gap', `${name} (from ${afterRevision}, to ${upTo}): ${tell(change)} did not come`);
  }

  /** What was told before a call began bounds it from below; what was asked for after its answer, from above. */
  #checkAgainstTime(): void {
    const { operations } = this.#history;
    const told = operations
      .map((record) => ({ at: record.endedAt, revision: this.#told(record) }))
      .filter(({ revision }) => revision > 0)
      .sort((a, b) => a.at - b.at);
    const begun = operations
      .flatMap((record) => {
        const revision = isWrite(record) ? this.#revisionOf.get(record) : undefined;
        return revision === undefined ? [] : [{ at: record.startedAt, revision }];
      })
      .sort((a, b) => b.at - a.at);
    const floors = new RunningBound(told, Math.max);
    const ceilings = new RunningBound(begun, Math.min);
    const byStart = [...operations].sort((a, b) => a.startedAt - b.startedAt);
    const floorOf = new Map(byStart.map((record) => [record, floors.advance((at) => at < record.startedAt) ?? 0]));
    const byEnd = [...operations].sort((a, b) => b.endedAt - a.endedAt);
    for (const record of byEnd) {
      const ceiling = ceilings.advance((at) => at > record.endedAt) ?? Number.POSITIVE_INFINITY;
      this.#checkBounds(record, floorOf.get(record)!, ceiling);
    }
  }

  #told(record: OperationRecord): number {
    return isWrite(record) ? (this.#revisionOf.get(record) ?? 0) : record.revision;
  }

  #checkBounds(record: OperationRecord, floor: number, ceiling: number): void {
    if (record.kind === 'read') return this.#checkRead(record, floor, ceiling);
    if (record.kind === 'list') {
      if (record.fresh && record.revision < floor)
        this.#say(
          'a fresh read is not stale',
          `${record.client} listed ${record.revision} when ${floor} had been told`,
        );
      return;
    }
    const revision = this.#revisionOf.get(record);
    if (revision !== undefined && revision <= floor)
      this.#say('revisions rise', `${tellWrite(record)} at ${revision} when ${floor} had been told`);
    if (record.outcome !== 'conflict' || record.expected === undefined) return;
    const lives = this.#knownLives(record.key).filter((life) => life.until > floor && life.revision < ceiling);
    const standing = lives.map(({ value, revision }) => (value === undefined ? 0 : revision));
    if (standing.length > 0 && standing.every((each) => each === record.expected))
      this.#say('a conflict has a reason', `${tellWrite(record)}, which stood there from ${floor} to ${ceiling}`);
  }

  #checkRead({ key, revision, value, client, fresh }: ReadRecord, floor: number, ceiling: number): void {
    const lives = this.#knownLives(key).filter((life) =>
      revision === 0 ? life.value === undefined : life.revision === revision && life.value === value,
    );
    const what = `${client} read ${key} at ${revision}`;
    if (!lives.some((life) => life.revision < ceiling)) this.#say('a read is of some moment', what);
    else if (fresh && !lives.some((life) => life.until > floor && life.revision < ceiling))
      this.#say('a fresh read is not stale', `${what} when ${floor} had been told`);
  }

  #checkLists(): void {
    const lists = this.#history.operations.filter((record): record is ListRecord => record.kind === 'list');
    const changes = [...this.#changes.values()].sort((a, b) => a.revision - b.revision);
    const state = new Map<string, Change>();
    let next = 0;
    for (const list of lists.sort((a, b) => a.revision - b.revision)) {
      for (; next < changes.length && changes[next]!.revision <= list.revision; next++) {
        const change = changes[next]!;
        if (change.value === undefined) state.delete(change.key);
        else state.set(change.key, change);
      }
      this.#checkList(list, state);
    }
  }

  #checkList(list: ListRecord, state: ReadonlyMap<string, Change>): void {
    const where = `list of ${list.client} at ${list.revision}`;
    const listed = new Map(list.entries.map((entry) => [entry.key, entry]));
    for (const [key, change] of state) {
      const entry = listed.get(key);
      if (!entry) this.#say('an acknowledged write is kept', `${where}: ${tell(change)} is missing`);
      else if (entry.revision !== change.revision || entry.value !== change.value)
        this.#say('a list is of one moment', `${where}: ${tell(change)} is ${tell(entry)}`);
    }
    for (const entry of list.entries)
      if (!state.has(entry.key)) this.#say('a list is of one moment', `${where}: ${tell(entry)} should not be there`);
  }
}

/** The largest (or smallest) revision of the marks passed so far. */
class RunningBound {
  readonly #marks: readonly { readonly at: number; readonly revision: number }[];
  readonly #pick: (a: number, b: number) => number;
  #next = 0;
  #bound: number | undefined;

  constructor(marks: readonly { at: number; revision: number }[], pick: (a: number, b: number) => number) {
    this.#marks = marks;
    this.#pick = pick;
  }

  advance(passed: (at: number) => boolean): number | undefined {
    for (; this.#next < this.#marks.length && passed(this.#marks[this.#next]!.at); this.#next++) {
      const { revision } = this.#marks[this.#next]!;
      this.#bound = this.#bound === undefined ? revision : this.#pick(this.#bound, revision);
    }
    return this.#bound;
  }
}

const absentFromTheStart = (key: string): Change => ({ key, revision: 0, value: undefined });

const tell = ({ key, revision, value }: Change) =>
  `${key}${value === undefined ? ' removed' : `=${value}`} at ${revision}`;

function tellWrite({ client, kind, key, value, expected, outcome }: WriteRecord): string {
  const what = value === undefined ? `${kind} ${key}` : `${kind} ${key}=${value}`;
  return `${client}'s ${what}${expected === undefined ? '' : ` expecting ${expected}`} (${outcome})`;
}
