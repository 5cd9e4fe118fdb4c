/** Jobs: Pods that are to end, and to end well, so many times. */

import { isConditionTrue } from '../../../apimachinery/conditions.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { ageColumn, containerColumns, labelSelectorText, nameColumn, text } from '../../columns.ts';
import { isEmpty, partOf } from '../../defaulting.ts';
import { type Job, jobs } from '../../gen/batch-v1.ts';
import { humanDuration } from '../../human-duration.ts';
import type { KindBehaviour } from '../../kind.ts';
import { defaultJob } from './job-defaults.ts';
import { validateJobStatusUpdate } from './job-status-validation.ts';
import { jobLabels, validateJob, validateJobUpdate } from './job-validation.ts';

export const jobBehaviour: KindBehaviour<Job> = {
  resource: jobs,
  defaults: defaultJob,
  countsGeneration: true,
  defaultPropagation: 'orphan',
  prepareForCreate: generateSelector,
  validate: validateJob,
  validateUpdate: validateJobUpdate,
  subresources: { status: { validateUpdate: validateJobStatusUpdate } },
  columns: [
    nameColumn,
    text('Status', statusText, { description: 'Status of the job.' }),
    text('Completions', completionsText),
    text('Duration', durationText, { description: 'Time required to complete the job.' }),
    ageColumn,
    ...containerColumns<Job>(({ spec }) => spec.template.spec.containers),
    text('Selector', ({ spec }) => labelSelectorText(spec.selector), { wide: true }),
  ],
};

/**
 * The Job's uid is in its Pods' labels and in its selector, so that no two Jobs ever share a Pod. A Job without labels of its own has its
 * template's (a default, which upstream fills in anew with every read): these too.
 */
function generateSelector(job: Draft<Job>): void {
  const { spec } = job;
  if (spec.manualSelector) return;
  const uid = job.metadata.uid ?? '';
  const labels = partOf(partOf(spec.template, 'metadata'), 'labels');
  for (const key of [jobLabels.jobName, jobLabels.legacyJobName]) labels[key] ??= job.metadata.name ?? '';
  for (const key of [jobLabels.controllerUid, jobLabels.legacyControllerUid]) labels[key] ??= uid;
  partOf(partOf(spec, 'selector'), 'matchLabels')[jobLabels.controllerUid] ??= uid;
  if (isEmpty(job.metadata.labels)) job.metadata.labels = { ...labels };
}

/** The first that holds is the Job's state. */
function statusText({ metadata, status }: Job): string {
  const is = (type: string) => isConditionTrue(status?.conditions, type);
  if (is('Complete')) return 'Complete';
  if (is('Failed')) return 'Failed';
  if (metadata.deletionTimestamp != null) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(is) ?? 'Running';
}

function completionsText({ spec, status }: Job): string {
  const succeeded = status?.succeeded ?? 0;
  if (spec.completions != null) return `${succeeded}/${spec.completions}`;
  const parallelism = spec.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationText({ status }: Job, nowMs: number): string {
  if (!status?.startTime) return '';
  const endMs = status.completionTime ? Date.parse(status.completionTime) : nowMs;
  return humanDuration(endMs - Date.parse(status.startTime));
}
