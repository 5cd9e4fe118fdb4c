/**
 * How long a Job waits before it replaces a failed Pod: 10 s, doubling with each failure since the last success, 10 minutes at
 * most, counted from the moment of the failure.
 */
import type { Pod } from '../../api/gen/core-v1.ts';

const initialMs = 10_000;
const maxMs = 600_000;

export interface BackoffRecord {
  readonly failuresSinceSuccess: number;
  readonly lastFailureMs: number | undefined;
}

export const noFailures: BackoffRecord = { failuresSinceSuccess: 0, lastFailureMs: undefined };

/** The record after Pods that ended since; failures before the last of the successes do not count. */
export function recordEnds(
  record: BackoffRecord,
  {
    succeeded,
    failed,
    nowMs,
  }: { readonly succeeded: readonly Pod[]; readonly failed: readonly Pod[]; readonly nowMs: number },
): BackoffRecord {
  const successes = succeeded.map((pod) => endedAtMs(pod, nowMs));
  const lastSuccess = successes.length > 0 ? Math.max(...successes) : undefined;
  const failures = failed
    .map((pod) => endedAtMs(pod, nowMs))
    .filter((atMs) => lastSuccess === undefined || atMs > lastSuccess);
  const before = lastSuccess === undefined ? record : noFailures;
  if (failures.length === 0) return before;
  return {
    failuresSinceSuccess: before.failuresSinceSuccess + failures.length,
    lastFailureMs: Math.max(...failures, before.lastFailureMs ?? Number.NEGATIVE_INFINITY),
  };
}

/** 0: no need to wait. */
export function remainingMs({ failuresSinceSuccess, lastFailureMs }: BackoffRecord, nowMs: number): number {
  if (failuresSinceSuccess === 0 || lastFailureMs === undefined) return 0;
  const delayMs = Math.min(maxMs, initialMs * 2 ** (failuresSinceSuccess - 1));
  return Math.max(0, lastFailureMs + delayMs - nowMs);
}

/** The same for one index whose Pod failed after `failures` earlier ones. */
export function remainingForIndexMs(lastFailed: Pod, failures: number, nowMs: number): number {
  return remainingMs({ failuresSinceSuccess: failures + 1, lastFailureMs: endedAtMs(lastFailed, nowMs) }, nowMs);
}

/** When the last container ended; else when the deletion began or readiness was lost; else now. */
function endedAtMs({ status, metadata }: Pod, nowMs: number): number {
  const ends = (status?.containerStatuses ?? []).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''));
  const known = ends.filter((atMs) => !Number.isNaN(atMs));
  if (known.length > 0 && known.length === ends.length) return Math.max(...known);
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
  const other = metadata.deletionTimestamp ?? ready;
  return other === undefined ? nowMs : Math.min(nowMs, Date.parse(other));
}
