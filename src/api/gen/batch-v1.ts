/** Types of batch/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as coreV1 from './core-v1.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type CompletionMode = 'NonIndexed' | 'Indexed';

export type ConcurrencyPolicy = 'Allow' | 'Forbid' | 'Replace';

export type PodFailurePolicyAction = 'FailJob' | 'FailIndex' | 'Ignore' | 'Count';

export type PodFailurePolicyOnExitCodesOperator = 'In' | 'NotIn';

export type PodReplacementPolicy = 'TerminatingOrFailed' | 'Failed';

export interface CronJob {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: CronJobSpec;
  readonly status?: CronJobStatus | undefined;
}

export interface CronJobList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly CronJob[];
}

export interface CronJobSpec {
  readonly schedule: string;
  readonly timeZone?: string | undefined;
  readonly startingDeadlineSeconds?: number | undefined;
  readonly concurrencyPolicy?: ConcurrencyPolicy | undefined;
  readonly suspend?: boolean | undefined;
  readonly jobTemplate: JobTemplateSpec;
  readonly successfulJobsHistoryLimit?: number | undefined;
  readonly failedJobsHistoryLimit?: number | undefined;
}

export interface CronJobStatus {
  readonly active?: readonly coreV1.ObjectReference[] | undefined;
  readonly lastScheduleTime?: string | undefined;
  readonly lastSuccessfulTime?: string | undefined;
}

export interface Job {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: JobSpec;
  readonly status?: JobStatus | undefined;
}

export interface JobCondition {
  readonly type: string;
  readonly status: string;
  readonly lastProbeTime?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface JobList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly Job[];
}

export interface JobSpec {
  readonly parallelism?: number | undefined;
  readonly completions?: number | undefined;
  readonly activeDeadlineSeconds?: number | undefined;
  readonly podFailurePolicy?: PodFailurePolicy | undefined;
  readonly successPolicy?: SuccessPolicy | undefined;
  readonly backoffLimit?: number | undefined;
  readonly backoffLimitPerIndex?: number | undefined;
  readonly maxFailedIndexes?: number | undefined;
  readonly selector?: metaV1.LabelSelector | undefined;
  readonly manualSelector?: boolean | undefined;
  readonly template: coreV1.PodTemplateSpec;
  readonly ttlSecondsAfterFinished?: number | undefined;
  readonly completionMode?: CompletionMode | undefined;
  readonly suspend?: boolean | undefined;
  readonly podReplacementPolicy?: PodReplacementPolicy | undefined;
  readonly managedBy?: string | undefined;
}

export interface JobStatus {
  readonly conditions?: readonly JobCondition[] | undefined;
  readonly startTime?: string | undefined;
  readonly completionTime?: string | undefined;
  readonly active?: number | undefined;
  readonly succeeded?: number | undefined;
  readonly failed?: number | undefined;
  readonly terminating?: number | undefined;
  readonly completedIndexes?: string | undefined;
  readonly failedIndexes?: string | undefined;
  readonly uncountedTerminatedPods?: UncountedTerminatedPods | undefined;
  readonly ready?: number | undefined;
}

export interface JobTemplateSpec {
  readonly metadata?: metaV1.ObjectMeta | undefined;
  readonly spec: JobSpec;
}

export interface PodFailurePolicy {
  readonly rules: readonly PodFailurePolicyRule[];
}

export interface PodFailurePolicyOnExitCodesRequirement {
  readonly containerName?: string | undefined;
  readonly operator: PodFailurePolicyOnExitCodesOperator;
  readonly values: readonly number[];
}

export interface PodFailurePolicyOnPodConditionsPattern {
  readonly type: string;
  readonly status?: string | undefined;
}

export interface PodFailurePolicyRule {
  readonly action: PodFailurePolicyAction;
  readonly onExitCodes?: PodFailurePolicyOnExitCodesRequirement | undefined;
  readonly onPodConditions?: readonly PodFailurePolicyOnPodConditionsPattern[] | undefined;
}

export interface SuccessPolicy {
  readonly rules: readonly SuccessPolicyRule[];
}

export interface SuccessPolicyRule {
  readonly succeededIndexes?: string | undefined;
  readonly succeededCount?: number | undefined;
}

export interface UncountedTerminatedPods {
  readonly succeeded?: readonly string[] | undefined;
  readonly failed?: readonly string[] | undefined;
}

export const cronJobs: ResourceType<CronJob> = {
  group: 'batch',
  version: 'v1',
  resource: 'cronjobs',
  kind: 'CronJob',
  namespaced: true,
  singular: 'cronjob',
  shortNames: ['cj'],
  categories: ['all'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

export const jobs: ResourceType<Job> = {
  group: 'batch',
  version: 'v1',
  resource: 'jobs',
  kind: 'Job',
  namespaced: true,
  singular: 'job',
  shortNames: [],
  categories: ['all'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};
