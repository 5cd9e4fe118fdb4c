/**
 * Reading: one object, or a page of many. All versions a client may ask for come out of the cache, except exactly an old one, which
 * the store has to remember.
 */
import { badRequest, expired, notFound, StatusError, statusError } from '../../apimachinery/status.ts';
import { withTimeout } from '../../base/clock.ts';
import { CompactedError, FutureRevisionError, prefixEnd } from '../../storage/store.ts';
import type { ListPage } from '../encoding/list-encoding.ts';
import { replyWithEntry, replyWithList } from '../encoding/replies.ts';
import type { ApiResponse } from '../request.ts';
import { isTrue } from '../request-info.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import { matchesSelectors, type Selection } from '../watch-cache/selection.ts';
import { decodeContinue, encodeContinue } from './continue-token.ts';
import { checkResourceVersion, type ListOptions, parseListOptions } from './list-options.ts';
import { keyOf, type Operation } from './operation.ts';

const waitForRevisionMs = 3000;

export async function get(operation: Operation): Promise<ApiResponse> {
  const { storage, request, info, resource } = operation;
  if (isTrue(request.query.get('export'))) {
    throw badRequest('the export parameter, deprecated since v1.14, is no longer supported');
  }
  const resourceVersion = request.query.get('resourceVersion') ?? '';
  checkResourceVersion(resourceVersion, 'get');
  await reachVersion(operation, resourceVersion);
  const entry = storage.cache.get(keyOf(operation));
  if (!entry) throw notFound(resource.row, info.name);
  return replyWithEntry(operation.reply, entry);
}

export async function list(operation: Operation): Promise<ApiResponse> {
  return replyWithList(operation.reply, await listPage(operation, parseListOptions(operation)));
}

/** One page, or everything when there is no limit. */
export async function listPage(operation: Operation, options: ListOptions): Promise<ListPage> {
  const prefix = prefixOf(operation, options.selection);
  if (options.continue !== '') return continuePage(operation, options, prefix);
  if (options.match === 'Exact' || isExactByLimit(options)) {
    await reachVersion(operation, options.resourceVersion);
    const revision = Number(options.resourceVersion);
    const isPast = revision < operation.environment.pagesReachBackTo();
    return oldPage(operation, options, { prefix, start: prefix, revision, isPast });
  }
  await reachVersion(operation, options.resourceVersion);
  // As upstream: whoever takes whatever is at hand takes it whole.
  const limit = options.resourceVersion === '0' ? 0 : options.limit;
  return cachedPage(operation, { ...options, limit }, { prefix, start: prefix });
}

/** As upstream: a limit with a version but without a word on how to match it means exactly that version. */
function isExactByLimit({ limit, match, resourceVersion }: ListOptions): boolean {
  return limit > 0 && match === '' && resourceVersion !== '' && resourceVersion !== '0';
}

/** Waits until the cache shows what the client may rely on. `''`: everything acknowledged; `0`: whatever there is. */
export async function reachVersion({ storage, environment }: Operation, resourceVersion: string): Promise<void> {
  if (resourceVersion === '') return storage.cache.fresh();
  const loading = storage.cache.ready();
  if (loading) await loading;
  const wanted = Number(resourceVersion);
  const reached = storage.cache.reach(wanted);
  if (!reached) return;
  await withTimeout(environment.clock, reached, waitForRevisionMs, () =>
    tooLargeVersion(wanted, storage.cache.revision),
  );
}

function prefixOf({ kind }: Operation, { namespace }: Selection): string {
  return kind.namespaced && namespace ? `${kind.prefix}${namespace}/` : kind.prefix;
}

async function continuePage(operation: Operation, options: ListOptions, prefix: string): Promise<ListPage> {
  const token = decodeContinue(options.continue);
  if (options.resourceVersion !== '' && options.resourceVersion !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  const start = prefix + token.start;
  if (token.revision >= 0) {
    const { revision, isPast = false } = token;
    if (!isPast && revision < operation.environment.pagesReachBackTo()) throw expiredPage(token.start);
    await reachVersion(operation, String(revision));
    return oldPage(operation, options, { prefix, start, revision, isPast });
  }
  await operation.storage.cache.fresh();
  return cachedPage(operation, options, { prefix, start });
}

interface PageStart {
  readonly prefix: string;
  readonly start: string;
}

/** How long all lists together may keep the loop to themselves while they look for what matches. */
const sliceMs = 4;
const sliceEntries = 8;

async function cachedPage(operation: Operation, options: ListOptions, { prefix, start }: PageStart): Promise<ListPage> {
  const { storage, kind } = operation;
  const { cache } = storage;
  const { selection, limit } = options;
  const { revision } = cache;
  const end = prefixEnd(prefix);
  const single = selection.name !== undefined && (!kind.namespaced || selection.namespace);
  if (single) {
    const entry = cache.get(storage.key(selection.namespace ?? '', selection.name!));
    const entries = entry && matchesSelectors(selection, entry) ? [entry] : [];
    return { entries, revision, continue: undefined, remainingItemCount: undefined };
  }
  const everything = selection.labels.empty && selection.fields.empty;
  const all: CacheEntry[] = [];
  cache.visit(start, end, (entry) => {
    all.push(entry);
    return !everything || limit === 0 || all.length <= limit;
  });
  if (everything) {
    const more = limit > 0 && all.length > limit;
    const entries = more ? all.slice(0, limit) : all;
    const remaining = more ? cache.count(start, end) - limit : undefined;
    return pageOf(entries, { prefix, revision, more, remaining });
  }
  const found = await matching(operation, all, options);
  const more = limit > 0 && found.length > limit;
  return pageOf(more ? found.slice(0, limit) : found, { prefix, revision, more, remaining: undefined });
}

/** Those that match, and one more than the limit if there is one. Others get a turn now and then, for each entry may have to be decoded. */
async function matching(
  { environment }: Operation,
  all: readonly CacheEntry[],
  options: ListOptions,
): Promise<CacheEntry[]> {
  const { clock, scans } = environment;
  const { selection, limit } = options;
  const found: CacheEntry[] = [];
  scans.active++;
  try {
    let sliceEnd = clock.monotonic() + sliceMs / scans.active;
    for (let i = 0; i < all.length; i++) {
      const entry = all[i]!;
      if (matchesSelectors(selection, entry)) found.push(entry);
      if (limit > 0 && found.length > limit) break;
      if (i % sliceEntries !== 0 || clock.monotonic() < sliceEnd) continue;
      await new Promise<void>((resolve) => clock.soon(resolve));
      sliceEnd = clock.monotonic() + sliceMs / scans.active;
    }
    return found;
  } finally {
    scans.active--;
  }
}

/** From the store, as of an old revision; selectors are applied to page after page until enough is found. */
async function oldPage(
  operation: Operation,
  options: ListOptions,
  at: PageStart & { readonly revision: number; readonly isPast: boolean },
): Promise<ListPage> {
  const { storage } = operation;
  const { selection, limit } = options;
  const { prefix, revision, isPast } = at;
  const end = prefixEnd(prefix);
  const everything = selection.labels.empty && selection.fields.empty;
  const entries: CacheEntry[] = [];
  let { start } = at;
  try {
    for (;;) {
      const page = await storage.readPage({ start, end, revision, limit: limit > 0 ? limit - entries.length + 1 : 0 });
      for (const entry of page.entries) {
        if (limit > 0 && entries.length === limit) {
          const remaining = everything ? page.count - limit : undefined;
          return pageOf(entries, { prefix, revision, more: true, remaining, isPast });
        }
        if (everything || matchesSelectors(selection, entry)) entries.push(entry);
        start = `${entry.key}\0`;
      }
      if (!page.more) return pageOf(entries, { prefix, revision, more: false, remaining: undefined });
    }
  } catch (error) {
    throw tooOld(error, options, start.slice(prefix.length));
  }
}

interface PageEnd {
  readonly prefix: string;
  readonly revision: number;
  readonly more: boolean;
  readonly remaining: number | undefined;
  readonly isPast?: boolean;
}

function pageOf(entries: readonly CacheEntry[], end: PageEnd): ListPage {
  const { prefix, revision, more, remaining, isPast = false } = end;
  const last = entries.at(-1);
  if (!more || !last) return { entries, revision, continue: undefined, remainingItemCount: undefined };
  const token = encodeContinue({ revision, start: `${last.key.slice(prefix.length)}\0`, isPast });
  return { entries, revision, continue: token, remainingItemCount: remaining };
}

const tooOldForPaging =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

function tooOld(error: unknown, options: ListOptions, start: string): unknown {
  if (error instanceof FutureRevisionError) return tooLargeVersion(Number(options.resourceVersion), error.revision);
  if (!(error instanceof CompactedError)) return error;
  if (options.continue === '') return expired('The resourceVersion for the provided list is too old.');
  return expiredPage(start);
}

function expiredPage(start: string): StatusError {
  const { status } = expired(tooOldForPaging);
  return new StatusError({ ...status, metadata: { continue: encodeContinue({ revision: -1, start }) } });
}

/** 504: the client knows a version that this server has not reached. */
function tooLargeVersion(wanted: number, current: number): Error {
  return statusError({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: Too large resource version: ${wanted}, current: ${current}`,
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
}
