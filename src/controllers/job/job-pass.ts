/**
 * One pass over one Job: view its Pods, decide, create or delete, count, and write the status in the order that loses no Pod and
 * counts none twice (`tracking.ts`). An instance lives for one pass.
 */
import { type Job, type JobCondition, type JobStatus, jobs } from '../../api/gen/batch-v1.ts';
import { type Pod, pods as podType } from '../../api/gen/core-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { isInvalid, isNamespaceTerminating, isNotFound, messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import type { ReconcileResult } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import type { Expectations } from '../../reconcile/expectations.ts';
import { withKind } from '../common/events.ts';
import { slowStart } from '../common/slow-start.ts';
import { sameStatus } from '../common/wire-equality.ts';
import { type BackoffRecord, recordEnds } from './backoff.ts';
import { deadlineInMs, decideComplete, decideEarly, jobCondition } from './outcome.ts';
import { podForJob } from './pod.ts';
import { planPods } from './pod-plan.ts';
import { hasTracking, isSuspended, type JobView, trackingFinalizer, viewJob } from './pod-view.ts';
import { countReleased, planTracking } from './tracking.ts';

export interface JobPassInput {
  readonly context: ComponentContext;
  readonly events: EventRecorder;
  readonly expectations: Expectations;
  readonly key: string;
  readonly job: Job;
  readonly pods: readonly Pod[];
  /** Uids whose finalizer was removed and may still show; the pass adds to them. */
  readonly untracked: Set<string>;
  readonly record: BackoffRecord;
}

export interface JobPassResult extends ReconcileResult {
  readonly record: BackoffRecord;
  /** How long the next Pod is put off for others' failures. */
  readonly backoffMs: number | undefined;
}

export class JobPass {
  readonly #input: JobPassInput;
  readonly #nowMs: number;
  #job: Job;
  #written: JobStatus | undefined;

  constructor(input: JobPassInput) {
    this.#input = input;
    this.#nowMs = input.context.clock.now();
    this.#job = input.job;
  }

  async run(): Promise<JobPassResult> {
    this.#start();
    const { pods, untracked } = this.#input;
    const view = viewJob(this.#job, pods, untracked, this.#nowMs);
    const record = recordEnds(this.#input.record, {
      succeeded: view.newSucceeded,
      failed: view.newFailed,
      nowMs: this.#nowMs,
    });
    let decision = decideEarly(view);
    let againAfterMs: number | undefined;
    let backoffMs: number | undefined;
    let error: unknown;
    const counts = { active: view.active.length, ready: view.ready, terminating: view.terminating };
    if (decision) {
      const deleted = await this.#delete(view.active, { counted: true });
      counts.active -= deleted.count;
      counts.terminating += deleted.count;
      if (counts.active === 0) counts.ready = 0;
      error = deleted.error;
    } else {
      const managed = await this.#manage(view, record, counts);
      error = managed.error;
      backoffMs = managed.againAfterMs;
      againAfterMs = backoffMs;
      decision = decideComplete(view, counts.active);
      if (!decision && managed.done) this.#noteSuspension(error);
      againAfterMs = earliest(againAfterMs, deadlineInMs({ ...view, job: this.#job }));
    }
    const status: JobStatus = { ...this.#job.status, ...counts };
    const more = await this.#track(view, status, decision);
    if (error !== undefined) throw error;
    return { record, backoffMs, againAfterMs: more ? 0 : againAfterMs };
  }

  #start(): void {
    if (this.#job.status?.startTime || isSuspended(this.#job)) return;
    this.#job = { ...this.#job, status: { ...this.#job.status, startTime: formatTime(this.#nowMs) } };
  }

  async #manage(
    view: JobView,
    record: BackoffRecord,
    counts: { active: number; ready: number; terminating: number },
  ): Promise<{ readonly done: boolean; readonly error?: unknown; readonly againAfterMs?: number | undefined }> {
    const { expectations, key } = this.#input;
    if (!expectations.satisfied(key) || this.#job.metadata.deletionTimestamp) return { done: false };
    const plan = planPods(view, record);
    if (plan.do === 'nothing') return { done: true, againAfterMs: plan.againAfterMs };
    if (plan.do === 'delete') {
      const { count, error } = await this.#delete(plan.pods, { counted: false });
      counts.active -= count;
      counts.terminating += count;
      counts.ready = Math.min(counts.ready, counts.active);
      return { done: true, error };
    }
    const { count, error } = await this.#create(view, plan.count, plan.indexes);
    counts.active += count;
    return { done: true, error };
  }

  async #create(
    view: JobView,
    count: number,
    indexes: readonly number[],
  ): Promise<{ readonly count: number; readonly error: unknown }> {
    const { context, expectations, key } = this.#input;
    expectations.expectCreations(key, count);
    let refused = 0;
    const outcome = await slowStart(count, async (position) => {
      try {
        const pod = await context.client.create(podType, podForJob(this.#job, indexes[position], view));
        this.#record('Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`);
      } catch (error) {
        expectations.creationObserved(key);
        if (isNamespaceTerminating(error)) {
          refused++;
          return;
        }
        this.#record('Warning', 'FailedCreate', `Error creating: ${messageOf(error)}`);
        throw error;
      }
    });
    expectations.creationObserved(key, outcome.skipped);
    return { count: outcome.succeeded - refused, error: outcome.error };
  }

  /**
   * Those of a decided Job are counted as failures when they have ended, so they keep their finalizer until then; those given up
   * for a suspension or for less parallelism are nobody's failure and lose it first.
   */
  async #delete(
    pods: readonly Pod[],
    { counted }: { readonly counted: boolean },
  ): Promise<{ readonly count: number; readonly error: unknown }> {
    const { context, expectations, key } = this.#input;
    expectations.expectDeletions(
      key,
      pods.map(({ metadata }) => metadata.uid ?? ''),
    );
    const results = await Promise.allSettled(
      pods.map(async (pod) => {
        const { namespace, name = '', uid = '' } = pod.metadata;
        try {
          if (!counted) await this.#release([pod]);
          await context.client.delete(podType, { namespace, name });
          this.#record('Normal', 'SuccessfulDelete', `Deleted pod: ${name}`);
        } catch (error) {
          expectations.deletionObserved(key, uid);
          if (isNotFound(error)) return;
          this.#record('Warning', 'FailedDelete', `Error deleting: ${messageOf(error)}`);
          throw error;
        }
      }),
    );
    const failures = results.filter((result) => result.status === 'rejected');
    return { count: pods.length - failures.length, error: failures[0]?.reason };
  }

  #noteSuspension(error: unknown): void {
    const { status } = this.#job;
    const present = findCondition(status?.conditions, 'Suspended');
    if (isSuspended(this.#job)) {
      if (present?.status === 'True' || error !== undefined) return;
      this.#setCondition(
        jobCondition(
          { type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' },
          this.#nowMs,
        ),
      );
      this.#record('Normal', 'Suspended', 'Job suspended');
    } else if (present?.status === 'True') {
      this.#setCondition(
        jobCondition({ type: 'Suspended', status: 'False', reason: 'JobResumed', message: 'Job resumed' }, this.#nowMs),
      );
      // The deadline counts from the resumption.
      this.#job = { ...this.#job, status: { ...this.#job.status, startTime: formatTime(this.#nowMs) } };
      this.#record('Normal', 'Resumed', 'Job resumed');
    }
  }

  #setCondition(condition: JobCondition): void {
    const { status } = this.#job;
    const others = (status?.conditions ?? []).filter(({ type }) => type !== condition.type);
    this.#job = { ...this.#job, status: { ...status, conditions: [...others, condition] } };
  }

  /** Returns whether ended Pods are left for another pass. */
  async #track(view: JobView, counted: JobStatus, decision: JobCondition | undefined): Promise<boolean> {
    const { untracked } = this.#input;
    const decided = decision && (decision.type === 'SuccessCriteriaMet' ? ('success' as const) : ('failure' as const));
    const known = decision && findCondition(this.#job.status?.conditions, decision.type);
    const conditions =
      decision && !known ? [...(this.#job.status?.conditions ?? []), decision] : this.#job.status?.conditions;
    const plan = planTracking(view, { ...counted, conditions }, untracked, decided);
    await this.#write(plan.status);
    await this.#release(plan.release);
    const tracked = new Set(
      view.pods
        .filter((pod) => hasTracking(pod) && !untracked.has(pod.metadata.uid ?? ''))
        .map(({ metadata }) => metadata.uid ?? ''),
    );
    const status = countReleased(this.#job, plan.status, tracked);
    const finished = decision && !plan.more ? this.#finish(status, decision) : undefined;
    await this.#write(finished ?? status);
    if (finished && decision) this.#announce(finished);
    return plan.more;
  }

  /** Complete or Failed, once nothing is left that could still change the numbers. */
  #finish(status: JobStatus, decision: JobCondition): JobStatus | undefined {
    const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
    if (succeeded.length + failed.length > 0 || (status.terminating ?? 0) > 0 || (status.active ?? 0) > 0)
      return undefined;
    const complete = decision.type === 'SuccessCriteriaMet';
    const type = complete ? 'Complete' : 'Failed';
    const last = jobCondition(
      { type, status: 'True', reason: decision.reason ?? '', message: decision.message ?? '' },
      this.#nowMs,
    );
    return {
      ...status,
      conditions: [...(status.conditions ?? []), last],
      ...(complete ? { completionTime: formatTime(this.#nowMs) } : {}),
    };
  }

  #announce(status: JobStatus): void {
    const { completions } = this.#job.spec;
    const failed = findCondition(status.conditions, 'Failed');
    if (failed) return this.#record('Warning', failed.reason ?? '', failed.message ?? '');
    if (completions !== undefined && (status.succeeded ?? 0) > completions) {
      this.#record('Warning', 'TooManySucceededPods', 'Too many succeeded pods running after completion count reached');
    }
    this.#record('Normal', 'Completed', 'Job completed');
  }

  async #release(pods: readonly Pod[]): Promise<void> {
    const { context, untracked } = this.#input;
    const results = await Promise.allSettled(
      pods.map(async (pod) => {
        const uid = pod.metadata.uid ?? '';
        untracked.add(uid);
        try {
          await removeTracking(context, pod);
        } catch (error) {
          untracked.delete(uid);
          throw error;
        }
      }),
    );
    const failure = results.find((result) => result.status === 'rejected');
    if (failure) throw failure.reason;
  }

  async #write(status: JobStatus): Promise<void> {
    if (sameStatus(this.#input.job.status, status) && this.#job.metadata === this.#input.job.metadata) return;
    if (sameStatus(this.#written, status)) return;
    this.#job = await this.#input.context.client.updateStatus(jobs, { ...this.#job, status });
    this.#written = status;
  }

  #record(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#input.events.record(withKind(jobs, this.#input.job), type, reason, message);
  }
}

/** A Pod that is gone, or has lost it already, is none to worry about. */
export async function removeTracking(context: ComponentContext, { metadata }: Pod): Promise<void> {
  const { namespace, name = '', uid } = metadata;
  const body = { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [trackingFinalizer] } };
  try {
    await context.client.patch(podType, { namespace, name }, { type: 'strategic', body });
  } catch (error) {
    if (!isNotFound(error) && !isInvalid(error)) throw error;
  }
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}
