/** Validation of Jobs: of the spec, of what may still change, and of the labels that tie Pods to their Job. */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  omittedValue,
  path,
  required,
  tooLong,
  tooMany,
} from '../../../apimachinery/field-error.ts';
import { validateLabelSelector } from '../../../apimachinery/labels.ts';
import { byteLength, dns1123Label } from '../../../apimachinery/names.ts';
import { selectorMatches, validatePodTemplate, validateTemplateLabels } from '../../core/v1/pod-template.ts';
import { semanticallyEqual } from '../../equality.ts';
import type {
  Job,
  JobSpec,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyRule,
  SuccessPolicy,
  SuccessPolicyRule,
} from '../../gen/batch-v1.ts';
import type { PodTemplateSpec } from '../../gen/core-v1.ts';
import {
  validateDomainPrefixedPath,
  validateImmutable,
  validateNonNegative,
  validateQualifiedName,
} from '../../validation.ts';
import { countIndexes, IndexListError, parseIndexList } from './index-list.ts';

export const jobLabels = {
  controllerUid: 'batch.kubernetes.io/controller-uid',
  jobName: 'batch.kubernetes.io/job-name',
  legacyControllerUid: 'controller-uid',
  legacyJobName: 'job-name',
} as const;

const limits = {
  parallelismOfIndexed: 100_000,
  failedIndexes: 100_000,
  manyCompletions: 100_000,
  parallelismOfMany: 10_000,
  failedIndexesOfMany: 10_000,
  failureRules: 20,
  exitCodes: 255,
  conditionPatterns: 20,
  managedBy: 63,
  successIndexes: 64 * 1024,
  successRules: 20,
} as const;

const specAt = path('spec');

export function validateJob(job: Job): FieldError[] {
  const { spec, metadata } = job;
  const errors = [...validateGeneratedSelector(job), ...validateSpec(specAt, spec)];
  if (spec.completionMode === 'Indexed' && (spec.completions ?? 0) > 0) {
    const hostname = `${metadata.name}-${spec.completions! - 1}`;
    if (dns1123Label(hostname).length > 0) {
      const message = `will not able to create pod with invalid DNS label: ${hostname}`;
      errors.push(invalid(path('metadata', 'name'), metadata.name, message));
    }
  }
  return errors;
}

/** Unless told otherwise, a Job's Pods carry its uid and name, and its selector is made of them. */
function validateGeneratedSelector({ metadata, spec }: Job): FieldError[] {
  if (spec.manualSelector || !spec.selector) return [];
  const errors = metadata.uid ? [] : [required(path('metadata', 'uid'))];
  const expected: Record<string, string> = {
    [jobLabels.legacyControllerUid]: metadata.uid ?? '',
    [jobLabels.legacyJobName]: metadata.name ?? '',
    [jobLabels.controllerUid]: metadata.uid ?? '',
    [jobLabels.jobName]: metadata.name ?? '',
  };
  const labels = spec.template.metadata?.labels;
  for (const [key, value] of Object.entries(expected)) {
    const at = specAt.child('template', 'metadata', 'labels').key(key);
    const found = labels?.[key];
    if (found === undefined) errors.push(required(at, `must be '${value}'`));
    else if (found !== value) errors.push(invalid(at, labels, `must be '${value}'`));
  }
  if (selectorMatches(spec.selector, expected) === false) {
    errors.push(invalid(specAt.child('selector'), spec.selector, '`selector` not auto-generated'));
  }
  return errors;
}

function validateSpec(at: FieldPath, spec: JobSpec): FieldError[] {
  const errors = validateJobSpec(at, spec);
  if (!spec.selector) errors.push(required(at.child('selector')));
  else errors.push(...validateLabelSelector(spec.selector, at.child('selector')));
  if (selectorMatches(spec.selector, spec.template.metadata?.labels) === false) {
    errors.push(validateTemplateLabels(at.child('template'), spec.template));
  }
  return errors;
}

/** All of a spec but its selector: what can be said of a CronJob's template, too. */
export function validateJobSpec(at: FieldPath, spec: JobSpec): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    'backoffLimitPerIndex',
    'maxFailedIndexes',
  ] as const) {
    errors.push(...validateNonNegative(at.child(field), spec[field]));
  }
  if (spec.maxFailedIndexes != null && spec.backoffLimitPerIndex == null) {
    errors.push(required(at.child('backoffLimitPerIndex'), 'when maxFailedIndexes is specified'));
  }
  if (spec.managedBy != null) {
    errors.push(...validateDomainPrefixedPath(at.child('managedBy'), spec.managedBy));
    if (byteLength(spec.managedBy) > limits.managedBy) errors.push(tooLong(at.child('managedBy'), limits.managedBy));
  }
  errors.push(...validateCompletionMode(at, spec), ...validatePolicies(at, spec));
  errors.push(...validatePodTemplate(at.child('template'), spec.template));
  return [...errors, ...validateRestartPolicy(at.child('template', 'spec', 'restartPolicy'), spec)];
}

function validateCompletionMode(at: FieldPath, spec: JobSpec): FieldError[] {
  const { completionMode, completions, parallelism, maxFailedIndexes, backoffLimitPerIndex } = spec;
  const errors: FieldError[] = [];
  if (completionMode != null && completionMode !== 'NonIndexed' && completionMode !== 'Indexed') {
    errors.push(notSupported(at.child('completionMode'), completionMode, ['NonIndexed', 'Indexed']));
  }
  if (completionMode == null || completionMode === 'NonIndexed') {
    for (const field of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const) {
      if (spec[field] != null) errors.push(invalid(at.child(field), spec[field], 'requires indexed completion mode'));
    }
  }
  if (completionMode !== 'Indexed') return errors;
  if (completions == null) errors.push(required(at.child('completions'), 'when completion mode is Indexed'));
  const atMost = (field: 'parallelism' | 'maxFailedIndexes', most: number, words: string) => {
    const value = spec[field];
    if (value != null && value > most)
      errors.push(invalid(at.child(field), value, `must be less than or equal to ${words}`));
  };
  atMost('parallelism', limits.parallelismOfIndexed, `${limits.parallelismOfIndexed} when completion mode is Indexed`);
  if (completions != null) atMost('maxFailedIndexes', completions, 'completions');
  atMost('maxFailedIndexes', limits.failedIndexes, String(limits.failedIndexes));
  if (completions == null || completions <= limits.manyCompletions || backoffLimitPerIndex == null) return errors;
  if (maxFailedIndexes == null) {
    const message = `must be specified when completions is above ${limits.manyCompletions}`;
    errors.push(required(at.child('maxFailedIndexes'), message));
  }
  const words = `when completions are above ${limits.manyCompletions} and used with backoff limit per index`;
  if (parallelism != null) atMost('parallelism', limits.parallelismOfMany, `${limits.parallelismOfMany} ${words}`);
  atMost('maxFailedIndexes', limits.failedIndexesOfMany, `${limits.failedIndexesOfMany} ${words}`);
  return errors;
}

function validatePolicies(at: FieldPath, spec: JobSpec): FieldError[] {
  const errors: FieldError[] = [];
  const { podFailurePolicy, successPolicy, podReplacementPolicy } = spec;
  if (podFailurePolicy) {
    const rulesAt = at.child('podFailurePolicy', 'rules');
    const rules = podFailurePolicy.rules ?? [];
    if (rules.length > limits.failureRules) errors.push(tooMany(rulesAt, rules.length, limits.failureRules));
    errors.push(...rules.flatMap((rule, index) => validateFailureRule(rulesAt.index(index), rule, spec)));
  }
  if (successPolicy) {
    const policyAt = at.child('successPolicy');
    if (spec.completionMode !== 'Indexed') {
      errors.push(invalid(policyAt, shownSuccess(successPolicy), 'requires indexed completion mode'));
    } else {
      const rules = successPolicy.rules ?? [];
      const rulesAt = policyAt.child('rules');
      if (rules.length === 0) {
        errors.push(required(rulesAt, 'at least one rules must be specified when the successPolicy is specified'));
      }
      if (rules.length > limits.successRules) errors.push(tooMany(rulesAt, rules.length, limits.successRules));
      errors.push(...rules.flatMap((rule, index) => validateSuccessRule(rulesAt.index(index), rule, spec)));
    }
  }
  if (podReplacementPolicy != null) {
    const supported = podFailurePolicy ? ['Failed'] : ['Failed', 'TerminatingOrFailed'];
    if (!supported.includes(podReplacementPolicy)) {
      errors.push(notSupported(at.child('podReplacementPolicy'), podReplacementPolicy, supported));
    }
  }
  return errors;
}

const failureActions = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const conditionStatuses = ['False', 'True', 'Unknown'];
const exitCodeOperators = ['In', 'NotIn'];

/** Go's `%q` of a list: `["a" "b"]`. */
function validValues(values: readonly string[]): string {
  return `valid values: [${values.map((value) => `"${value}"`).join(' ')}]`;
}

function validateFailureRule(at: FieldPath, rule: PodFailurePolicyRule, spec: JobSpec): FieldError[] {
  const errors: FieldError[] = [];
  const actionAt = at.child('action');
  const { action, onExitCodes, onPodConditions = [] } = rule;
  if (!action) errors.push(required(actionAt, validValues(failureActions)));
  else if (action === 'FailIndex') {
    if (spec.backoffLimitPerIndex == null) {
      errors.push(invalid(actionAt, action, 'requires the backoffLimitPerIndex to be set'));
    }
  } else if (!failureActions.includes(action)) errors.push(notSupported(actionAt, action, failureActions));
  if (onExitCodes) errors.push(...validateExitCodes(at.child('onExitCodes'), onExitCodes, spec));
  const patternsAt = at.child('onPodConditions');
  if (onPodConditions.length > limits.conditionPatterns) {
    errors.push(tooMany(patternsAt, onPodConditions.length, limits.conditionPatterns));
  }
  for (const [index, { type, status }] of onPodConditions.entries()) {
    const here = patternsAt.index(index);
    errors.push(...validateQualifiedName(here.child('type'), type ?? ''));
    if (!status) errors.push(required(here.child('status'), validValues(conditionStatuses)));
    else if (!conditionStatuses.includes(status)) {
      errors.push(notSupported(here.child('status'), status, conditionStatuses));
    }
  }
  if (onExitCodes && onPodConditions.length > 0) {
    errors.push(invalid(at, omittedValue, 'specifying both OnExitCodes and OnPodConditions is not supported'));
  }
  if (!onExitCodes && onPodConditions.length === 0) {
    errors.push(invalid(at, omittedValue, 'specifying one of OnExitCodes and OnPodConditions is required'));
  }
  return errors;
}

function validateExitCodes(
  at: FieldPath,
  { operator, containerName, values = [] }: PodFailurePolicyOnExitCodesRequirement,
  spec: JobSpec,
): FieldError[] {
  const errors: FieldError[] = [];
  if (!operator) errors.push(required(at.child('operator'), validValues(exitCodeOperators)));
  else if (!exitCodeOperators.includes(operator)) {
    errors.push(notSupported(at.child('operator'), operator, exitCodeOperators));
  }
  const { containers = [], initContainers = [] } = spec.template.spec;
  if (containerName != null && ![...containers, ...initContainers].some(({ name }) => name === containerName)) {
    const message = 'must be one of the container or initContainer names in the pod template';
    errors.push(invalid(at.child('containerName'), containerName, message));
  }
  const valuesAt = at.child('values');
  if (values.length === 0) errors.push(invalid(valuesAt, values, 'at least one value is required'));
  if (values.length > limits.exitCodes) errors.push(tooMany(valuesAt, values.length, limits.exitCodes));
  for (const [index, value] of values.entries()) {
    const here = valuesAt.index(index);
    if (operator === 'In' && value === 0) errors.push(invalid(here, value, 'must not be 0 for the In operator'));
    if (values.indexOf(value) < index) errors.push(duplicate(here, value));
  }
  if (values.some((value, index) => index > 0 && values[index - 1]! > value)) {
    errors.push(invalid(valuesAt, values, 'must be ordered'));
  }
  return errors;
}

function validateSuccessRule(at: FieldPath, rule: SuccessPolicyRule, spec: JobSpec): FieldError[] {
  const { succeededCount, succeededIndexes } = rule;
  const errors: FieldError[] = [];
  if (succeededCount == null && succeededIndexes == null) {
    errors.push(required(at, 'at least one of succeededCount or succeededIndexes must be specified'));
  }
  const completions = spec.completions ?? 0;
  let indexes = 0;
  if (succeededIndexes != null) {
    const indexesAt = at.child('succeededIndexes');
    if (byteLength(succeededIndexes) > limits.successIndexes) errors.push(tooLong(indexesAt, limits.successIndexes));
    try {
      indexes = countIndexes(parseIndexList(succeededIndexes, completions));
    } catch (error) {
      if (!(error instanceof IndexListError)) throw error;
      errors.push(invalid(indexesAt, succeededIndexes, `error parsing succeededIndexes: ${error.message}`));
    }
  }
  if (succeededCount == null) return errors;
  const countAt = at.child('succeededCount');
  errors.push(...validateNonNegative(countAt, succeededCount));
  if (succeededCount > completions) {
    const message = `must be less than or equal to ${completions} (the number of specified completions)`;
    errors.push(invalid(countAt, succeededCount, message));
  }
  if (succeededIndexes != null && succeededCount > indexes) {
    const whole = 'the number of indexes in the specified succeededIndexes field';
    errors.push(invalid(countAt, succeededCount, `must be less than or equal to ${indexes} (${whole})`));
  }
  return errors;
}

function validateRestartPolicy(at: FieldPath, { template, podFailurePolicy }: JobSpec): FieldError[] {
  const policy = template.spec.restartPolicy;
  if (!policy || policy === 'Always') return [required(at, 'valid values: "OnFailure", "Never"')];
  if (policy !== 'OnFailure' && policy !== 'Never') return [notSupported(at, policy, ['OnFailure', 'Never'])];
  if (podFailurePolicy && policy !== 'Never') {
    return [invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')];
  }
  return [];
}

export function validateJobUpdate(job: Job, previous: Job): FieldError[] {
  const next = job.spec;
  const stored = previous.spec;
  const immutable = (
    field: 'completionMode' | 'podFailurePolicy' | 'backoffLimitPerIndex' | 'managedBy' | 'successPolicy',
  ) => validateImmutable(specAt.child(field), next[field], stored[field]);
  return [
    ...validateSpec(specAt, next),
    ...validateCompletions(next, stored),
    ...validateImmutable(specAt.child('selector'), next.selector, stored.selector),
    ...validateTemplateUpdate(job, previous),
    ...immutable('completionMode'),
    ...immutable('podFailurePolicy'),
    ...immutable('backoffLimitPerIndex'),
    ...immutable('managedBy'),
    ...immutable('successPolicy'),
  ];
}

/** An indexed Job grows and shrinks with its parallelism. */
function validateCompletions(next: JobSpec, stored: JobSpec): FieldError[] {
  const at = specAt.child('completions');
  if (next.completionMode !== 'Indexed') return validateImmutable(at, next.completions, stored.completions);
  if (next.completions == null || next.completions === stored.completions) return [];
  if (next.completions === next.parallelism) return [];
  return [invalid(at, next.completions, 'can only be modified in tandem with spec.parallelism')];
}

/** While a Job is suspended and none of its Pods are left, where and how large they will be can still be chosen. */
function validateTemplateUpdate({ spec }: Job, previous: Job): FieldError[] {
  const at = specAt.child('template');
  const stored = previous.spec;
  const status = previous.status ?? {};
  const suspended = stored.suspend === true;
  const seenSuspended = status.conditions?.some(({ type, status: s }) => type === 'Suspended' && s === 'True') ?? false;
  const open = suspended && !status.active && (status.startTime == null || seenSuspended);
  if (!open) return validateImmutable(at, spec.template, stored.template);
  const rest = withDirectives(stored.template, spec.template);
  return semanticallyEqual(rest, spec.template)
    ? []
    : validateImmutable(specAt.child('template.spec'), spec.template, rest);
}

function withDirectives(stored: PodTemplateSpec, next: PodTemplateSpec): PodTemplateSpec {
  const withSizes = (list: 'containers' | 'initContainers') =>
    (stored.spec[list] ?? []).map((container, index) => {
      const wanted = next.spec[list]?.[index];
      const same = next.spec[list]?.length === stored.spec[list]?.length && wanted?.name === container.name;
      return same ? { ...container, resources: wanted.resources } : container;
    });
  return {
    ...stored,
    metadata: { ...stored.metadata, labels: next.metadata?.labels, annotations: next.metadata?.annotations },
    spec: {
      ...stored.spec,
      containers: withSizes('containers'),
      initContainers: withSizes('initContainers'),
      affinity:
        stored.spec.affinity || next.spec.affinity
          ? { ...stored.spec.affinity, nodeAffinity: next.spec.affinity?.nodeAffinity }
          : undefined,
      nodeSelector: next.spec.nodeSelector,
      tolerations: next.spec.tolerations,
      schedulingGates: next.spec.schedulingGates,
    },
  };
}

/** As upstream's messages show it: with the names of its own fields. */
function shownSuccess({ rules }: SuccessPolicy): object {
  const shownRules = rules?.map(({ succeededIndexes = null, succeededCount = null }) => ({
    SucceededIndexes: succeededIndexes,
    SucceededCount: succeededCount,
  }));
  return { Rules: shownRules ?? null };
}
