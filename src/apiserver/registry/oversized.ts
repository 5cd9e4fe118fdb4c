/**
 * An object that the backend finds too large is written once more without its managedFields, which can be the larger part of it: who owns
 * which field is then not known, but what was asked for is kept. Never for an apply, whose result is about the owners.
 */
import type { KubeObject } from '../../apimachinery/meta.ts';
import { BackendError } from '../../storage/store.ts';

/** `write` may be called twice, the second time with a copy. */
export async function shortenedIfTooLarge<T extends KubeObject, R>(
  object: T,
  write: (object: T) => Promise<R>,
): Promise<R> {
  try {
    return await write(object);
  } catch (error) {
    const { managedFields, ...metadata } = object.metadata;
    if (!(error instanceof BackendError && error.tooLarge) || !managedFields?.length) throw error;
    return write({ ...object, metadata });
  }
}
