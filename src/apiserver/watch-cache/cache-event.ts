/**
 * One change of one object, as all watchers of its resource see it. A frame (what one kind of watcher receives) is made on first
 * use and shared: the encoding of an event is done once per served version and representation, however many watchers there are.
 */
import type { LabelMatcher } from '../../apimachinery/labels.ts';
import type { Clock } from '../../base/clock.ts';
import type { WatchFrame } from '../request.ts';
import type { CacheEntry } from './cache-entry.ts';
import { HeldForAWhile } from './held-for-a-while.ts';
import { matchesSelectors, type Selection } from './selection.ts';

export type FrameType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** How a frame is written to the network. */
export type Wire = 'json' | 'protobuf';

/** In which form watchers receive objects: a served version as JSON or protobuf, as a Table, as metadata only. Compared by identity. */
export interface Representation {
  /** `revision` differs from the entry's own for objects that are gone. */
  frame(type: FrameType, entry: CacheEntry, revision: number): WatchFrame;
  /** Tells how far the watch is; with `endsState` also that the initial state is complete. */
  bookmark(revision: number, endsState?: boolean): WatchFrame;
  /** The last frame of a watch that cannot go on; the object is a Status. */
  error(status: object): WatchFrame;
}

interface MadeFrame {
  readonly representation: Representation;
  readonly type: FrameType;
  readonly frame: WatchFrame;
}

const noFrames: readonly MadeFrame[] = [];

/** Events of the past whose frames are shared by those who ask for them: a cut network brings all its clients back at once. */
export type RetoldEvents = HeldForAWhile<Pick<CacheEvent, 'forgetForms'>>;

export function retoldEvents(clock: Clock): RetoldEvents {
  const bounds = { maxItems: 512, maxBytes: 8 * 1024 * 1024, keepMs: 10_000 };
  return new HeldForAWhile({ ...bounds, clock, giveUp: (event) => event.forgetForms() });
}

export class CacheEvent {
  /** Revision of the change. */
  readonly revision: number;
  /** What stands there now; undefined after a removal. */
  readonly entry: CacheEntry | undefined;
  /** What stood there before; undefined for a creation. */
  readonly previous: CacheEntry | undefined;
  #types: Map<LabelMatcher, FrameType | undefined> | undefined;
  #frames: readonly MadeFrame[] = noFrames;

  constructor(revision: number, entry: CacheEntry | undefined, previous: CacheEntry | undefined) {
    this.revision = revision;
    this.entry = entry;
    this.previous = previous;
  }

  /** What it is about: the object as it stands there now, or as it last stood there. */
  get subject(): CacheEntry {
    return (this.entry ?? this.previous)!;
  }

  get key(): string {
    return this.subject.key;
  }

  /**
   * What the change means to a watcher of this selection: an object that begins to match is added, one that ceases to is deleted.
   * Watchers with the same label selector share the answer.
   */
  typeFor(selection: Selection): FrameType | undefined {
    const { labels, fields } = selection;
    if (!fields.empty) return this.#match(selection);
    if (labels.empty) return this.entry ? (this.previous ? 'MODIFIED' : 'ADDED') : 'DELETED';
    this.#types ??= new Map();
    if (this.#types.has(labels)) return this.#types.get(labels);
    const type = this.#match(selection);
    this.#types.set(labels, type);
    return type;
  }

  #match(selection: Selection): FrameType | undefined {
    const isIn = this.entry !== undefined && matchesSelectors(selection, this.entry);
    const wasIn = this.previous !== undefined && matchesSelectors(selection, this.previous);
    if (isIn) return wasIn ? 'MODIFIED' : 'ADDED';
    return wasIn ? 'DELETED' : undefined;
  }

  frame(type: FrameType, representation: Representation): WatchFrame {
    for (const made of this.#frames) {
      if (made.representation === representation && made.type === type) return made.frame;
    }
    const entry = type === 'DELETED' ? (this.previous ?? this.entry)! : this.entry!;
    const frame = representation.frame(type, entry, this.revision);
    this.#frames = [...this.#frames, { representation, type, frame }];
    return frame;
  }

  /** Whether it keeps anything that `forgetFrames` would drop. */
  get hasFrames(): boolean {
    return this.#frames !== noFrames || this.#types !== undefined;
  }

  /** All watchers of the moment have what is theirs and share it; those who come later have it made again. */
  forgetFrames(): void {
    this.#frames = noFrames;
    this.#types = undefined;
  }

  /** Those who had it told again are through: with the frames goes what they were made from. */
  forgetForms(): void {
    this.forgetFrames();
    this.previous?.retire();
  }
}
