/**
 * Validation of a Job's status: counts that add up, and conditions that do not contradict each other or go back. Only what an
 * update changes is held against it, so that an old status never stands in the way of a new one.
 */

import { isConditionTrue } from '../../../apimachinery/conditions.ts';
import {
  duplicate,
  type FieldError,
  invalid,
  omittedValue,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { semanticallyEqual } from '../../equality.ts';
import type { Job, JobStatus } from '../../gen/batch-v1.ts';
import { validateNonNegative } from '../../validation.ts';
import { IndexListError, type IndexRange, parseIndexList } from './index-list.ts';

const at = path('status');

export function validateJobStatusUpdate(job: Job, previous: Job): FieldError[] {
  const next = job.status ?? {};
  const stored = previous.status ?? {};
  return [
    ...validateCounts(next),
    ...validateConditions(next, stored),
    ...validateTimes(job, next, stored),
    ...validateFinished(next, stored),
    ...validateIndexes(job, next, stored),
    ...validateProgress(next, stored),
  ];
}

const is = (status: JobStatus, type: string) => isConditionTrue(status.conditions, type);
const isFinished = (status: JobStatus) => is(status, 'Complete') || is(status, 'Failed');

function validateCounts(status: JobStatus): FieldError[] {
  const errors = (['active', 'succeeded', 'failed', 'ready', 'terminating'] as const).flatMap((field) =>
    validateNonNegative(at.child(field), status[field]),
  );
  const seen = new Set<string>();
  for (const list of ['succeeded', 'failed'] as const) {
    for (const [index, uid] of (status.uncountedTerminatedPods?.[list] ?? []).entries()) {
      const here = at.child('uncountedTerminatedPods', list).index(index);
      if (uid === '') errors.push(invalid(here, uid, 'must not be empty'));
      else if (seen.has(uid)) errors.push(duplicate(here, uid));
      seen.add(uid);
    }
  }
  return errors;
}

/** Pairs that exclude each other, and conditions that must be announced by another. */
const exclusive = [
  ['Complete', 'Failed'],
  ['Complete', 'FailureTarget'],
  ['SuccessCriteriaMet', 'Failed'],
  ['SuccessCriteriaMet', 'FailureTarget'],
] as const;
const announced = [
  ['Failed', 'FailureTarget'],
  ['Complete', 'SuccessCriteriaMet'],
] as const;
const lasting = ['Failed', 'Complete', 'FailureTarget', 'SuccessCriteriaMet'] as const;

function validateConditions(next: JobStatus, stored: JobStatus): FieldError[] {
  if (semanticallyEqual(next.conditions, stored.conditions)) return [];
  const here = at.child('conditions');
  const errors: FieldError[] = [];
  const refuse = (detail: string) => errors.push(invalid(here, omittedValue, detail));
  for (const [one, other] of exclusive) {
    if (is(next, one) && is(next, other)) refuse(`cannot set ${one}=True and ${other}=true conditions`);
  }
  for (const [type, first] of announced) {
    if (is(next, type) && !is(stored, type) && !is(next, first)) {
      refuse(`cannot set ${type}=True condition without the ${first}=true condition`);
    }
  }
  for (const type of lasting) {
    if (!is(stored, type) || is(next, type)) continue;
    const words = type === 'SuccessCriteriaMet' ? 'the SuccessCriteriaMet=True' : `the terminal ${type}=True`;
    refuse(`cannot disable ${words} condition`);
  }
  return errors;
}

function validateTimes({ spec }: Job, next: JobStatus, stored: JobStatus): FieldError[] {
  const errors: FieldError[] = [];
  const { startTime, completionTime } = next;
  const completionAt = at.child('completionTime');
  const completes = is(next, 'Complete');
  const changed = completionTime !== stored.completionTime || completes !== is(stored, 'Complete');
  if (changed && completionTime != null && !completes) {
    const message = 'cannot set completionTime when there is no Complete=True condition';
    errors.push(invalid(completionAt, completionTime, message));
  }
  if (changed && completionTime == null && completes) {
    errors.push(required(completionAt, 'completionTime is required for Complete jobs'));
  }
  if (startTime != null && completionTime != null && Date.parse(completionTime) < Date.parse(startTime)) {
    errors.push(invalid(completionAt, completionTime, 'must be equal to or after `startTime`'));
  }
  if (completionTime != null && stored.completionTime != null && completionTime !== stored.completionTime) {
    errors.push(invalid(completionAt, completionTime, 'field is immutable'));
  }
  if (stored.startTime != null && startTime !== stored.startTime && !spec.suspend) {
    const message = 'field is immutable for unsuspended job once set';
    errors.push(invalid(at.child('startTime'), startTime ?? null, message));
  }
  return errors;
}

function validateFinished(next: JobStatus, stored: JobStatus): FieldError[] {
  if (!isFinished(next) || isFinished(stored)) return [];
  const errors: FieldError[] = [];
  for (const field of ['active', 'terminating'] as const) {
    const count = next[field] ?? 0;
    if (count > 0) errors.push(invalid(at.child(field), count, `${field}>0 is invalid for finished job`));
  }
  if (next.startTime == null) errors.push(required(at.child('startTime'), 'startTime is required for finished job'));
  const { succeeded = [], failed = [] } = next.uncountedTerminatedPods ?? {};
  if (succeeded.length + failed.length > 0) {
    const here = at.child('uncountedTerminatedPods');
    errors.push(invalid(here, next.uncountedTerminatedPods, 'must be empty for finished job'));
  }
  return errors;
}

function validateIndexes({ spec }: Job, next: JobStatus, stored: JobStatus): FieldError[] {
  const errors: FieldError[] = [];
  const { completedIndexes = '', failedIndexes } = next;
  const completedAt = at.child('completedIndexes');
  const failedAt = at.child('failedIndexes');
  const completedChanged = completedIndexes !== (stored.completedIndexes ?? '');
  const failedChanged = failedIndexes !== stored.failedIndexes;
  if (!completedChanged && !failedChanged) return errors;
  const read = (here: typeof completedAt, text: string, name: string): readonly IndexRange[] => {
    try {
      return parseIndexList(text, spec.completions ?? 0);
    } catch (error) {
      if (!(error instanceof IndexListError)) throw error;
      errors.push(invalid(here, text, `error parsing ${name}: ${error.message}`));
      return [];
    }
  };
  if (completedIndexes !== '' && spec.completionMode !== 'Indexed') {
    const message = 'cannot set non-empty completedIndexes when non-indexed completion mode';
    errors.push(invalid(completedAt, completedIndexes, message));
  }
  if (failedIndexes != null && spec.backoffLimitPerIndex == null) {
    const message = 'cannot set non-null failedIndexes when backoffLimitPerIndex is null';
    errors.push(invalid(failedAt, failedIndexes, message));
  }
  if (spec.completions == null) return errors;
  const completed = read(completedAt, completedIndexes, 'completedIndexes');
  const failed = failedIndexes == null ? [] : read(failedAt, failedIndexes, 'failedIndexes');
  for (const [first, last] of failed) {
    const overlap = completed.find(([start, end]) => start <= last && first <= end);
    if (!overlap) continue;
    const index = Math.max(overlap[0], first);
    errors.push(invalid(failedAt, failedIndexes, `failedIndexes and completedIndexes overlap at index: ${index}`));
    break;
  }
  return errors;
}

/** Counters go up; what is ready is active. */
function validateProgress(next: JobStatus, stored: JobStatus): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ['failed', 'succeeded'] as const) {
    const count = next[field] ?? 0;
    if (count < (stored[field] ?? 0)) {
      errors.push(invalid(at.child(field), count, `cannot decrease the ${field} counter`));
    }
  }
  if (next.ready != null && next.ready > (next.active ?? 0)) {
    errors.push(invalid(at.child('ready'), next.ready, 'cannot set more ready pods than active'));
  }
  return errors;
}
