/**
 * What an object was before: `GET .../NAME/history`, a subresource of ours that every stored resource has and whose reading is a right of
 * its own (`deployments/history`). It reaches back as far as the store remembers. ADR 7 says why it is a subresource.
 */

import { badRequest, notFound } from '../../apimachinery/status.ts';
import { formatMicroTime } from '../../apimachinery/time.ts';
import { CompactedError, type Entry, type StoreEvent } from '../../storage/store.ts';
import type { ApiResponse } from '../request.ts';
import type { SourceStore } from '../watch-cache/source.ts';
import { keyOf, type Operation } from './operation.ts';

/** Changes of one key, in rising order. */
export interface KeyHistory<V> {
  /** From where on nothing is missing but what `skipped` says. */
  readonly sinceRevision: number;
  /** What stood there at `sinceRevision`, which may have been written long before. */
  readonly base: Entry<V> | undefined;
  readonly events: readonly StoreEvent<V>[];
  /** Older changes than these that the store still knows. */
  readonly skipped: number;
}

const defaultLimit = 100;
const largestLimit = 1000;

/** The newest `limit` changes. Older ones are only counted, so that a key with a long history needs no more memory than one with a short one. */
export async function keyHistory<V>(store: SourceStore<V>, key: string, limit: number): Promise<KeyHistory<V>> {
  const range = { start: key, end: `${key}\0` };
  for (let since = Math.max(1, store.compactedRevision); ; ) {
    try {
      // First, for a watch that comes too late is told by etcd from where on it may begin, and a read is not.
      const { events, skipped } = await changesAfter(store, { ...range, afterRevision: since }, limit);
      const { entries } = await store.range({ ...range, revision: since, limit: 1 });
      return { sinceRevision: since, base: entries[0], events, skipped };
    } catch (error) {
      // Somebody has compacted it meanwhile, or another server long ago.
      if (!(error instanceof CompactedError) || error.compactedRevision <= since) throw error;
      since = error.compactedRevision;
    }
  }
}

function changesAfter<V>(
  store: SourceStore<V>,
  range: { readonly start: string; readonly end: string; readonly afterRevision: number },
  limit: number,
): Promise<{ readonly events: readonly StoreEvent<V>[]; readonly skipped: number }> {
  const upTo = store.revision;
  if (upTo <= range.afterRevision) return Promise.resolve({ events: [], skipped: 0 });
  return new Promise((resolve, reject) => {
    let events: StoreEvent<V>[] = [];
    let skipped = 0;
    const finish = () => {
      subscription.close();
      resolve({ events, skipped });
    };
    const subscription = store.watch(range, {
      onEvents(batch) {
        events.push(...batch.filter(({ revision }) => revision <= upTo));
        const surplus = Math.max(0, events.length - limit);
        skipped += surplus;
        events = events.slice(surplus);
        if (batch.at(-1)!.revision >= upTo) finish();
      },
      onProgress(revision) {
        if (revision >= upTo) finish();
      },
      onError: reject,
    });
  });
}

export async function history(operation: Operation): Promise<ApiResponse> {
  const { storage, info, resource, request } = operation;
  const limit = limitFrom(request.query.get('limit'));
  await storage.cache.fresh();
  const found = await storage.history(keyOf(operation), limit);
  if (found.items.length === 0) throw notFound(resource.row, info.name);
  const items = found.items.map(({ type, revision, writtenAtMs, entry }) => ({
    type,
    revision: String(revision),
    ...(writtenAtMs === undefined ? {} : { time: formatMicroTime(writtenAtMs) }),
    object: entry.objectIn(resource),
  }));
  const body = {
    kind: 'ObjectHistory',
    apiVersion: 'coracle/v1',
    metadata: { name: info.name, ...(info.namespace === '' ? {} : { namespace: info.namespace }) },
    sinceRevision: String(found.sinceRevision),
    earlierForgotten: found.earlierForgotten,
    skipped: found.skipped,
    items,
  };
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: { kind: 'bytes', chunks: [Buffer.from(JSON.stringify(body))], object: () => body },
  };
}

function limitFrom(text: string | null | undefined): number {
  if (text === null || text === undefined) return defaultLimit;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > largestLimit)
    throw badRequest(`limit must be a number from 1 to ${largestLimit}`);
  return limit;
}
