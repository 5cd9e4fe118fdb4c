/** How many objects of a resource there are and how big one is, from the caches: counted exactly, weighed by samples once a minute. */
import type { Clock } from '../../base/clock.ts';
import { prefixEnd } from '../../storage/store.ts';
import type { KindStorage } from '../registry/kind-storage.ts';
import type { ObjectStatistics } from './work-estimate.ts';

const sampled = 10;
const sampleEveryMs = 60_000;

interface Weight {
  readonly atMs: number;
  readonly averageBytes: number;
}

export function objectStatistics(
  storageNamed: (name: string) => KindStorage | undefined,
  clock: Clock,
): (group: string, resource: string) => ObjectStatistics | undefined {
  const weights = new Map<string, Weight>();
  return (group, resource) => {
    const name = group === '' ? resource : `${resource}.${group}`;
    const storage = storageNamed(name);
    if (!storage || storage.cache.size === 0) return undefined;
    let weight = weights.get(name);
    const nowMs = clock.monotonic();
    if (!weight || nowMs - weight.atMs >= sampleEveryMs) {
      weight = { atMs: nowMs, averageBytes: averageBytes(storage) };
      weights.set(name, weight);
    }
    return { count: storage.cache.size, averageBytes: weight.averageBytes };
  };
}

function averageBytes({ kind, cache }: KindStorage): number {
  let count = 0;
  let bytes = 0;
  cache.visit(kind.prefix, prefixEnd(kind.prefix), (entry) => {
    bytes += entry.bytes().length;
    count++;
    return count < sampled;
  });
  return count === 0 ? 0 : bytes / count;
}
