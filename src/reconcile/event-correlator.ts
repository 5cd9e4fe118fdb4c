/**
 * Keeps Events from flooding the API: an Event that repeats is counted up, many similar ones (same object and reason, ever new
 * messages) become one, and an object that has used up its allowance is not written about until it has some again. Numbers are
 * client-go's.
 */

import type { Event } from '../api/gen/core-v1.ts';
import { formatTime } from '../apimachinery/time.ts';
import type { Clock } from '../base/clock.ts';
import { TokenBucket } from './token-bucket.ts';

/** Objects and messages remembered; the least recently used are forgotten. */
const remembered = 4096;
const similarEvents = 10;
const similarWithinMs = 600_000;
const spamBurst = 25;
const spamPerSecond = 1 / 300;

/** What to write: a new Event, or the count of one that exists. */
export interface CorrelatedEvent {
  readonly event: Event;
  /** Set where the Event was written before: its name is then that of the earlier one. */
  readonly repeated: boolean;
}

interface Similar {
  readonly messages: Set<string>;
  lastMs: number;
}

interface Observed {
  count: number;
  firstTimestamp: string | undefined;
  name: string | undefined;
}

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #similar = new RecentlyUsed<Similar>(remembered);
  readonly #observed = new RecentlyUsed<Observed>(remembered);
  readonly #buckets = new RecentlyUsed<TokenBucket>(remembered);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: say nothing. */
  correlate(event: Event): CorrelatedEvent | undefined {
    const { event: aggregated, key } = this.#aggregate(event);
    const correlated = this.#count(aggregated, key);
    const bucket = this.#buckets.get(spamKey(event), () => {
      return new TokenBucket(this.#clock, { perSecond: spamPerSecond, burst: spamBurst });
    });
    return bucket.tryTake() ? correlated : undefined;
  }

  #aggregate(event: Event): { readonly event: Event; readonly key: string } {
    const group = similarityKey(event);
    const key = JSON.stringify([group, event.message]);
    const nowMs = this.#clock.now();
    const similar = this.#similar.get(group, () => ({ messages: new Set(), lastMs: nowMs }));
    if (nowMs - similar.lastMs > similarWithinMs) similar.messages.clear();
    similar.lastMs = nowMs;
    similar.messages.add(event.message ?? '');
    if (similar.messages.size < similarEvents) return { event, key };
    // Keeps the set from growing; any will do.
    for (const message of similar.messages) {
      similar.messages.delete(message);
      break;
    }
    return { event: { ...event, message: `(combined from similar events): ${event.message}` }, key: group };
  }

  #count(event: Event, key: string): CorrelatedEvent {
    const observed = this.#observed.get(key, () => ({ count: 0, firstTimestamp: undefined, name: undefined }));
    observed.count++;
    observed.firstTimestamp ??= event.firstTimestamp;
    observed.name ??= event.metadata.name;
    if (observed.count === 1) return { event, repeated: false };
    const counted = {
      ...event,
      metadata: { ...event.metadata, name: observed.name },
      firstTimestamp: observed.firstTimestamp,
      lastTimestamp: formatTime(this.#clock.now()),
      count: observed.count,
    };
    return { event: counted, repeated: true };
  }
}

function objectKey({ involvedObject }: Event): readonly unknown[] {
  const { kind, namespace, name, uid, apiVersion } = involvedObject;
  return [kind, namespace, name, uid, apiVersion];
}

function spamKey(event: Event): string {
  return JSON.stringify([event.source, ...objectKey(event)]);
}

function similarityKey(event: Event): string {
  const { source, involvedObject, type, reason, reportingComponent, reportingInstance } = event;
  return JSON.stringify([
    source,
    ...objectKey(event),
    involvedObject.fieldPath,
    type,
    reason,
    reportingComponent,
    reportingInstance,
  ]);
}

/** A map that forgets what was not asked for longest. */
class RecentlyUsed<V> {
  readonly #capacity: number;
  readonly #entries = new Map<string, V>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(key: string, create: () => V): V {
    const value = this.#entries.get(key) ?? create();
    // A Map keeps the order of insertion: what is used goes to the end.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#capacity) this.#entries.delete(this.#entries.keys().next().value!);
    return value;
  }
}
