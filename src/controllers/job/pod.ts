/** The Pod that a Job creates, for one of its indexes where it has them. */
import { type Job, jobs } from '../../api/gen/batch-v1.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { Draft } from '../../apimachinery/meta.ts';
import { podFromTemplate } from '../common/pod-template.ts';
import { completionIndexAnnotation } from './indexes.ts';
import {
  failureCountAnnotation,
  failureCountOf,
  hasLimitPerIndex,
  ignoredFailureCountAnnotation,
  type JobView,
  trackingFinalizer,
} from './pod-view.ts';
import { matchFailure } from './policies.ts';

const indexEnvironmentName = 'JOB_COMPLETION_INDEX';

export function podForJob(job: Job, index: number | undefined, view: JobView): Draft<Pod> {
  const pod = podFromTemplate(job.spec.template, job, jobs);
  pod.metadata.finalizers = [...(pod.metadata.finalizers ?? []), trackingFinalizer];
  if (index === undefined) return pod;
  const text = String(index);
  const counts = hasLimitPerIndex(job) ? failureCounts(view.lastFailedByIndex.get(index), job) : {};
  pod.metadata.annotations = { ...pod.metadata.annotations, [completionIndexAnnotation]: text, ...counts };
  pod.metadata.labels = { ...pod.metadata.labels, [completionIndexAnnotation]: text };
  pod.metadata.generateName = `${fitting(job.metadata.name ?? '', text)}-${text}-`;
  pod.spec.hostname = `${job.metadata.name}-${text}`;
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) addIndexEnvironment(container);
  return pod;
}

/** Room for the index must be left in the 63 characters that a generated name keeps before its random part. */
function fitting(name: string, index: string): string {
  return name.slice(0, 63 - 5 - index.length - 2);
}

function addIndexEnvironment(container: Draft<Container>): void {
  if (container.env?.some(({ name }) => name === indexEnvironmentName)) return;
  const fieldRef = { fieldPath: `metadata.labels['${completionIndexAnnotation}']` };
  container.env = [...(container.env ?? []), { name: indexEnvironmentName, valueFrom: { fieldRef } }];
}

/** What the index's failures add up to, carried from Pod to Pod. */
function failureCounts(last: Pod | undefined, job: Job): Readonly<Record<string, string>> {
  if (!last) return { [failureCountAnnotation]: '0' };
  const ignored = Number(last.metadata.annotations?.[ignoredFailureCountAnnotation] ?? 0) || 0;
  const { counts } = matchFailure(job.spec.podFailurePolicy, last, true);
  const total = { failures: failureCountOf(last) + Number(counts), ignored: ignored + Number(!counts) };
  return {
    [failureCountAnnotation]: String(total.failures),
    ...(total.ignored > 0 ? { [ignoredFailureCountAnnotation]: String(total.ignored) } : {}),
  };
}
