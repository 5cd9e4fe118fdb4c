/**
 * Which revision was the newest at a time, over an etcd, which writes no times down. API servers do: each renews its identity Lease every
 * ten seconds, and says in it when. The Leases' history in the store is thus a table of revisions and times, the same for every server,
 * reaching as far back as the history of everything else, and also there when the servers were upstream's:
 *
 *     renewals  revision 812 of 12:00:01, 830 of 12:00:11, 845 of 12:00:21
 *     at 12:00:15  revision 830: what stood at 12:00:11, at most ten seconds earlier
 *
 * It is as true as the servers' clocks. Of servers whose Leases have been collected nothing is known.
 */
import type { Lease } from '../api/gen/coordination-v1.ts';
import { parseTime } from '../apimachinery/time.ts';
import { prefixEnd } from '../storage/store.ts';
import { identityLabel, identityLeaseNamespace } from './bootstrap/identity-lease.ts';
import type { KindStorage, PastVersion } from './registry/kind-storage.ts';
import type { CacheEntry } from './watch-cache/cache-entry.ts';

export interface KnownTime {
  readonly revision: number;
  readonly timeMs: number;
}

/** The last renewal in or before this moment; `oldest` where that is not remembered. `leases`: the storage of Leases. */
export async function knownTimeAt(
  leases: KindStorage,
  timeMs: number,
): Promise<{ readonly known: KnownTime | undefined; readonly oldest: KnownTime | undefined }> {
  await leases.cache.fresh();
  const keys: string[] = [];
  const start = leases.key(identityLeaseNamespace, '');
  leases.cache.visit(start, prefixEnd(start), (entry) => {
    if (entry.labels[identityLabel] !== undefined) keys.push(entry.key);
    return undefined;
  });
  const found: KnownTime[] = [];
  const oldest: KnownTime[] = [];
  for (const key of keys) {
    const { items } = await leases.history(key, Number.POSITIVE_INFINITY);
    const renewals = items.filter(({ type }) => type !== 'DELETED');
    found.push(...lastUpTo(renewals, timeMs));
    oldest.push(...renewals.slice(0, 1).flatMap(renewalOf));
  }
  const newer = (a: KnownTime, b: KnownTime) => b.revision - a.revision;
  return { known: found.sort(newer)[0], oldest: oldest.sort(newer).at(-1) };
}

/** Renewals come in the order of their times, so that only a few are looked into, however many there are. */
function lastUpTo(renewals: readonly PastVersion[], timeMs: number): KnownTime[] {
  let low = 0;
  let high = renewals.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const [renewal] = renewalOf(renewals[middle]!);
    if (renewal && renewal.timeMs <= timeMs) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? [] : renewalOf(renewals[low - 1]!);
}

function renewalOf({ revision, entry }: { readonly revision: number; readonly entry: CacheEntry }): KnownTime[] {
  const timeMs = parseTime((entry.object() as Lease).spec?.renewTime ?? '');
  return timeMs === undefined ? [] : [{ revision, timeMs }];
}
