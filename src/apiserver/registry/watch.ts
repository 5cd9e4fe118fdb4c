/**
 * Watching: what a watch begins with, when it ends, and what it tells in between. The stream itself is the cache's.
 *
 * A watch without a version (or with `0`) first tells the present state as ADDED events; with a version it goes on from there, or
 * tells in one ERROR event that the version is too old. `sendInitialEvents` closes the state with a bookmark.
 */
import type { KubeObject } from '../../apimachinery/meta.ts';
import { expired } from '../../apimachinery/status.ts';
import { prefixEnd } from '../../storage/store.ts';
import type { Output } from '../encoding/negotiation.ts';
import { table } from '../encoding/replies.ts';
import { transformedObjects } from '../encoding/representations.ts';
import type { ApiResponse } from '../request.ts';
import { asksWebSocket } from '../request-info.ts';
import { bookmarkTable, partialMetadata } from '../table/table.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import type { Representation, Wire } from '../watch-cache/cache-event.ts';
import type { CacheWatcher } from '../watch-cache/cache-watcher.ts';
import type { Selection } from '../watch-cache/selection.ts';
import { type ListOptions, parseListOptions } from './list-options.ts';
import type { Operation } from './operation.ts';
import { reachVersion } from './read.ts';

const bookmarkBeforeEndMs = 2000;

export async function watch(operation: Operation): Promise<ApiResponse> {
  const { reply } = operation;
  const options = parseListOptions(operation);
  const watcher = await begin(operation, options);
  endInTime(operation, watcher, options);
  const headers: Record<string, string> = { 'content-type': contentTypeOf(reply.output) };
  const status = asksWebSocket(operation.request) ? 101 : 200;
  return { status, headers, body: { kind: 'watch', events: watcher } };
}

function wireOf({ format }: Output): Wire {
  return format.name === 'protobuf' ? 'protobuf' : 'json';
}

function contentTypeOf({ format }: Output): string {
  return format.streamMediaType ?? format.mediaType;
}

async function begin(operation: Operation, options: ListOptions): Promise<CacheWatcher> {
  const { storage } = operation;
  const { resourceVersion, sendInitialEvents, selection } = options;
  const withState = sendInitialEvents ?? (resourceVersion === '' || resourceVersion === '0');
  // A watch that only follows need not be told about the past, but one that tells the state must tell the newest.
  await reachVersion(operation, withState ? resourceVersion : resourceVersion === '' ? '' : '0');
  const follows = !withState && resourceVersion !== '' && resourceVersion !== '0';
  // What happened before this server's time the store may still know; what it does not is refused below.
  const recalling = follows ? storage.cache.recall(Number(resourceVersion)) : undefined;
  if (recalling) await recalling;
  const watcher = storage.cache.watch({
    selection,
    representation: representationFor(operation),
    wantsBookmarks: options.allowWatchBookmarks,
  });
  if (withState) {
    watcher.begin(stateOf(operation, selection));
    if (sendInitialEvents && options.allowWatchBookmarks) {
      watcher.push(watcher.representation.bookmark(storage.cache.revision, true));
    }
  } else if (follows) {
    replay(operation, watcher, Number(resourceVersion));
  }
  return watcher;
}

function replay({ storage }: Operation, watcher: CacheWatcher, revision: number): void {
  const { cache } = storage;
  if (cache.replay(watcher, revision)) return;
  const { status } = expired(`too old resource version: ${revision} (${cache.oldestRevision})`);
  watcher.end(watcher.representation.error(status));
}

/** The objects of the selection's place; whether they match is looked at when they are told. */
function stateOf({ storage, kind }: Operation, selection: Selection): readonly CacheEntry[] {
  const { cache } = storage;
  const { namespace, name } = selection;
  if (name !== undefined && (namespace || !kind.namespaced)) {
    const entry = cache.get(storage.key(namespace ?? '', name));
    return entry ? [entry] : [];
  }
  const prefix = kind.namespaced && namespace ? `${kind.prefix}${namespace}/` : kind.prefix;
  const entries: CacheEntry[] = [];
  cache.visit(prefix, prefixEnd(prefix), (entry) => {
    entries.push(entry);
    return true;
  });
  return entries;
}

/** Watchers of whole objects share one representation per served version; transformed ones have their own. */
function representationFor({ environment, resource, reply }: Operation): Representation {
  const { transform } = reply.output;
  const wire = wireOf(reply.output);
  if (!transform) return environment.representationOf(resource, wire);
  if (transform.as !== 'Table') {
    const partial = (object: KubeObject) => partialMetadata(object, transform.version);
    return transformedObjects(resource, wire, { frame: partial, bookmark: partial });
  }
  let headers = true;
  return transformedObjects(resource, wire, {
    frame(served, hub) {
      const { resourceVersion = '' } = served.metadata;
      const told = table(reply, transform, [{ served, hub }], { metadata: { resourceVersion }, headers });
      headers = false;
      return told;
    },
    bookmark: (object) => bookmarkTable(object, transform.version),
  });
}

function endInTime({ environment, request, storage }: Operation, watcher: CacheWatcher, options: ListOptions): void {
  // A version from before what is remembered ended it already.
  if (watcher.ended) return;
  const { clock, watchLifetimes } = environment;
  const lifetimeMs = watchLifetimes.lifetimeMs(options.timeoutSeconds ?? 0);
  const cancel = () => watcher.cancel();
  request.signal.addEventListener('abort', cancel, { once: true });
  const bookmarkTimer =
    options.allowWatchBookmarks && lifetimeMs > bookmarkBeforeEndMs
      ? clock.after(lifetimeMs - bookmarkBeforeEndMs, () =>
          watcher.push(watcher.representation.bookmark(storage.cache.revision)),
        )
      : undefined;
  const end = () => watcher.end();
  const endTimer = clock.after(lifetimeMs, end);
  const forget = watchLifetimes.add(end);
  watcher.onEnd(() => {
    bookmarkTimer?.cancel();
    endTimer.cancel();
    forget();
    request.signal.removeEventListener('abort', cancel);
  });
  if (request.signal.aborted) cancel();
}
