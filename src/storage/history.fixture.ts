/**
 * What clients of a store saw, written down: every write, read and list with the moments of its call and of its answer, and every watch
 * with what it delivered. `history-check.fixture.ts` says whether a store that keeps its promises could have answered so. The records know
 * nothing of what was asked, a `Store` or an API server over one.
 */
import type { Random } from '../base/random.ts';
import type { Store, StoreEvent } from './store.ts';

/**
 * - `acknowledged`: it happened.
 * - `conflict`: refused, for the key was not at the expected revision.
 * - `failed`: it has not happened and will not.
 * - `unknown`: no answer, or one that leaves it open.
 */
export type WriteOutcome = 'acknowledged' | 'conflict' | 'failed' | 'unknown';

/** Moments are of one clock for all clients of a history; an answer that never came ends at infinity. */
export interface Span {
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface WriteRecord extends Span {
  readonly kind: 'put' | 'remove';
  readonly client: string;
  readonly key: string;
  /** Of a put; no two puts of a history have the same one. */
  readonly value?: string | undefined;
  /** 0: the key must not exist; undefined: whatever stands there, and for a removal: something. */
  readonly expected?: number | undefined;
  readonly outcome: WriteOutcome;
  /** Of an acknowledged put; of a removal where the answer tells. */
  readonly revision?: number | undefined;
}

export interface ReadRecord extends Span {
  readonly kind: 'read';
  readonly client: string;
  readonly key: string;
  /** Whether it may show nothing older than what anyone was told before it began. */
  readonly fresh: boolean;
  /** 0: the key is absent. */
  readonly revision: number;
  readonly value?: string | undefined;
}

export interface ListedEntry {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
}

export interface ListRecord extends Span {
  readonly kind: 'list';
  readonly client: string;
  readonly fresh: boolean;
  /** As of which the entries are all there is. */
  readonly revision: number;
  readonly entries: readonly ListedEntry[];
}

export type OperationRecord = WriteRecord | ReadRecord | ListRecord;

export interface WatchedEvent {
  readonly type: 'created' | 'changed' | 'removed';
  readonly key: string;
  readonly revision: number;
  /** The new value; of a removal what stood there. */
  readonly value: string | undefined;
}

export interface WatchHistory {
  readonly name: string;
  readonly afterRevision: number;
  /** Everything up to this revision should have come. */
  readonly upTo: number;
  readonly events: readonly WatchedEvent[];
}

/** Of a range of keys that was empty at first, and into which nobody wrote but those whose operations are here. */
export interface History {
  readonly operations: readonly OperationRecord[];
  readonly watches: readonly WatchHistory[];
}

export function watchedEvent(event: StoreEvent<string>): WatchedEvent {
  const { key, revision, previous } = event;
  if (event.type === 'remove') return { type: 'removed', key, revision, value: previous?.value };
  return { type: previous ? 'changed' : 'created', key, revision, value: event.value };
}

/** Random clients of a store of this process; their moments are turns, not times. */
export class HistoryRecorder {
  readonly operations: OperationRecord[] = [];
  readonly #random: Random;
  #turn = 0;
  #values = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Does so many things, one after the other. */
  async client(client: string, store: Store<string>, count: number): Promise<void> {
    const known = new Map<string, number>();
    for (let i = 0; i < count; i++) {
      const key = `/${Math.floor(this.#random.next() * 4)}`;
      const startedAt = ++this.#turn;
      const record = await this.#step(store, key, known.get(key) ?? 0);
      this.operations.push({ ...record, client, startedAt, endedAt: ++this.#turn } as OperationRecord);
      if (record.kind === 'read') known.set(key, record.revision);
      if (record.kind === 'put' && record.outcome === 'acknowledged') known.set(key, record.revision!);
    }
  }

  async #step(store: Store<string>, key: string, expected: number): Promise<Step> {
    const choice = this.#random.next();
    if (choice < 0.2) {
      const entry = await store.get(key);
      return { kind: 'read', key, fresh: true, revision: entry?.revision ?? 0, value: entry?.value };
    }
    if (choice < 0.3) {
      const { entries, revision } = await store.range({ start: '/', end: '0' });
      return { kind: 'list', fresh: true, revision, entries };
    }
    if (choice < 0.45 && expected > 0) {
      const result = await store.remove(key, { expected });
      const outcome = result.ok ? 'acknowledged' : 'conflict';
      return { kind: 'remove', key, expected, outcome, revision: result.ok ? result.revision : undefined };
    }
    const value = String(++this.#values);
    const result = await store.put(key, value, { expected });
    const outcome = result.ok ? 'acknowledged' : 'conflict';
    return { kind: 'put', key, value, expected, outcome, revision: result.ok ? result.revision : undefined };
  }
}

type Step =
  | Omit<WriteRecord, 'client' | keyof Span>
  | Omit<ReadRecord, 'client' | keyof Span>
  | Omit<ListRecord, 'client' | keyof Span>;
