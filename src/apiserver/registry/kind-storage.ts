/**
 * The objects of one kind: written to the store with compare-and-set, read from the watch cache. What was acknowledged to a writer
 * is seen by every read that begins after it.
 */
import type { KubeObject } from '../../apimachinery/meta.ts';
import { deepFreeze, shareEqualParts } from '../../base/deep-freeze.ts';
import type { StoredKind } from '../served-resource.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import type { StandingObject } from '../watch-cache/member-bytes.ts';
import type { ObjectForm } from '../watch-cache/object-form.ts';
import type { ResourceCache } from '../watch-cache/resource-cache.ts';
import type { SourceStore } from '../watch-cache/source.ts';
import type { KeyHistory } from './key-history.ts';

export type WriteResult =
  | { readonly ok: true; readonly entry: CacheEntry }
  /** Somebody else was faster; `current` is what stands there now. */
  | { readonly ok: false; readonly current: CacheEntry | undefined };

export interface PageRequest {
  readonly start: string;
  readonly end: string;
  readonly limit: number;
  readonly revision: number;
}

/** The parts of the store that the registry needs, whatever form it keeps objects in. */
export interface KindStorage {
  readonly kind: StoredKind;
  readonly cache: ResourceCache;
  key(namespace: string, name: string): string;
  /** As of now: everything acknowledged before the call is in. */
  read(key: string): Promise<CacheEntry | undefined>;
  /**
   * Whether an update should write although it changes nothing: the value is encrypted with an old key, or has another form than the one
   * in which it would be written today. Asks the store only about what this release may not have written.
   */
  isStale(entry: CacheEntry): Promise<boolean>;
  /** A page as of an old revision, from the store itself. Throws `CompactedError`. */
  readPage(
    page: PageRequest,
  ): Promise<{ readonly entries: CacheEntry[]; readonly more: boolean; readonly count: number }>;
  /** The newest `limit` changes of one object, whether it still exists or not, in rising order. */
  history(key: string, limit: number): Promise<ObjectHistory>;
  /** `standing`: another object, with which it may share parts. */
  create(key: string, object: KubeObject, standing?: StandingObject): Promise<WriteResult>;
  /** In the place of `current`; what of the object says the same as there becomes the same. */
  replace(current: CacheEntry, object: KubeObject): Promise<WriteResult>;
  /** `entry` is the last state, at the revision of its removal. */
  remove(
    key: string,
    expectedRevision: number,
  ): Promise<{ readonly ok: boolean; readonly revision: number; readonly current: CacheEntry | undefined }>;
}

export interface PastVersion {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  /** Undefined: the store does not know. */
  readonly writtenAtMs: number | undefined;
  /** Of a removal: what was removed. */
  readonly entry: CacheEntry;
}

export interface ObjectHistory {
  readonly sinceRevision: number;
  /** Whether there were changes before the first item that nobody remembers. */
  readonly earlierForgotten: boolean;
  /** Changes before the first item that are remembered. */
  readonly skipped: number;
  readonly items: readonly PastVersion[];
}

export interface KindStorageOptions<V> {
  readonly kind: StoredKind;
  readonly store: SourceStore<V>;
  readonly form: ObjectForm<V>;
  readonly cache: ResourceCache<V>;
  /** Overrides the kind's own. */
  readonly ttlSeconds?: number | undefined;
  readonly isStale?: ((key: string) => boolean) | undefined;
  /** Where values lie as they are kept, if `store` shows them otherwise. */
  readonly kept?: SourceStore<V> | undefined;
}

export function kindStorage<V>(options: KindStorageOptions<V>): KindStorage {
  const { kind, store, form, cache } = options;
  const write = async (
    key: string,
    object: KubeObject,
    { expected, standing }: { readonly expected: number; readonly standing: StandingObject | undefined },
  ): Promise<WriteResult> => {
    const bare = deepFreeze(withoutRevision(object));
    const { value, members } = form.toStored(kind, bare, standing);
    cache.lend(value, { object: bare, members });
    const ttlSeconds = options.ttlSeconds ?? kind.behaviour.ttlSeconds;
    try {
      const result = await store.put(key, value, { expected, ttlSeconds });
      if (!result.ok) return { ok: false, current: result.current && cache.entryOf(result.current) };
      // What a webhook converts may come back from the store as something else than was sent there.
      if (kind.source) await cache.fresh();
      const cached = cache.get(key);
      if (cached?.revision === result.revision) return { ok: true, entry: cached };
      const createRevision = result.previous?.createRevision ?? result.revision;
      const entry = cache.entryOf({ key, value, revision: result.revision, createRevision });
      entry.lend({ object: bare, members });
      return { ok: true, entry };
    } finally {
      cache.takeBack(value);
    }
  };

  return {
    kind,
    cache: cache as unknown as ResourceCache,
    key: (namespace, name) => (kind.namespaced ? `${kind.prefix}${namespace}/${name}` : kind.prefix + name),
    async read(key) {
      await cache.fresh();
      return cache.get(key);
    },
    async isStale(entry) {
      if (options.isStale?.(entry.key)) return true;
      if (entry.isTrusted) return false;
      const { entries } = await (options.kept ?? store).range({ start: entry.key, end: `${entry.key}\0`, limit: 1 });
      const [stored] = entries;
      if (stored?.revision !== entry.revision) return false;
      const { value: written } = form.toStored(kind, withoutRevision(entry.object()));
      return options.kept
        ? form.apiVersionOf(stored.value) !== kind.hub.storageVersion
        : !form.equal(stored.value, written);
    },
    async readPage(page) {
      const { entries, more, count } = await store.range(page);
      return { entries: entries.map((entry) => cache.entryOf(entry)), more, count };
    },
    async history(key, limit) {
      const { keyHistory } = await import('./key-history.ts');
      return pastOf(await keyHistory(store, key, limit), { limit, store, cache });
    },
    create: (key, object, standing) => write(key, object, { expected: 0, standing }),
    replace: (current, object) =>
      write(current.key, shareEqualParts(object, current.object()), {
        expected: current.revision,
        standing: current.standing(),
      }),
    async remove(key, expected) {
      const result = await store.remove(key, { expected });
      if (result.ok) return { ok: true, revision: result.revision, current: undefined };
      return { ok: false, revision: 0, current: result.current && cache.entryOf(result.current) };
    },
  };
}

function pastOf<V>(
  { sinceRevision, base, events, skipped }: KeyHistory<V>,
  { limit, store, cache }: { readonly limit: number } & Pick<KindStorageOptions<V>, 'store' | 'cache'>,
): ObjectHistory {
  const writtenAtMs = (revision: number) => store.history?.timeOf(revision);
  const items = events.flatMap(({ type, key, revision, value, previous }): PastVersion[] => {
    const at = { revision, writtenAtMs: writtenAtMs(revision) };
    if (type === 'remove') return previous ? [{ ...at, type: 'DELETED', entry: cache.entryOf(previous) }] : [];
    const createRevision = previous?.createRevision ?? revision;
    const entry = cache.entryOf({ key, value: value as V, revision, createRevision });
    return [{ ...at, type: previous ? 'MODIFIED' : 'ADDED', entry }];
  });
  const earlierForgotten = base !== undefined && base.revision !== base.createRevision;
  const told = { sinceRevision, earlierForgotten };
  if (!base) return { ...told, skipped, items };
  if (items.length >= limit) return { ...told, skipped: skipped + 1, items };
  const { revision } = base;
  const type = earlierForgotten ? 'MODIFIED' : 'ADDED';
  const first: PastVersion = { type, revision, writtenAtMs: writtenAtMs(revision), entry: cache.entryOf(base) };
  return { ...told, skipped, items: [first, ...items] };
}

/** What is stored: the resourceVersion is the entry's revision and never part of the value. */
function withoutRevision(object: KubeObject): KubeObject {
  if (object.metadata.resourceVersion === undefined) return object;
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
