/** CronJobs: Jobs by the clock. */
import {
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { byteLength } from '../../../apimachinery/names.ts';
import { ageColumn, boolean, containerColumns, integer, labelSelectorText, nameColumn, text } from '../../columns.ts';
import { fillAbsent, fillEmpty, partOf } from '../../defaulting.ts';
import { type CronJob, type CronJobSpec, cronJobs, type JobTemplateSpec } from '../../gen/batch-v1.ts';
import { age } from '../../human-duration.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateNonNegative, validateRequiredEnum } from '../../validation.ts';
import { CronScheduleError, isTimeZone, parseCronSchedule } from './cron-schedule.ts';
import { defaultTemplatedJob } from './job-defaults.ts';
import { validateJobSpec } from './job-validation.ts';

/** A Job's name is the CronJob's with a dash and up to ten digits. */
const longestName = 52;

export const cronJobBehaviour: KindBehaviour<CronJob> = {
  resource: cronJobs,
  defaults(cronJob: Draft<CronJob>) {
    const spec = partOf(cronJob, 'spec');
    fillEmpty(spec, 'concurrencyPolicy', 'Allow');
    fillAbsent(spec, 'suspend', false);
    fillAbsent(spec, 'successfulJobsHistoryLimit', 3);
    fillAbsent(spec, 'failedJobsHistoryLimit', 1);
    defaultTemplatedJob(partOf(partOf(spec, 'jobTemplate'), 'spec'));
  },
  countsGeneration: true,
  validate({ metadata, spec }) {
    const errors = validateSpec(path('spec'), spec, undefined);
    if (byteLength(metadata.name ?? '') > longestName) {
      errors.push(invalid(path('metadata', 'name'), metadata.name, `must be no more than ${longestName} characters`));
    }
    return errors;
  },
  validateUpdate: ({ spec }, previous) => validateSpec(path('spec'), spec, previous.spec),
  columns: [
    nameColumn,
    text('Schedule', ({ spec }) => spec.schedule),
    text('Timezone', ({ spec }) => spec.timeZone ?? '<none>'),
    boolean('Suspend', ({ spec }) => (spec.suspend == null ? '<unset>' : spec.suspend ? 'True' : 'False')),
    integer('Active', ({ status }) => status?.active?.length ?? 0),
    text('Last Schedule', ({ status }, nowMs) =>
      status?.lastScheduleTime ? age(status.lastScheduleTime, nowMs) : '<none>',
    ),
    ageColumn,
    ...containerColumns<CronJob>(({ spec }) => spec.jobTemplate.spec.template.spec.containers),
    text('Selector', ({ spec }) => labelSelectorText(spec.jobTemplate.spec.selector), { wide: true }),
  ],
};

function validateSpec(at: FieldPath, spec: CronJobSpec, stored: CronJobSpec | undefined): FieldError[] {
  const errors = validateSchedule(at.child('schedule'), spec, stored);
  errors.push(...validateNonNegative(at.child('startingDeadlineSeconds'), spec.startingDeadlineSeconds));
  if (!stored || stored.timeZone !== spec.timeZone)
    errors.push(...validateTimeZone(at.child('timeZone'), spec.timeZone));
  errors.push(
    ...validateRequiredEnum(at.child('concurrencyPolicy'), spec.concurrencyPolicy, ['Allow', 'Forbid', 'Replace']),
  );
  errors.push(...validateJobTemplate(at.child('jobTemplate', 'spec'), spec.jobTemplate));
  for (const field of ['successfulJobsHistoryLimit', 'failedJobsHistoryLimit'] as const) {
    errors.push(...validateNonNegative(at.child(field), spec[field]));
  }
  return errors;
}

function validateSchedule(
  at: FieldPath,
  { schedule, timeZone }: CronJobSpec,
  stored: CronJobSpec | undefined,
): FieldError[] {
  if (!schedule) return [required(at)];
  const errors: FieldError[] = [];
  try {
    parseCronSchedule(schedule);
  } catch (error) {
    if (!(error instanceof CronScheduleError)) throw error;
    errors.push(invalid(at, schedule, error.message));
  }
  if (!schedule.includes('TZ')) return errors;
  // A zone in the schedule was never meant to work; those that have one keep it.
  if (!stored?.schedule?.includes('TZ')) {
    errors.push(invalid(at, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'));
  } else if (timeZone != null) {
    errors.push(invalid(at, schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule'));
  }
  return errors;
}

const timeZonePart = /^[A-Za-z.\-_0-9+]{1,14}$/;

function validateTimeZone(at: FieldPath, timeZone: string | undefined): FieldError[] {
  if (timeZone == null) return [];
  if (timeZone === '') return [invalid(at, timeZone, 'timeZone must be nil or non-empty string')];
  const unknown = invalid(at, timeZone, `unknown time zone ${timeZone}`);
  const strange = (part: string) => part === '.' || part === '..' || part.startsWith('-') || !timeZonePart.test(part);
  if (timeZone.split('/').some(strange)) return [unknown];
  const errors: FieldError[] = [];
  if (timeZone.toLowerCase() === 'local') {
    const message = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones';
    errors.push(invalid(at, timeZone, message));
  }
  if (timeZone !== 'Local' && !isTimeZone(timeZone)) errors.push(unknown);
  return errors;
}

function validateJobTemplate(at: FieldPath, { spec }: JobTemplateSpec): FieldError[] {
  const errors = validateJobSpec(at, spec);
  if (spec.selector) errors.push(invalid(at.child('selector'), spec.selector, '`selector` will be auto-generated'));
  if (spec.manualSelector) errors.push(notSupported(at.child('manualSelector'), true, ['nil', 'false']));
  return errors;
}
