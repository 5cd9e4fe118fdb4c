/**
 * How a Namespace tells about its own removal: five conditions, of which the ones that are True say what holds it up. Pure.
 */
import type { NamespaceCondition } from '../../api/gen/core-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { DiscoveryFailure } from '../../client/discovery.ts';

/** What one pass over a Namespace's content found. */
export interface DeletionProgress {
  readonly discoveryFailures: readonly DiscoveryFailure[];
  /** Messages of deletions that failed. */
  readonly deletionFailures: readonly string[];
  /** `pods.` (resource, dot, group) to the number of objects left. */
  readonly remaining: ReadonlyMap<string, number>;
  /** Finalizer to the number of objects that have it. */
  readonly finalizers: ReadonlyMap<string, number>;
}

interface Trouble {
  readonly reason: string;
  readonly message: string;
}

/** In upstream's order; `found` tells the trouble, if there is any. */
const conditions: readonly {
  readonly type: string;
  readonly okReason: string;
  readonly okMessage: string;
  found(progress: DeletionProgress): Trouble | undefined;
}[] = [
  {
    type: 'NamespaceDeletionDiscoveryFailure',
    okReason: 'ResourcesDiscovered',
    okMessage: 'All resources successfully discovered',
    found: ({ discoveryFailures }) => discoveryTrouble(discoveryFailures),
  },
  {
    type: 'NamespaceDeletionGroupVersionParsingFailure',
    okReason: 'ParsedGroupVersions',
    okMessage: 'All legacy kube types successfully parsed',
    found: () => undefined,
  },
  {
    type: 'NamespaceDeletionContentFailure',
    okReason: 'ContentDeleted',
    okMessage: 'All content successfully deleted, may be waiting on finalization',
    found: ({ deletionFailures: { length }, deletionFailures }) =>
      length === 0
        ? undefined
        : {
            reason: 'ContentDeletionFailed',
            message: `Failed to delete all resource types, ${length} remaining: ${[...deletionFailures].sort().join(', ')}`,
          },
  },
  {
    type: 'NamespaceContentRemaining',
    okReason: 'ContentRemoved',
    okMessage: 'All content successfully removed',
    found: ({ remaining }) =>
      listed(
        remaining,
        'SomeResourcesRemain',
        'Some resources are remaining: ',
        (of, count) => `${of} has ${count} resource instances`,
      ),
  },
  {
    type: 'NamespaceFinalizersRemaining',
    okReason: 'ContentHasNoFinalizers',
    okMessage: 'All content-preserving finalizers finished',
    found: ({ finalizers }) =>
      listed(
        finalizers,
        'SomeFinalizersRemain',
        'Some content in the namespace has finalizers remaining: ',
        (of, count) => `${of} in ${count} resource instances`,
      ),
  },
];

/** The conditions after a pass; the same array when none of them changes. */
export function planConditions(
  present: readonly NamespaceCondition[] | undefined,
  progress: DeletionProgress,
  nowMs: number,
): readonly NamespaceCondition[] {
  let next = present ?? [];
  for (const { type, okReason, okMessage, found } of conditions) {
    const trouble = found(progress);
    const before = findCondition(next, type);
    const condition: NamespaceCondition = trouble
      ? { type, status: 'True', ...trouble, lastTransitionTime: formatTime(nowMs) }
      : { type, status: 'False', reason: okReason, message: okMessage, lastTransitionTime: formatTime(nowMs) };
    const same =
      before?.status === condition.status && before.reason === condition.reason && before.message === condition.message;
    if (same) continue;
    const lastTransitionTime =
      before?.status === condition.status ? before.lastTransitionTime : condition.lastTransitionTime;
    const changed = { ...condition, lastTransitionTime };
    next = before ? next.map((other) => (other === before ? changed : other)) : [...next, changed];
  }
  return next;
}

function discoveryTrouble(failures: readonly DiscoveryFailure[]): Trouble | undefined {
  if (failures.length === 0) return undefined;
  const list = failures.map(({ groupVersion, message }) => `${groupVersion}: ${message}`).join(', ');
  const error = `unable to retrieve the complete list of server APIs: ${list}`;
  return {
    reason: 'DiscoveryFailed',
    message: `Discovery failed for some groups, ${failures.length} failing: ${error}`,
  };
}

function listed(
  counts: ReadonlyMap<string, number>,
  reason: string,
  prefix: string,
  text: (of: string, count: number) => string,
): Trouble | undefined {
  const parts = [...counts].filter(([, count]) => count > 0).map(([of, count]) => text(of, count));
  return parts.length === 0 ? undefined : { reason, message: prefix + parts.sort().join(', ') };
}
