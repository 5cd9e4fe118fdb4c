/**
 * Counting of ended Pods, each exactly once whatever crashes in between. Pure.
 *
 *     1. the uid goes into status.uncountedTerminatedPods        (status written)
 *     2. the Pod loses its finalizer and may vanish              (Pods patched)
 *     3. the uid leaves the list and the number grows            (status written)
 */
import type { Job, JobStatus } from '../../api/gen/batch-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { completionIndexOf, formatIndexes, parseIndexes } from './indexes.ts';
import { hasLimitPerIndex, hasTracking, isFailedFor, isIndexed, type JobView } from './pod-view.ts';
import { matchFailure } from './policies.ts';

const maxUncounted = 500;

export interface TrackingPlan {
  /** Status with the uids of step 1; equal to the present one when there is nothing new. */
  readonly status: JobStatus;
  /** Pods for step 2. */
  readonly release: readonly Pod[];
  /** More ended Pods wait than one status may hold: come again. */
  readonly more: boolean;
}

/** `decided`: the Job is FailureTarget or SuccessCriteriaMet, so every Pod may go. */
export function planTracking(
  view: JobView,
  status: JobStatus,
  untracked: ReadonlySet<string>,
  decided: 'failure' | 'success' | undefined,
): TrackingPlan {
  const { job } = view;
  const indexed = isIndexed(job);
  const completions = job.spec.completions ?? 0;
  const succeeded = new Set(status.uncountedTerminatedPods?.succeeded);
  const failed = new Set(status.uncountedTerminatedPods?.failed);
  const newIndexes = indexed ? parseIndexes(status.completedIndexes, completions) : new Set<number>();
  const release: Pod[] = [];
  let added = 0;
  let more = false;
  for (const pod of view.pods) {
    const uid = pod.metadata.uid ?? '';
    if (!hasTracking(pod) || untracked.has(uid)) continue;
    const over = isFailedFor(job, pod);
    if (!mayRelease(view, pod, over, decided)) continue;
    release.push(pod);
    const index = completionIndexOf(pod);
    const inRange = index !== undefined && index < completions;
    if (pod.status?.phase === 'Succeeded' && !failed.has(uid)) {
      if (indexed && inRange && !newIndexes.has(index)) {
        newIndexes.add(index);
        added++;
      } else if (!indexed && !succeeded.has(uid)) {
        succeeded.add(uid);
        added++;
      }
    } else if ((over || decided === 'failure') && (!indexed || inRange)) {
      const { counts } = matchFailure(job.spec.podFailurePolicy, pod, hasLimitPerIndex(job));
      if (counts && !failed.has(uid) && !succeeded.has(uid)) {
        failed.add(uid);
        added++;
      }
    }
    if (added >= maxUncounted) {
      more = true;
      break;
    }
  }
  return { status: withTracking(view, status, { succeeded, failed, newIndexes }), release, more };
}

function mayRelease(view: JobView, pod: Pod, failed: boolean, decided: string | undefined): boolean {
  if (view.job.metadata.deletionTimestamp || decided || pod.status?.phase === 'Succeeded') return true;
  if (!failed) return false;
  if (!hasLimitPerIndex(view.job)) return true;
  // The next Pod of the index must learn the failure count from this one first.
  const index = completionIndexOf(pod);
  return index === undefined || view.failedIndexes.has(index) || view.lastFailedByIndex.get(index) !== pod;
}

function withTracking(
  view: JobView,
  status: JobStatus,
  found: {
    readonly succeeded: ReadonlySet<string>;
    readonly failed: ReadonlySet<string>;
    readonly newIndexes: ReadonlySet<number>;
  },
): JobStatus {
  const { job } = view;
  const indexes = isIndexed(job)
    ? { completedIndexes: formatIndexes(found.newIndexes) || undefined, succeeded: found.newIndexes.size }
    : {};
  const failedIndexes = hasLimitPerIndex(job) ? { failedIndexes: formatIndexes(view.failedIndexes) } : {};
  return { ...status, ...indexes, ...failedIndexes, uncountedTerminatedPods: uncounted(found.succeeded, found.failed) };
}

/** Step 3: uids whose Pod has no finalizer any more become numbers. `tracked` are the uids that still have one. */
export function countReleased(job: Job, status: JobStatus, tracked: ReadonlySet<string>): JobStatus {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const keptSucceeded = succeeded.filter((uid) => tracked.has(uid));
  const keptFailed = failed.filter((uid) => tracked.has(uid));
  const newlyFailed = failed.length - keptFailed.length;
  const newlySucceeded = succeeded.length - keptSucceeded.length;
  return {
    ...status,
    succeeded: isIndexed(job) ? status.succeeded : (status.succeeded ?? 0) + newlySucceeded,
    failed: (status.failed ?? 0) + newlyFailed,
    uncountedTerminatedPods: uncounted(new Set(keptSucceeded), new Set(keptFailed)),
  };
}

/** Always present, be it empty: that is how a Job shows that it counts with finalizers. */
function uncounted(
  succeeded: ReadonlySet<string>,
  failed: ReadonlySet<string>,
): NonNullable<JobStatus['uncountedTerminatedPods']> {
  return {
    ...(succeeded.size > 0 ? { succeeded: [...succeeded] } : {}),
    ...(failed.size > 0 ? { failed: [...failed] } : {}),
  };
}
