/** What several kinds' strategies do alike. */
import type { Draft, KubeObject } from '../apimachinery/meta.ts';
import { draft } from '../apimachinery/meta.ts';
import { semanticallyEqual } from './equality.ts';
import type { SubresourceStrategy } from './kind.ts';

const keptOnStatus = [
  'deletionTimestamp',
  'generation',
  'selfLink',
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
] as const;

/** Puts a field of the metadata back to what is stored. */
export function keepMetadata<K extends keyof KubeObject['metadata']>(
  object: Draft<KubeObject>,
  previous: KubeObject,
  ...fields: readonly K[]
): void {
  const metadata = object.metadata as Record<string, unknown>;
  for (const field of fields) {
    const stored = previous.metadata[field];
    if (stored === undefined) delete metadata[field];
    else metadata[field] = draft(stored);
  }
}

/** A `status` on which the metadata is not the client's to change; older kinds take it from the request. */
export const statusKeepsMetadata: SubresourceStrategy<KubeObject> = {
  prepareForUpdate: (object, previous) => keepMetadata(object, previous, ...keptOnStatus),
};

/** The next generation, where the generic rule does not see the change. */
export function raiseGeneration(object: Draft<KubeObject>, previous: KubeObject): void {
  object.metadata.generation = (previous.metadata.generation ?? 0) + 1;
}

/** Counts a generation only when the given part differs. */
export function countGeneration(object: Draft<KubeObject>, previous: KubeObject, next: unknown, stored: unknown): void {
  if (!semanticallyEqual(next, stored)) raiseGeneration(object, previous);
  else if (previous.metadata.generation !== undefined) object.metadata.generation = previous.metadata.generation;
}
