/**
 * Starts a Job whenever a CronJob's schedule says so, minds what it started, and clears away old Jobs. A start that was missed while
 * nobody looked is made up for once, unless its deadline has passed.
 */
import { type CronJob, type CronJobStatus, cronJobs, type Job, jobs as jobType } from '../../api/gen/batch-v1.ts';
import type { ObjectReference } from '../../api/gen/core-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { controllerReference, isControlledBy } from '../../apimachinery/meta.ts';
import { isAlreadyExists, isNamespaceTerminating, isNotFound, messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { CauseNote, CauseSubject } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { withKind } from '../common/events.ts';
import { controlledBy, indexOwnership } from '../common/ownership.ts';
import { sameStatus } from '../common/wire-equality.ts';
import { endOf, isTooLate, jobNameFor, nextLookInMs, planHistory, planStart } from './plan.ts';
import { parseSchedule, type Schedule, wallClock } from './schedule.ts';

const scheduledAnnotation = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

export interface CronJobControllerOptions {
  readonly workers?: number | undefined;
}

export async function runCronJobController(
  context: ComponentContext,
  options: CronJobControllerOptions = {},
): Promise<void> {
  const all = context.informers.of(cronJobs);
  const jobs = context.informers.of(jobType);
  indexOwnership(jobs);
  const loop = new CronLoop(context, all, jobs);
  const controller = createController(context, {
    name: 'cronjob-controller',
    queue: 'cronjob',
    workers: options.workers ?? 5,
    waitFor: [all, jobs],
    reconcile: (key: string) => loop.reconcile(key),
  });
  controller.watch(all);
  controller.watchOwned(jobs, cronJobs);
  await controller.run();
}

const jobSubject = { group: jobType.group, kind: jobType.kind };

interface StartOutcome {
  readonly status?: CronJobStatus;
  readonly causes?: readonly CauseNote[];
}

class CronLoop {
  readonly #context: ComponentContext;
  readonly #all: Informer<CronJob>;
  readonly #jobs: Informer<Job>;
  readonly #events: EventRecorder;

  constructor(context: ComponentContext, all: Informer<CronJob>, jobs: Informer<Job>) {
    this.#context = context;
    this.#all = all;
    this.#jobs = jobs;
    this.#events = context.eventRecorder('cronjob-controller');
  }

  async reconcile(key: string): Promise<ReconcileResult | undefined> {
    const cronJob = this.#all.get(key);
    if (!cronJob) return undefined;
    const children = controlledBy(this.#jobs, cronJob);
    let status = await this.#mind(cronJob, children);
    let againAfterMs: number | undefined;
    let causes: readonly CauseNote[] = cronJob.spec.suspend
      ? [{ reason: 'Suspended', message: 'it starts no Jobs until it is resumed (spec.suspend)' }]
      : [];
    const schedule = cronJob.metadata.deletionTimestamp || cronJob.spec.suspend ? undefined : this.#scheduleOf(cronJob);
    if (schedule) {
      const started = await this.#start(cronJob, schedule, status);
      ({ causes = [] } = started);
      status = started.status ?? status;
      const sinceMs = Date.parse(status.lastScheduleTime ?? cronJob.metadata.creationTimestamp ?? '');
      againAfterMs = nextLookInMs(schedule, sinceMs, this.#context.clock.now());
    }
    if (!sameStatus(cronJob.status, status)) await this.#context.client.updateStatus(cronJobs, { ...cronJob, status });
    for (const job of planHistory(cronJob, children)) await this.#delete(cronJob, job.metadata.name ?? '');
    return { againAfterMs, causes: schedule || causes.length > 0 ? causes : this.#unusable(cronJob) };
  }

  #unusable({ metadata, spec }: CronJob): readonly CauseNote[] {
    if (metadata.deletionTimestamp) return [];
    const zone = spec.timeZone ? ` in time zone ${quote(spec.timeZone)}` : '';
    return [{ reason: 'UnusableSchedule', message: `the schedule ${quote(spec.schedule)}${zone} cannot be read` }];
  }

  /** The status after a look at the Jobs that were started: which still run, which ended and how, which vanished. */
  async #mind(cronJob: CronJob, children: readonly Job[]): Promise<CronJobStatus> {
    const active = new Map((cronJob.status?.active ?? []).map((reference) => [reference.uid, reference]));
    let lastSuccessfulTime = cronJob.status?.lastSuccessfulTime;
    for (const job of children) {
      const end = endOf(job);
      const name = job.metadata.name ?? '';
      if (!active.has(job.metadata.uid)) {
        const message = `Saw a job that the controller did not create or forgot: ${name}`;
        if (!end && (await this.#isForgotten(cronJob, job))) this.#record(cronJob, 'Warning', 'UnexpectedJob', message);
      } else if (end) {
        active.delete(job.metadata.uid);
        this.#record(cronJob, 'Normal', 'SawCompletedJob', `Saw completed job: ${name}, condition: ${end}`);
      }
      const completed = end === 'Complete' ? job.status?.completionTime : undefined;
      if (completed && completed > (lastSuccessfulTime ?? '')) lastSuccessfulTime = completed;
    }
    const known = new Set(children.map(({ metadata }) => metadata.uid));
    for (const [uid, reference] of active) {
      if (known.has(uid) || (await this.#live(reference))) continue;
      active.delete(uid);
      this.#record(cronJob, 'Normal', 'MissingJob', `Active job went missing: ${reference.name}`);
    }
    return { ...cronJob.status, active: [...active.values()], lastSuccessfulTime };
  }

  /** The Jobs' informer may be ahead of our own status. */
  async #isForgotten({ metadata }: CronJob, job: Job): Promise<boolean> {
    const { namespace, name = '' } = metadata;
    try {
      const live = await this.#context.client.get(cronJobs, { namespace, name });
      return !live.status?.active?.some(({ uid }) => uid === job.metadata.uid);
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async #live({ namespace, name = '', uid }: ObjectReference): Promise<boolean> {
    try {
      const job = await this.#context.client.get(jobType, { namespace, name });
      return job.metadata.uid === uid;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  #scheduleOf(cronJob: CronJob): Schedule | undefined {
    const { schedule, timeZone } = cronJob.spec;
    try {
      if (timeZone) wallClock(timeZone);
    } catch (error) {
      const message = `invalid timeZone: ${quote(timeZone ?? '')}: ${messageOf(error)}`;
      this.#record(cronJob, 'Warning', 'UnknownTimeZone', message);
      return undefined;
    }
    if (schedule.includes('TZ')) {
      const message = `CRON_TZ or TZ used in schedule ${quote(schedule)} is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details`;
      this.#record(cronJob, 'Warning', 'UnsupportedSchedule', message);
    }
    try {
      return parseSchedule(schedule, timeZone);
    } catch (error) {
      this.#record(
        cronJob,
        'Warning',
        'UnparseableSchedule',
        `unparseable schedule: ${quote(schedule)} : ${messageOf(error)}`,
      );
      return undefined;
    }
  }

  /** The status with the Job that was started, or why one that is due was not. */
  async #start(cronJob: CronJob, schedule: Schedule, status: CronJobStatus): Promise<StartOutcome> {
    const nowMs = this.#context.clock.now();
    const { dueMs, tooManyMissed } = planStart(cronJob, schedule, nowMs);
    if (tooManyMissed) {
      const message = 'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew';
      this.#record(cronJob, 'Warning', 'TooManyMissedTimes', message);
    }
    if (dueMs === undefined) return {};
    if (isTooLate(cronJob, dueMs, nowMs)) {
      const scheduled = new Date(dueMs).toUTCString().replace('GMT', '+0000');
      this.#record(cronJob, 'Warning', 'MissSchedule', `Missed scheduled time to start a job: ${scheduled}`);
      const late = `the start of ${formatTime(dueMs)} was missed by more than startingDeadlineSeconds, and the next is waited for`;
      return { causes: [{ reason: 'StartMissed', message: late }] };
    }
    const name = jobNameFor(cronJob, dueMs);
    const active = status.active ?? [];
    if (active.some((reference) => reference.name === name) || status.lastScheduleTime === formatTime(dueMs)) return {};
    if (cronJob.spec.concurrencyPolicy === 'Forbid' && active.length > 0) {
      const message = 'Not starting job because prior execution is running and concurrency policy is Forbid';
      this.#record(cronJob, 'Normal', 'JobAlreadyActive', message);
      const waitsFor = active.map(
        ({ namespace, name: job = '' }): CauseSubject => ({ ...jobSubject, namespace, name: job }),
      );
      const held = `the start of ${formatTime(dueMs)} waits for the Job before it to end (concurrencyPolicy Forbid)`;
      return { causes: [{ reason: 'JobAlreadyActive', message: held, waitsFor }] };
    }
    let kept = active;
    if (cronJob.spec.concurrencyPolicy === 'Replace') {
      for (const reference of active) await this.#delete(cronJob, reference.name ?? '');
      kept = [];
    }
    const job = await this.#create(cronJob, name, dueMs);
    if (!job) return {};
    const { metadata } = job;
    const reference: ObjectReference = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      namespace: metadata.namespace,
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
    };
    return { status: { ...status, active: [...kept, reference], lastScheduleTime: formatTime(dueMs) } };
  }

  async #create(cronJob: CronJob, name: string, dueMs: number): Promise<Job | undefined> {
    const { client } = this.#context;
    const { namespace } = cronJob.metadata;
    const { metadata, spec } = cronJob.spec.jobTemplate;
    const annotations = { ...metadata?.annotations, [scheduledAnnotation]: zonedTime(dueMs, cronJob.spec.timeZone) };
    const ownerReferences = [controllerReference(cronJob, cronJobs)];
    try {
      const job = await client.create(jobType, {
        metadata: { namespace, name, labels: metadata?.labels, annotations, ownerReferences },
        spec,
      });
      this.#record(cronJob, 'Normal', 'SuccessfulCreate', `Created job ${name}`);
      return job;
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      if (isAlreadyExists(error)) {
        // Made before a crash, with the status not yet written.
        const present = await client.get(jobType, { namespace, name });
        return isControlledBy(present, cronJob) && !endOf(present) ? present : undefined;
      }
      this.#record(cronJob, 'Warning', 'FailedCreate', `Error creating job: ${messageOf(error)}`);
      throw error;
    }
  }

  async #delete(cronJob: CronJob, name: string): Promise<void> {
    const { namespace } = cronJob.metadata;
    try {
      await this.#context.client.delete(jobType, { namespace, name }, { propagationPolicy: 'Background' });
      this.#record(cronJob, 'Normal', 'SuccessfulDelete', `Deleted job ${name}`);
    } catch (error) {
      if (isNotFound(error)) return;
      this.#record(cronJob, 'Warning', 'FailedDelete', `Deleted job: ${messageOf(error)}`);
      throw error;
    }
  }

  #record(cronJob: CronJob, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#events.record(withKind(cronJobs, cronJob), type, reason, message);
  }
}

/** RFC 3339 in the CronJob's zone: `2026-01-02T09:00:00+01:00`. */
function zonedTime(atMs: number, timeZone: string | undefined): string {
  const offsetMinutes = Math.round(wallClock(timeZone ?? 'UTC').offsetMs(atMs) / 60_000);
  if (offsetMinutes === 0) return formatTime(atMs);
  const two = (value: number) => String(value).padStart(2, '0');
  const size = Math.abs(offsetMinutes);
  const offset = `${offsetMinutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
  return `${formatTime(atMs + offsetMinutes * 60_000).slice(0, -1)}${offset}`;
}
