/**
 * What an object was before: `GET .../NAME/history`, a subresource of ours that every stored resource has and whose reading is a right of
 * its own (`deployments/history`). It reaches back as far as the store remembers. ADR 7 says why it is a subresource.
 */

import { badRequest, notFound } from '../../apimachinery/status.ts';
import { formatMicroTime } from '../../apimachinery/time.ts';
import type { ApiResponse } from '../request.ts';
import { keyOf, type Operation } from './operation.ts';

const defaultLimit = 100;
const largestLimit = 1000;

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
