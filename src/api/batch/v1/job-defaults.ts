/** Defaults of a Job's spec, and the smaller set of them that a CronJob's template gets. */
import type { Draft } from '../../../apimachinery/meta.ts';
import { defaultPodTemplate } from '../../core/v1/pod-spec-defaults.ts';
import { fillAbsent, fillEmpty, isEmpty, partOf } from '../../defaulting.ts';
import type { Job, JobSpec } from '../../gen/batch-v1.ts';

export function defaultJob(job: Draft<Job>): void {
  const spec = partOf(job, 'spec');
  if (spec.completions == null && spec.parallelism == null) {
    spec.completions = 1;
    spec.parallelism = 1;
  }
  fillAbsent(spec, 'parallelism', 1);
  // With a limit for each index the Job as a whole never gives up.
  fillAbsent(spec, 'backoffLimit', spec.backoffLimitPerIndex != null ? 2147483647 : 6);
  const labels = spec.template?.metadata?.labels;
  if (labels && isEmpty(job.metadata.labels)) job.metadata.labels = { ...labels };
  fillAbsent(spec, 'completionMode', 'NonIndexed');
  fillAbsent(spec, 'suspend', false);
  fillAbsent(spec, 'podReplacementPolicy', spec.podFailurePolicy ? 'Failed' : 'TerminatingOrFailed');
  fillAbsent(spec, 'manualSelector', false);
  defaultTemplatedJob(spec);
}

/** What holds for the spec of a Job that is yet to be made, too. */
export function defaultTemplatedJob(spec: Draft<JobSpec>): void {
  for (const rule of spec.podFailurePolicy?.rules ?? []) {
    for (const pattern of rule.onPodConditions ?? []) fillEmpty(pattern, 'status', 'True');
  }
  defaultPodTemplate(partOf(spec, 'template'));
}
