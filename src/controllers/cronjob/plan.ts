/**
 * Which start of a CronJob is due, and which of its finished Jobs are history enough: pure.
 */
import type { CronJob, Job } from '../../api/gen/batch-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import type { Schedule } from './schedule.ts';

/** Later starts than this many are not counted one by one. */
const manyMissed = 100;
/** Clocks differ a little; a start must not be looked for just before it is due. */
const slackMs = 100;

export interface DueStart {
  /** The most recent start that is due and was not made; undefined when there is none. */
  readonly dueMs: number | undefined;
  readonly tooManyMissed: boolean;
}

export function planStart({ metadata, spec, status }: CronJob, schedule: Schedule, nowMs: number): DueStart {
  let earliestMs = Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp ?? '');
  if (spec.startingDeadlineSeconds !== undefined) {
    earliestMs = Math.max(earliestMs, nowMs - spec.startingDeadlineSeconds * 1000);
  }
  let dueMs: number | undefined;
  let missed = 0;
  for (let next = schedule.next(earliestMs); next !== undefined && next <= nowMs; next = schedule.next(next)) {
    dueMs = next;
    if (++missed > manyMissed) return { dueMs: latestBefore(schedule, dueMs, nowMs), tooManyMissed: true };
  }
  return { dueMs, tooManyMissed: false };
}

/** The last start up to now, found from behind: an interval before now that holds a start is widened until it does. */
function latestBefore(schedule: Schedule, knownMs: number, nowMs: number): number {
  for (let backMs = 60_000; ; backMs *= 2) {
    const fromMs = Math.max(knownMs, nowMs - backMs);
    let latestMs: number | undefined;
    for (let next = schedule.next(fromMs); next !== undefined && next <= nowMs; next = schedule.next(next))
      latestMs = next;
    if (latestMs !== undefined) return latestMs;
    if (fromMs === knownMs) return knownMs;
  }
}

/** When to look again. `sinceMs` is the last start: what repeats after a time is counted from it. */
export function nextLookInMs(schedule: Schedule, sinceMs: number, nowMs: number): number | undefined {
  const fromLast = schedule.next(sinceMs);
  const next = fromLast !== undefined && fromLast > nowMs ? fromLast : schedule.next(nowMs);
  return next === undefined ? undefined : next - nowMs + slackMs;
}

export function isTooLate({ spec }: CronJob, dueMs: number, nowMs: number): boolean {
  return spec.startingDeadlineSeconds !== undefined && dueMs + spec.startingDeadlineSeconds * 1000 < nowMs;
}

/** Start times have whole minutes, so the name is the start's own and no start is made twice. */
export function jobNameFor({ metadata }: CronJob, dueMs: number): string {
  return `${metadata.name}-${Math.floor(dueMs / 60_000)}`;
}

/** The condition that a Job ended with. */
export function endOf({ status }: Job): 'Complete' | 'Failed' | undefined {
  return (['Complete', 'Failed'] as const).find((type) => findCondition(status?.conditions, type)?.status === 'True');
}

/** Finished Jobs beyond the limits, the oldest first. */
export function planHistory({ spec }: CronJob, jobs: readonly Job[]): readonly Job[] {
  const surplus = (end: 'Complete' | 'Failed', limit: number | undefined) => {
    if (limit === undefined) return [];
    const ended = jobs.filter((job) => endOf(job) === end).sort(byStart);
    return ended.slice(0, Math.max(0, ended.length - limit));
  };
  return [...surplus('Complete', spec.successfulJobsHistoryLimit), ...surplus('Failed', spec.failedJobsHistoryLimit)];
}

function byStart(a: Job, b: Job): number {
  return (
    (a.status?.startTime ?? '~').localeCompare(b.status?.startTime ?? '~') ||
    (a.metadata.name ?? '').localeCompare(b.metadata.name ?? '')
  );
}
