/**
 * A Job's Pods as one pass sees them: who runs, who ended and is not counted yet, which indexes are done or given up. Pure.
 *
 * A Pod is counted exactly once because it keeps the finalizer `batch.kubernetes.io/job-tracking` until its uid stands in the
 * Job's status; uids whose finalizer is gone are then turned into numbers.
 */
import { isPodActive, isPodReady, isPodTerminal } from '../../api/core/v1/pod-status.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { completionIndexOf, parseIndexes } from './indexes.ts';
import { matchFailure } from './policies.ts';

export const trackingFinalizer = 'batch.kubernetes.io/job-tracking';
export const failureCountAnnotation = 'batch.kubernetes.io/job-index-failure-count';
export const ignoredFailureCountAnnotation = 'batch.kubernetes.io/job-index-ignored-failure-count';

export interface JobView {
  readonly job: Job;
  readonly nowMs: number;
  readonly pods: readonly Pod[];
  readonly active: readonly Pod[];
  readonly ready: number;
  readonly terminating: number;
  /** Ended, still with finalizer, uid not in the status yet. */
  readonly newSucceeded: readonly Pod[];
  readonly newFailed: readonly Pod[];
  readonly succeeded: number;
  readonly failed: number;
  /** Of an Indexed Job; empty for others. */
  readonly succeededIndexes: ReadonlySet<number>;
  readonly failedIndexes: ReadonlySet<number>;
  /** By index, the failed Pod whose failure count the index's next Pod must know. */
  readonly lastFailedByIndex: ReadonlyMap<number, Pod>;
}

export const isIndexed = ({ spec }: Job) => spec.completionMode === 'Indexed';
export const hasLimitPerIndex = ({ spec }: Job) => spec.backoffLimitPerIndex !== undefined;
export const isSuspended = ({ spec }: Job) => spec.suspend === true;
export const replacesOnlyFailed = ({ spec }: Job) => spec.podReplacementPolicy === 'Failed';
export const hasTracking = ({ metadata }: Pod) => metadata.finalizers?.includes(trackingFinalizer) ?? false;

/** A Pod that is being deleted counts as failed at once, unless only those really over may be replaced. */
export function isFailedFor(job: Job, pod: Pod): boolean {
  if (pod.status?.phase === 'Failed') return true;
  if (replacesOnlyFailed(job)) return false;
  return pod.metadata.deletionTimestamp !== undefined && pod.status?.phase !== 'Succeeded';
}

/** `untracked` are uids whose finalizer was removed although the informer does not show it yet. */
export function viewJob(job: Job, pods: readonly Pod[], untracked: ReadonlySet<string>, nowMs: number): JobView {
  const indexed = isIndexed(job);
  const completions = job.spec.completions ?? 0;
  const { succeeded: uncountedSucceeded = [], failed: uncountedFailed = [] } =
    job.status?.uncountedTerminatedPods ?? {};
  const known = new Set([...untracked, ...uncountedSucceeded, ...uncountedFailed]);
  const isNew = (pod: Pod) => hasTracking(pod) && !known.has(pod.metadata.uid ?? '') && hasValidIndex(job, pod);
  const newSucceeded = pods.filter((pod) => pod.status?.phase === 'Succeeded' && isNew(pod));
  const newFailed = pods.filter((pod) => isFailedFor(job, pod) && isNew(pod));
  const active = pods.filter(isPodActive);

  const succeededIndexes = indexed ? parseIndexes(job.status?.completedIndexes, completions) : new Set<number>();
  for (const pod of indexed ? newSucceeded : []) succeededIndexes.add(completionIndexOf(pod)!);
  const lastFailedByIndex = hasLimitPerIndex(job) ? lastFailed(job, pods, active, untracked) : new Map<number, Pod>();
  const failedIndexes = hasLimitPerIndex(job) ? failedIndexesOf(job, pods, untracked) : new Set<number>();
  for (const index of succeededIndexes) failedIndexes.delete(index);

  const counting = newFailed.filter(
    (pod) => matchFailure(job.spec.podFailurePolicy, pod, hasLimitPerIndex(job)).counts,
  );
  return {
    job,
    nowMs,
    pods,
    active,
    ready: active.filter(isPodReady).length,
    terminating: pods.filter((pod) => pod.metadata.deletionTimestamp !== undefined && !isPodTerminal(pod)).length,
    newSucceeded,
    newFailed,
    succeeded: indexed
      ? succeededIndexes.size
      : (job.status?.succeeded ?? 0) + newSucceeded.length + uncountedSucceeded.length,
    failed: (job.status?.failed ?? 0) + counting.length + uncountedFailed.length,
    succeededIndexes,
    failedIndexes,
    lastFailedByIndex,
  };
}

function hasValidIndex(job: Job, pod: Pod): boolean {
  if (!isIndexed(job)) return true;
  const index = completionIndexOf(pod);
  return index !== undefined && index < (job.spec.completions ?? 0);
}

/** How often the Pod's index had failed before this Pod. */
export function failureCountOf({ metadata }: Pod): number {
  return Number(metadata.annotations?.[failureCountAnnotation] ?? 0) || 0;
}

/** For each index without a running Pod, the failed one with the highest count that still has its finalizer. */
function lastFailed(
  job: Job,
  pods: readonly Pod[],
  active: readonly Pod[],
  untracked: ReadonlySet<string>,
): Map<number, Pod> {
  const running = new Set(active.map(completionIndexOf));
  const last = new Map<number, Pod>();
  for (const pod of pods) {
    const index = completionIndexOf(pod);
    if (index === undefined || running.has(index) || !isFailedFor(job, pod)) continue;
    if (!hasTracking(pod) || untracked.has(pod.metadata.uid ?? '')) continue;
    const present = last.get(index);
    if (!present || failureTotal(pod) > failureTotal(present)) last.set(index, pod);
  }
  return last;
}

function failureTotal(pod: Pod): number {
  return failureCountOf(pod) + (Number(pod.metadata.annotations?.[ignoredFailureCountAnnotation] ?? 0) || 0);
}

/** Those in the status, and those whose Pod has just failed once too often or hit a FailIndex rule. */
function failedIndexesOf(job: Job, pods: readonly Pod[], untracked: ReadonlySet<string>): Set<number> {
  const failed = parseIndexes(job.status?.failedIndexes, job.spec.completions ?? 0);
  for (const pod of pods) {
    const index = completionIndexOf(pod);
    if (index === undefined || !isFailedFor(job, pod) || !hasTracking(pod)) continue;
    if (untracked.has(pod.metadata.uid ?? '')) continue;
    const { action, counts } = matchFailure(job.spec.podFailurePolicy, pod, true);
    const exhausted = counts && failureCountOf(pod) >= (job.spec.backoffLimitPerIndex ?? 0);
    if (action === 'FailIndex' || exhausted) failed.add(index);
  }
  return failed;
}
