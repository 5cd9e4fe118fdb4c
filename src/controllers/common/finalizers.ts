/** Puts a controller's own finalizer on an object, or takes it off. */
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';

export interface FinalizerChange<T> {
  readonly type: ResourceType<T>;
  readonly object: T;
  readonly finalizer: string;
  /** Whether it is to be there. */
  readonly present: boolean;
}

/** Writes nothing when it is so already; an object that is gone needs nothing. A conflict is the caller's to try again. */
export async function setFinalizer<T extends KubeObject>(
  client: Client,
  { type, object, finalizer, present }: FinalizerChange<T>,
): Promise<void> {
  const { finalizers = [] } = object.metadata;
  if (finalizers.includes(finalizer) === present) return;
  const next = present ? [...finalizers, finalizer] : finalizers.filter((other) => other !== finalizer);
  try {
    await client.update(type, { ...object, metadata: { ...object.metadata, finalizers: next } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
