/**
 * The store and its feed as one version of a custom resource sees them when a webhook converts: values come and go in that version, whatever
 * version they are kept in. Everything above (cache, registry, watches) works as if there were no other version.
 *
 * The feed hands on what it is told only when it is converted, in order; how new the cache is, is told accordingly. When the webhook fails
 * the cache is emptied: whoever reads next asks the webhook again and gets its failure as an answer.
 */
import { parseJson } from '../../../apimachinery/exact-json.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import { deepFreeze } from '../../../base/deep-freeze.ts';
import type { Log } from '../../../base/log.ts';
import type { CommitResult, Entry, StoreEvent } from '../../../storage/store.ts';
import type { Source, SourceFeed, SourceStore } from '../../watch-cache/source.ts';
import type { FeedSink } from '../../watch-cache/store-feed.ts';
import { encodeCustom } from '../custom-codec.ts';
import type { Convert } from './webhook-conversion.ts';

export interface ConversionTarget {
  readonly convert: Convert;
  /** The version that is seen. */
  readonly apiVersion: string;
  /** The version that is kept. */
  readonly storageApiVersion: string;
  readonly log: Log;
}

/** Objects asked about in one review. */
const reviewSize = 500;

export function convertedSource<V>(source: Source<V>, target: ConversionTarget): Source<V> {
  const values = new ConvertedValues<V>(target, source.keepsObjects);
  return {
    keepsObjects: source.keepsObjects,
    store: convertedStore(source.store, values),
    feed: new ConvertedFeed(source.feed, values, target.log),
  };
}

class ConvertedValues<V> {
  readonly #target: ConversionTarget;
  readonly #keepsObjects: boolean;

  constructor(target: ConversionTarget, keepsObjects: boolean) {
    this.#target = target;
    this.#keepsObjects = keepsObjects;
  }

  async stored(value: V): Promise<V> {
    const { convert, storageApiVersion } = this.#target;
    const [object] = await convert([this.#read(value)], storageApiVersion);
    return this.#write(object!);
  }

  async entries(entries: readonly Entry<V>[]): Promise<Entry<V>[]> {
    const values = await this.#seen(entries.map(({ value }) => value));
    return entries.map((entry, index) => ({ ...entry, value: values[index]! }));
  }

  async entry(entry: Entry<V> | undefined): Promise<Entry<V> | undefined> {
    return entry && (await this.entries([entry]))[0];
  }

  async events(events: readonly StoreEvent<V>[]): Promise<StoreEvent<V>[]> {
    const present = events
      .flatMap(({ value, previous }) => [value, previous?.value])
      .filter((value) => value !== undefined);
    const next = (await this.#seen(present)).values();
    return events.map((event) => ({
      ...event,
      value: event.value === undefined ? undefined : next.next().value,
      previous: event.previous && { ...event.previous, value: next.next().value! },
    }));
  }

  async #seen(values: readonly V[]): Promise<V[]> {
    const { convert, apiVersion } = this.#target;
    const seen: V[] = [];
    for (let start = 0; start < values.length; start += reviewSize) {
      const some = values.slice(start, start + reviewSize);
      const objects = await convert(
        some.map((value) => this.#read(value)),
        apiVersion,
      );
      seen.push(...objects.map((object) => this.#write(object)));
    }
    return seen;
  }

  #read(value: V): KubeObject {
    return this.#keepsObjects
      ? (value as KubeObject)
      : (parseJson(Buffer.from(value as Uint8Array).toString('utf8')) as KubeObject);
  }

  #write(object: KubeObject): V {
    return (this.#keepsObjects ? deepFreeze(object) : encodeCustom(object, object.apiVersion!)) as V;
  }
}

function convertedStore<V>(store: SourceStore<V>, values: ConvertedValues<V>): SourceStore<V> {
  const seen = async (result: CommitResult<V>): Promise<CommitResult<V>> =>
    result.ok ? result : { ok: false, current: await values.entry(result.current) };
  return {
    get revision() {
      return store.revision;
    },
    get compactedRevision() {
      return store.compactedRevision;
    },
    get history() {
      return store.history;
    },
    currentRevision: async () => (await store.currentRevision?.()) ?? store.revision,
    async range(options) {
      const result = await store.range(options);
      return { ...result, entries: await values.entries(result.entries) };
    },
    put: async (key, value, options) => seen(await store.put(key, await values.stored(value), options)),
    remove: async (key, options) => seen(await store.remove(key, options)),
    watch(options, watcher) {
      let last: Promise<void> = Promise.resolve();
      const inOrder = (step: () => void | Promise<void>) => {
        last = last.then(step).catch((error: Error) => {
          subscription.close();
          watcher.onError(error);
        });
      };
      const subscription = store.watch(options, {
        onEvents: (events) => inOrder(async () => watcher.onEvents(await values.events(events))),
        onProgress: (revision) => inOrder(() => watcher.onProgress?.(revision)),
        onError: (error) => inOrder(() => watcher.onError(error)),
      });
      return subscription;
    },
  };
}

class ConvertedFeed<V> implements SourceFeed<V> {
  readonly #feed: SourceFeed<V>;
  readonly #values: ConvertedValues<V>;
  readonly #log: Log;
  readonly #sinks = new Map<FeedSink<V>, FeedSink<V>>();
  #last: Promise<void> = Promise.resolve();
  /** Batches that are being converted. */
  #pending = 0;
  #revision = 0;

  constructor(feed: SourceFeed<V>, values: ConvertedValues<V>, log: Log) {
    this.#feed = feed;
    this.#values = values;
    this.#log = log;
  }

  get revision(): number {
    return this.#pending === 0 ? this.#feed.revision : this.#revision;
  }

  attach(prefix: string, sink: FeedSink<V>): void {
    const converting = {
      apply: (events: readonly StoreEvent<V>[]) => this.#apply(sink, events),
      reset: () => sink.reset(),
    };
    this.#sinks.set(sink, converting);
    this.#feed.attach(prefix, converting);
  }

  detach(prefix: string, sink: FeedSink<V>): void {
    const converting = this.#sinks.get(sink);
    if (converting) this.#feed.detach(prefix, converting);
    this.#sinks.delete(sink);
  }

  reach(revision: number): Promise<void> | undefined {
    if (this.revision >= revision) return undefined;
    return this.#reach(revision);
  }

  async #reach(revision: number): Promise<void> {
    await this.#feed.reach(revision);
    await this.#last;
  }

  #apply(sink: FeedSink<V>, events: readonly StoreEvent<V>[]): void {
    if (this.#pending === 0) this.#revision = events[0]!.revision - 1;
    this.#pending++;
    this.#last = this.#last.then(async () => {
      try {
        sink.apply(await this.#values.events(events));
      } catch (error) {
        this.#log.warn('what was stored cannot be converted', { error: String(error) });
        sink.reset();
      }
      this.#revision = events.at(-1)!.revision;
      this.#pending--;
    });
  }
}
