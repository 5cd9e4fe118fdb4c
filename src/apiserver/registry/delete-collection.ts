/** The deletion of all objects that a list would show: one after another, each by the rules of its own deletion. */
import type { DeleteOptions } from '../../apimachinery/gen/meta-v1.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import { replyWithList } from '../encoding/replies.ts';
import type { ApiResponse } from '../request.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import { deleteObject } from './delete.ts';
import { parseListOptions } from './list-options.ts';
import type { Operation } from './operation.ts';
import { listPage } from './read.ts';
import { parseDeleteOptions } from './write-options.ts';

const workers = 16;

export async function deleteCollection(operation: Operation): Promise<ApiResponse> {
  const { request, reply } = operation;
  const options = parseListOptions(operation);
  const deletion = await parseDeleteOptions(request);
  const page = await listPage(operation, options);
  await deleteEach(operation, page.entries, deletion);
  return replyWithList(reply, page);
}

/** Some at a time. What has gone meanwhile is gone; `failed` is told of other failures, which end it when there is no such function. */
export async function deleteEach(
  operation: Operation,
  entries: readonly CacheEntry[],
  options: DeleteOptions,
  failed?: (error: unknown) => void,
): Promise<void> {
  const { info } = operation;
  const waiting = entries.values();
  const work = async () => {
    for (const entry of waiting) {
      // Admission plugins look at where the object is, and a collection may span namespaces.
      const at = { ...operation, info: { ...info, namespace: entry.namespace || info.namespace, name: entry.name } };
      await deleteObject(at, entry.key, options).catch((error: unknown) => {
        if (isNotFound(error)) return;
        if (!failed) throw error;
        failed(error);
      });
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
}
