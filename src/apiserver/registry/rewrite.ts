/**
 * A change that is the server's own: read, change, compare-and-set, without strategies, validation or admission. For what a
 * subresource does to an object that its user could not do by an update (binding, the account of disruptions).
 */
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import type { KindStorage } from './kind-storage.ts';

/** The new object, or undefined to leave it as it is. May throw to refuse. */
export type Change = (current: KubeObject) => KubeObject | undefined;

/** The object as it stands afterwards; undefined when there is none. A dry run only computes. */
export async function rewrite(
  storage: KindStorage,
  key: string,
  { change, dryRun }: { readonly change: Change; readonly dryRun: boolean },
): Promise<KubeObject | undefined> {
  let current: CacheEntry | undefined = await storage.read(key);
  while (current) {
    const next = change(current.object());
    if (!next) return current.object();
    if (dryRun) return next;
    const result = await storage.replace(current, next);
    if (result.ok) return result.entry.object();
    current = result.current;
  }
  return undefined;
}
