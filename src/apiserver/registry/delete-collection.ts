/** The deletion of all objects that a list would show: one after another, each by the rules of its own deletion. */
import { isNotFound } from '../../apimachinery/status.ts';
import { replyWithList } from '../encoding/replies.ts';
import type { ApiResponse } from '../request.ts';
import { deleteObject } from './delete.ts';
import { parseListOptions } from './list-options.ts';
import type { Operation } from './operation.ts';
import { listPage } from './read.ts';
import { parseDeleteOptions } from './write-options.ts';

const workers = 16;

export async function deleteCollection(operation: Operation): Promise<ApiResponse> {
  const { request, info, reply } = operation;
  const options = parseListOptions(operation);
  const deletion = await parseDeleteOptions(request);
  const page = await listPage(operation, options);
  const waiting = page.entries.values();
  const work = async () => {
    for (const entry of waiting) {
      // Admission plugins look at where the object is, and a collection may span namespaces.
      const at = { ...operation, info: { ...info, namespace: entry.namespace || info.namespace, name: entry.name } };
      await deleteObject(at, entry.key, deletion).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return replyWithList(reply, page);
}
