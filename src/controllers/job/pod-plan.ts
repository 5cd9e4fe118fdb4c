/**
 * How many Pods a Job that is not decided should create or give up now, and for which indexes. Pure.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { rankForDeletion } from '../common/deletion-ranking.ts';
import { type BackoffRecord, remainingForIndexMs, remainingMs } from './backoff.ts';
import { completionIndexOf, firstPending } from './indexes.ts';
import {
  failureCountOf,
  hasLimitPerIndex,
  isIndexed,
  isSuspended,
  type JobView,
  replacesOnlyFailed,
} from './pod-view.ts';

/** Creations or deletions in one pass. */
const maxPerPass = 500;

export type PodPlan =
  | { readonly do: 'nothing'; readonly againAfterMs?: number | undefined }
  | { readonly do: 'delete'; readonly pods: readonly Pod[] }
  /** `indexes` has an entry per Pod for an Indexed Job. */
  | { readonly do: 'create'; readonly count: number; readonly indexes: readonly number[] };

export function planPods(view: JobView, record: BackoffRecord): PodPlan {
  const { job, active, nowMs } = view;
  if (isSuspended(job)) {
    return active.length === 0 ? { do: 'nothing' } : { do: 'delete', pods: active.slice(0, maxPerPass) };
  }
  const wanted = wantedActive(view);
  const surplus = podsToRemove(view, Math.max(0, active.length - wanted)).slice(0, maxPerPass);
  if (surplus.length > 0) return { do: 'delete', pods: surplus };
  const held = replacesOnlyFailed(job) ? view.terminating : 0;
  const missing = Math.min(wanted - held - active.length, maxPerPass);
  if (missing <= 0) return { do: 'nothing' };
  if (!hasLimitPerIndex(job)) {
    const againAfterMs = remainingMs(record, nowMs);
    if (againAfterMs > 0) return { do: 'nothing', againAfterMs };
  }
  if (!isIndexed(job)) return { do: 'create', count: missing, indexes: [] };
  return planIndexes(view, missing);
}

function planIndexes(view: JobView, missing: number): PodPlan {
  const { job, nowMs, pods, active } = view;
  // Where only ended Pods may be replaced, one that is still ending keeps its index.
  const holding = replacesOnlyFailed(job)
    ? pods.filter(({ status }) => status?.phase !== 'Failed' && status?.phase !== 'Succeeded')
    : active;
  const busy = new Set(holding.map(completionIndexOf).filter((index) => index !== undefined));
  const waiting = new Set<number>();
  let againAfterMs: number | undefined;
  for (const [index, pod] of view.lastFailedByIndex) {
    const leftMs = remainingForIndexMs(pod, failureCountOf(pod), nowMs);
    if (leftMs === 0) continue;
    waiting.add(index);
    if (!view.failedIndexes.has(index)) againAfterMs = Math.min(againAfterMs ?? leftMs, leftMs);
  }
  const taken = [busy, waiting, view.succeededIndexes, view.failedIndexes];
  const indexes = firstPending(missing, job.spec.completions ?? 0, taken);
  return indexes.length === 0 ? { do: 'nothing', againAfterMs } : { do: 'create', count: indexes.length, indexes };
}

function wantedActive({ job, active, succeeded, failedIndexes }: JobView): number {
  const parallelism = job.spec.parallelism ?? 1;
  const { completions } = job.spec;
  // A work queue: once a Pod has succeeded there is no work for new ones, and those that run may finish.
  if (completions === undefined) return succeeded > 0 ? Math.min(active.length, parallelism) : parallelism;
  return Math.max(0, Math.min(parallelism, completions - succeeded - failedIndexes.size));
}

/** Two Pods for one index, or one for an index that is done or out of range, are too many whatever the numbers. */
function podsToRemove(view: JobView, atLeast: number): readonly Pod[] {
  const { job, active, nowMs } = view;
  const remove: Pod[] = [];
  let left: readonly Pod[] = active;
  if (isIndexed(job)) {
    const kept = new Map<number, Pod>();
    for (const pod of rankForDeletion(active, () => 0, nowMs).reverse()) {
      const index = completionIndexOf(pod);
      const useless =
        index === undefined || index >= (job.spec.completions ?? 0) || kept.has(index) || view.failedIndexes.has(index);
      if (useless) remove.push(pod);
      else kept.set(index, pod);
    }
    left = [...kept.values()];
  }
  const more = Math.max(0, atLeast - remove.length);
  return [...remove, ...rankForDeletion(left, () => 0, nowMs).slice(0, more)];
}
