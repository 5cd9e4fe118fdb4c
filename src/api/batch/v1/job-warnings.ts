/** Warnings about Jobs, and about what makes Jobs by the clock. */
import { type FieldPath, path } from '../../../apimachinery/field-error.ts';
import { podTemplateWarnings } from '../../core/v1/pod-warnings.ts';
import { isNews, nameWarnings } from '../../core/v1/workload-warnings.ts';
import type { CronJob, Job, JobSpec } from '../../gen/batch-v1.ts';
import type { WarningsOf } from '../../warnings.ts';

/** Beyond both, the list of completed indexes may grow too long to be stored. */
const manyCompletions = 100_000;
const manyPods = 10_000;

export const jobWarnings: WarningsOf<Job> = (job, previous) => [
  ...(previous ? [] : nameWarnings(job)),
  ...(isNews(job, previous) ? specWarnings(path('spec'), job.spec) : []),
];

export const cronJobWarnings: WarningsOf<CronJob> = (cronJob, previous) => {
  const { schedule, jobTemplate } = cronJob.spec;
  const zone =
    'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details';
  return [
    ...(previous ? [] : nameWarnings(cronJob)),
    ...(isNews(cronJob, previous) ? specWarnings(path('spec', 'jobTemplate', 'spec'), jobTemplate.spec) : []),
    ...(previous && schedule.includes('TZ') ? [zone] : []),
  ];
};

function specWarnings(at: FieldPath, spec: JobSpec): string[] {
  const { completionMode, completions, parallelism } = spec;
  const many = (completions ?? 0) > manyCompletions && (parallelism ?? 0) > manyPods;
  const message =
    'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail';
  return [
    ...(completionMode === 'Indexed' && many ? [`${at}: ${message}`] : []),
    ...podTemplateWarnings(at.child('template'), spec.template),
  ];
}
