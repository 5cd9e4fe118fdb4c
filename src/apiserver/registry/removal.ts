/** The last step of an object's life: when it may go, and its going. */
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { StoredKind } from '../served-resource.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import type { Operation } from './operation.ts';

/** Whether an update has taken away what kept a deleted object in being. */
export function isFinished(kind: Pick<StoredKind, 'name'>, next: KubeObject, previous: KubeObject): boolean {
  const { metadata } = previous;
  if (!metadata.deletionTimestamp || (next.metadata.finalizers?.length ?? 0) > 0) return false;
  if (kind.name === 'namespaces') return namespaceFinalizers(next).length === 0;
  return (metadata.deletionGracePeriodSeconds ?? 0) === 0;
}

/** Namespaces have finalizers of their own in their spec. */
export function namespaceFinalizers(namespace: KubeObject): readonly string[] {
  return (namespace as { readonly spec?: { readonly finalizers?: readonly string[] } }).spec?.finalizers ?? [];
}

export type Removal =
  | { readonly ok: true; readonly revision: number }
  | { readonly ok: false; readonly current: CacheEntry | undefined };

/** Removes what stands at this very revision. */
export async function removeEntry(
  { storage, environment, kind }: Operation,
  entry: CacheEntry,
  options: { readonly dryRun: boolean },
): Promise<Removal> {
  if (options.dryRun) return { ok: true, revision: entry.revision };
  const result = await storage.remove(entry.key, entry.revision);
  if (!result.ok) return { ok: false, current: result.current };
  await environment.hooksOf(kind).afterDelete?.(entry.object());
  return { ok: true, revision: result.revision };
}
