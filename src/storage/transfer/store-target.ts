/**
 * Writes a source's objects into an open store, which gives them revisions of its own. Safe to repeat after an interruption: what is there
 * already as it must be is left alone.
 *
 * Revisions must not fall for those who knew the source, or they would wait for ever for changes that have happened and take new objects
 * for old ones. So the store's revision is raised above the source's by writes that mean nothing, and its history is then compacted:
 * whoever watched from before is told that it is gone (410), and lists anew.
 */
import { prefixEnd, type Store } from '../store.ts';
import { Digests } from './digests.ts';
import { type StoredObject, type Told, TransferError, type TransferSource, tellEvery } from './transfer.ts';

export interface StoreTargetOptions {
  /** What all keys begin with; anything else of the source is its own business and stays there. */
  readonly prefix: string;
  /** Which of them belong here, where a cluster has several stores; default: all. */
  keeps?(key: string): boolean;
  /** Make a store that holds something equal to the source. Default: it is refused. */
  readonly replace?: boolean;
  /** The store's revision afterwards is at least this one. */
  readonly revision: number;
  readonly nowMs: number;
  readonly told?: Told | undefined;
  readonly toldRaising?: Told | undefined;
}

const writesAtOnce = 64;
/** Some minutes' worth. */
const mostRaised = 1_000_000;
const pageLimit = 2000;

/** Rejects where the store cannot be filled, before anything is written: of several stores of one cluster all are asked first. */
export async function checkTarget(
  store: Store<Buffer>,
  source: TransferSource,
  { prefix, replace = false, revision, keeps }: StoreTargetOptions,
): Promise<void> {
  const present = await store.range({ start: prefix, end: prefixEnd(prefix), limit: 1 });
  if (present.count > 0 && !replace) throw new TransferError(`the target holds ${present.count} objects already`);
  // How many belong here is not known where not all do.
  const missing = revision - present.revision - (keeps ? 0 : source.count);
  if (missing > mostRaised)
    throw new TransferError(
      `the target's revision would have to be raised from ${present.revision} to ${revision}, by more than ${mostRaised} writes`,
    );
}

/** Resolves to the number of objects. */
export async function fillStore(
  store: Store<Buffer>,
  source: TransferSource,
  options: StoreTargetOptions,
): Promise<number> {
  await checkTarget(store, source, options);
  const everything = { start: options.prefix, end: prefixEnd(options.prefix) };
  const digests = await copy(store, source, options);
  for await (const { key } of pages(store, everything)) if (!digests.has(key)) await store.remove(key);
  for await (const { key, value } of pages(store, everything)) digests.meet(key, value);
  digests.finish();
  await raise(store, options);
  return digests.size;
}

async function copy(store: Store<Buffer>, source: TransferSource, options: StoreTargetOptions): Promise<Digests> {
  const { prefix, told, keeps = () => true } = options;
  const digests = new Digests();
  const write = async (object: StoredObject) => {
    const { key, value } = object;
    const ttlSeconds = ttlOf(object, options.nowMs);
    const current = options.replace ? await store.get(key) : undefined;
    if (!current || !digests.matches(key, current.value)) await store.put(key, value, { ttlSeconds });
  };
  let done = 0;
  await inParallel(source.read(), async (object) => {
    if (++done % tellEvery === 0) told?.(done, source.count);
    if (!object.key.startsWith(prefix) || !keeps(object.key)) return;
    // What has ended on the way is not brought back.
    if (object.expiresAtMs > 0 && object.expiresAtMs <= options.nowMs) return;
    digests.add(object.key, object.value);
    await write(object);
  });
  return digests;
}

function ttlOf({ expiresAtMs }: StoredObject, nowMs: number): number | undefined {
  return expiresAtMs === 0 ? undefined : Math.max(1, Math.ceil((expiresAtMs - nowMs) / 1000));
}

async function raise(store: Store<Buffer>, { prefix, revision, toldRaising }: StoreTargetOptions): Promise<void> {
  const before = (await store.currentRevision?.()) ?? store.revision;
  const all = revision - before;
  const keys = Array.from({ length: writesAtOnce }, (_, i) => `${prefix}coracle-migration/${i}`);
  let done = 0;
  const raiseWith = async (key: string) => {
    while (done < all) {
      done++;
      await store.put(key, Buffer.from('raises the revision'));
      if (done % tellEvery === 0) toldRaising?.(done, all);
    }
    await store.remove(key);
  };
  if (all > 0) await Promise.all(keys.map(raiseWith));
  await store.compact((await store.currentRevision?.()) ?? store.revision);
}

async function* pages(store: Store<Buffer>, { start, end }: { readonly start: string; readonly end: string }) {
  let from = start;
  for (;;) {
    const { entries, more } = await store.range({ start: from, end, limit: pageLimit });
    yield* entries;
    const last = entries.at(-1);
    if (!more || !last) return;
    from = `${last.key}\0`;
  }
}

/** Takes the next when one of those at work is done. */
async function inParallel<T>(items: AsyncIterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const iterator = items[Symbol.asyncIterator]();
  let reading: Promise<unknown> = Promise.resolve();
  const next = (): Promise<IteratorResult<T>> => {
    const result = reading.then(() => iterator.next());
    reading = result.catch(() => {});
    return result;
  };
  const worker = async () => {
    for (let item = await next(); !item.done; item = await next()) await work(item.value);
  };
  await Promise.all(Array.from({ length: writesAtOnce }, worker));
}
