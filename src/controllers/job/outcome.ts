/**
 * Whether a Job is decided, and how: the first of upstream's reasons that applies. Pure. A decision is written as FailureTarget or
 * SuccessCriteriaMet first; Failed or Complete follows when the last Pod has ended.
 */
import type { Job, JobCondition } from '../../api/gen/batch-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { hasLimitPerIndex, isFailedFor, isIndexed, isSuspended, type JobView } from './pod-view.ts';
import { matchFailure, matchSuccess } from './policies.ts';

export function jobCondition(
  { type, status, reason, message }: Pick<Required<JobCondition>, 'type' | 'status' | 'reason' | 'message'>,
  nowMs: number,
): JobCondition {
  const now = formatTime(nowMs);
  return { type, status, lastProbeTime: now, lastTransitionTime: now, reason, message };
}

export function isFinished({ status }: Job): boolean {
  return ['Complete', 'Failed'].some((type) => findCondition(status?.conditions, type)?.status === 'True');
}

/** FailureTarget or SuccessCriteriaMet as it stands in the status or follows from the Pods; undefined while all is open. */
export function decideEarly(view: JobView): JobCondition | undefined {
  const { job, nowMs } = view;
  for (const type of ['FailureTarget', 'SuccessCriteriaMet']) {
    const present = findCondition(job.status?.conditions, type);
    if (present?.status === 'True') return present;
  }
  const failed = failure(view);
  if (failed)
    return jobCondition(
      { type: 'FailureTarget', status: 'True', reason: failed.reason, message: failed.message },
      nowMs,
    );
  if (!isIndexed(job)) return undefined;
  const matched = matchSuccess(job.spec.successPolicy, view.succeededIndexes, job.spec.completions ?? 0);
  return matched === undefined
    ? undefined
    : jobCondition({ type: 'SuccessCriteriaMet', status: 'True', reason: 'SuccessPolicy', message: matched }, nowMs);
}

function failure(view: JobView): { readonly reason: string; readonly message: string } | undefined {
  const { job } = view;
  const fatal = fatalPod(view);
  if (fatal) return { reason: 'PodFailurePolicy', message: fatal };
  const limit = job.spec.backoffLimit ?? 6;
  if (view.failed > limit || pastBackoffLimitOnFailure(view)) {
    return { reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
  }
  if (deadlineInMs(view) === 0) {
    return { reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' };
  }
  if (!isIndexed(job) || !hasLimitPerIndex(job)) return undefined;
  const { maxFailedIndexes, completions = 0 } = job.spec;
  const failedCount = view.failedIndexes.size;
  if (maxFailedIndexes !== undefined && failedCount > maxFailedIndexes) {
    return {
      reason: 'MaxFailedIndexesExceeded',
      message: 'Job has exceeded the specified maximal number of failed indexes',
    };
  }
  if (failedCount > 0 && failedCount + view.succeededIndexes.size >= completions) {
    return { reason: 'FailedIndexes', message: 'Job has failed indexes' };
  }
  return undefined;
}

/** The message of a Pod whose failure ends the whole Job. */
function fatalPod({ job, pods }: JobView): string | undefined {
  if (!job.spec.podFailurePolicy) return undefined;
  for (const pod of pods) {
    if (!isFailedFor(job, pod)) continue;
    const { action, message } = matchFailure(job.spec.podFailurePolicy, pod, hasLimitPerIndex(job));
    if (action === 'FailJob') return message;
  }
  return undefined;
}

/** With restartPolicy OnFailure the kubelet restarts containers, and their restarts are the failures. */
function pastBackoffLimitOnFailure({ job, pods }: JobView): boolean {
  if (job.spec.template.spec.restartPolicy !== 'OnFailure') return false;
  const running = pods.filter(({ status }) => status?.phase === 'Running' || status?.phase === 'Pending');
  const restarts = running.reduce((sum, pod) => sum + restartsOf(pod), 0);
  const limit = job.spec.backoffLimit ?? 6;
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

function restartsOf({ status }: Pod): number {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
}

/** Milliseconds until the Job has been active too long; undefined when it cannot be. */
export function deadlineInMs({ job, nowMs }: JobView): number | undefined {
  const { activeDeadlineSeconds } = job.spec;
  const startTime = job.status?.startTime;
  if (activeDeadlineSeconds === undefined || !startTime || isSuspended(job)) return undefined;
  return Math.max(0, Date.parse(startTime) + activeDeadlineSeconds * 1000 - nowMs);
}

/** SuccessCriteriaMet when all that was asked for has succeeded and nothing runs. */
export function decideComplete(view: JobView, active: number): JobCondition | undefined {
  const { job, nowMs } = view;
  const { completions } = job.spec;
  const complete =
    completions === undefined ? view.succeeded > 0 && active === 0 : view.succeeded >= completions && active === 0;
  if (!complete) return undefined;
  const message = 'Reached expected number of succeeded pods';
  return jobCondition({ type: 'SuccessCriteriaMet', status: 'True', reason: 'CompletionsReached', message }, nowMs);
}
