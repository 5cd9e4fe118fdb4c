/**
 * The registry's machinery over one store, and others where some resources lie: a feed each, a cache per kind made on first use, and what operations share. Generic over the
 * form in which the store keeps objects; beyond this file nobody knows which it is.
 */
import { type LabelMatcher, parseLabelSelector } from '../../apimachinery/labels.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Store } from '../../storage/store.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { wholeObjects } from '../encoding/representations.ts';
import type { ServedResources } from '../resources.ts';
import type { ServedResource, StoredKind } from '../served-resource.ts';
import { decodedPool } from '../watch-cache/cache-entry.ts';
import { type Representation, retoldEvents } from '../watch-cache/cache-event.ts';
import { Delivery } from '../watch-cache/delivery.ts';
import { type Envelope, envelopeOf } from '../watch-cache/encoded-object.ts';
import type { ObjectForm } from '../watch-cache/object-form.ts';
import { ResourceCache } from '../watch-cache/resource-cache.ts';
import type { Source } from '../watch-cache/source.ts';
import { StoreFeed } from '../watch-cache/store-feed.ts';
import { type KindStorage, kindStorage } from './kind-storage.ts';
import { FieldSetPool, SpecPool } from './makings.ts';
import type { RegistryEnvironment } from './operation.ts';
import { noHooks, type ResourceHooks } from './resource-hooks.ts';
import type { WatchLifetimes } from './watch-lifetimes.ts';

/** A store of its own for some of the built-in resources: its revisions have no order with those of the others. */
export interface FurtherStore<V> {
  readonly store: Store<V>;
  /** See `ApiStore`. */
  readonly isStale?: ((key: string) => boolean) | undefined;
  /** By name, as in `events`, `deployments.apps`. */
  keeps(resource: string): boolean;
}

export interface EnvironmentOptions<V> {
  readonly resources: ServedResources;
  readonly store: Store<V>;
  /** Asked when the first storage is made. */
  readonly form: () => ObjectForm<V>;
  /** See `ApiStore`. */
  readonly isStale?: ((key: string) => boolean) | undefined;
  readonly further?: readonly FurtherStore<V>[] | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly watchLifetimes: WatchLifetimes;
  readonly log: Log;
  readonly admission: () => AdmissionChain;
  readonly authorizer: () => Authorizer;
  /** By resource, as in `services`, `deployments.apps`. */
  readonly hooks: ReadonlyMap<string, ResourceHooks>;
  /** Values written after this revision need not be checked for an older encoding. */
  readonly trustedAfter: () => number;
  /** Seconds until an Event is forgotten. */
  readonly eventTtlSeconds?: number | undefined;
  readonly featureGates?: Readonly<Record<string, boolean>> | undefined;
  /** See `RegistryEnvironment`; default: as far as the store does. */
  readonly pagesReachBackTo?: (() => number) | undefined;
}

export interface Environment extends RegistryEnvironment {
  /** Up to where the store has come. */
  revision(): number;
  /** Calls back once, when something first changes below this prefix. */
  onFirst(prefix: string, callback: () => void): void;
  /** Storages that somebody has asked for. */
  storages(): IterableIterator<KindStorage>;
  close(): void;
}

/** Label selectors kept parsed. */
const selectorCapacity = 1000;

export function createEnvironment<V>(options: EnvironmentOptions<V>): Environment {
  const { store, clock, random, log } = options;
  const shared = { pool: decodedPool(clock), retold: retoldEvents(clock), delivery: new Delivery(clock, log) };
  const storages = new Map<StoredKind, KindStorage>();
  const envelopes = new Map<ServedResource, Envelope>();
  const representations = {
    json: new Map<ServedResource, Representation>(),
    protobuf: new Map<ServedResource, Representation>(),
  };
  const places = placesOf(options);

  const envelope = (resource: ServedResource) =>
    remember(envelopes, resource, () => envelopeOf(resource.apiVersion, resource.row.kind));
  const makeStorage = (kind: StoredKind): KindStorage => {
    const trustedAfter = Math.max(kind.trustedAfter ?? 0, options.trustedAfter());
    const form = options.form();
    const { isStale, ...place } = places.of(kind);
    const stored: Source<V> = { keepsObjects: form.keepsObjects, ...place };
    const source = kind.source?.(stored) ?? stored;
    const cache = new ResourceCache<V>({ kind, form, source, ...shared, clock, log, trustedAfter });
    const ttlSeconds = kind.name === 'events' ? options.eventTtlSeconds : undefined;
    const kept = kind.source ? store : undefined;
    return kindStorage({ kind, store: source.store, kept, form, cache, ttlSeconds, isStale });
  };
  options.resources.onChange((gone) => gone.forEach(forget));
  /** What was served ends its watches and gives everything back. */
  const forget = (kind: StoredKind) => {
    storages.get(kind)?.cache.detach();
    storages.delete(kind);
    for (const served of kind.versions.values()) {
      envelopes.delete(served);
      representations.json.delete(served);
      representations.protobuf.delete(served);
    }
  };
  const storageOf = (kind: StoredKind) => remember(storages, kind, () => makeStorage(kind));
  return {
    clock,
    random,
    log,
    admission: options.admission,
    authorizer: options.authorizer,
    ...knownParts(),
    featureGates: options.featureGates,
    watchLifetimes: options.watchLifetimes,
    scans: { active: 0 },
    pagesReachBackTo: options.pagesReachBackTo ?? (() => 0),
    nowText: secondsOf(clock),
    labelSelector: parsedSelectors(),
    storageOf,
    storageNamed(name) {
      const kind = options.resources.storedNamed(name);
      return kind && storageOf(kind);
    },
    hooksOf: (kind) => options.hooks.get(kind.name) ?? noHooks,
    envelopeOf: envelope,
    representationOf: (resource, wire) =>
      remember(representations[wire], resource, () => wholeObjects(resource, envelope(resource), wire)),
    storages: () => storages.values(),
    revision: () => store.revision,
    onFirst: (prefix, callback) => places.home.feed.onFirst(prefix, callback),
    close() {
      for (const { cache } of storages.values()) cache.close();
      shared.pool.close();
      shared.retold.close();
      places.close();
    },
  };
}

/** What is remembered of parts of objects that were seen before. */
function knownParts(): Pick<RegistryEnvironment, 'fieldSets' | 'specs' | 'validSpecs' | 'completeParts'> {
  return {
    fieldSets: new FieldSetPool(),
    specs: new SpecPool(),
    validSpecs: new WeakMap(),
    completeParts: new WeakSet(),
  };
}

function parsedSelectors(): RegistryEnvironment['labelSelector'] {
  const known = new Map<string, LabelMatcher>();
  return (text) => {
    if (known.size >= selectorCapacity) known.clear();
    return remember(known, text, () => parseLabelSelector(text));
  };
}

/** Where kinds lie, each place with the one feed that it has once somebody asks for it. */
function placesOf<V>({ store, isStale, further = [], clock, log }: EnvironmentOptions<V>) {
  const home = { store, isStale, feed: new StoreFeed({ store, clock, log }) };
  const feeds = new Map([[store, home.feed]]);
  return {
    home,
    of({ name, custom }: StoredKind): typeof home {
      const place = custom ? undefined : further.find(({ keeps }) => keeps(name));
      if (!place) return home;
      const feed = remember(feeds, place.store, () => new StoreFeed({ store: place.store, clock, log }));
      return { store: place.store, isStale: place.isStale, feed };
    },
    close() {
      for (const feed of feeds.values()) feed.close();
    },
  };
}

/** Formats each second once, for thousands of objects may be stamped with it. */
function secondsOf(clock: Clock): () => string {
  let second = Number.NaN;
  let text = '';
  return () => {
    const now = Math.floor(clock.now() / 1000);
    if (now !== second) {
      second = now;
      text = formatTime(now * 1000);
    }
    return text;
  };
}

function remember<K, T>(known: Map<K, T>, key: K, make: () => T): T {
  let value = known.get(key);
  if (value === undefined) {
    value = make();
    known.set(key, value);
  }
  return value;
}
