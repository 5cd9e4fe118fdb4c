/**
 * Runs Jobs to their end: this file watches Jobs and Pods and keeps what must be remembered between passes; `job-pass.ts` is a
 * pass. It marks a Job finished and never runs a Pod itself.
 */
import { type Job, jobs } from '../../api/gen/batch-v1.ts';
import { type Pod, pods as podType } from '../../api/gen/core-v1.ts';
import { labelMatcherOf } from '../../apimachinery/labels.ts';
import { controllerOf, keyOf } from '../../apimachinery/meta.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import { type CauseNote, subjectOf, subjectOfKey } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type Controller, createController, type ReconcileResult } from '../../reconcile/controller.ts';
import { Expectations } from '../../reconcile/expectations.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { withKind } from '../common/events.ts';
import {
  candidatesFor,
  claim,
  controlledBy,
  indexOwnership,
  planClaims,
  resolveController,
} from '../common/ownership.ts';
import { isPodStopping } from '../common/pods.ts';
import { type BackoffRecord, noFailures } from './backoff.ts';
import { JobPass, removeTracking } from './job-pass.ts';
import { isFinished } from './outcome.ts';
import { hasTracking, replacesOnlyFailed } from './pod-view.ts';

const controllerValue = 'kubernetes.io/job-controller';
/** Changes of a Job's Pods within this time are dealt with in one pass. */
const batchMs = 100;

export interface JobControllerOptions {
  readonly workers?: number | undefined;
}

export async function runJobController(context: ComponentContext, options: JobControllerOptions = {}): Promise<void> {
  const all = context.informers.of(jobs);
  const pods = context.informers.of(podType);
  indexOwnership(pods);
  const memory = new JobMemory(context);
  const events = context.eventRecorder('job-controller');

  async function reconcile(key: string): Promise<ReconcileResult | undefined> {
    const job = all.get(key);
    if (!job) {
      memory.forget(key);
      return undefined;
    }
    const { managedBy, completionMode, selector } = job.spec;
    if (isFinished(job)) return undefined;
    if (managedBy !== undefined && managedBy !== controllerValue) return { causes: [managedElsewhere(managedBy)] };
    if (completionMode && completionMode !== 'NonIndexed' && completionMode !== 'Indexed') {
      const message = 'Skipped Job sync because completion mode is unknown';
      events.record(withKind(jobs, job), 'Warning', 'UnknownCompletionMode', message);
      return undefined;
    }
    const claims = planClaims(job, labelMatcherOf(selector), candidatesFor(pods, job));
    const owned = await claim(context.client, { object: job, type: jobs }, { type: podType, claims });
    const { expectations } = memory;
    const untracked = memory.untracked(key);
    const pass = new JobPass({
      context,
      events,
      expectations,
      key,
      job,
      pods: owned,
      untracked,
      record: memory.record(key),
    });
    const { record, againAfterMs, backoffMs } = await pass.run();
    memory.remember(key, record);
    const causes = backoffMs ? [backingOff(context.clock.now() + backoffMs)] : waitingForEnds(job, owned);
    return { againAfterMs, causes };
  }

  const controller = createController(context, {
    name: 'job-controller',
    queue: 'job',
    workers: options.workers ?? 5,
    waitFor: [all, pods],
    backoff: { baseDelayMs: 1000, maxDelayMs: 60_000 },
    reconcile,
    about: (key) => subjectOfKey(jobs, key),
  });
  const orphans = orphanController(context, all, pods);
  follow(controller, orphans, memory, all, pods);
  await Promise.all([controller.run(), orphans.run()]);
}

/** What is known of each Job beyond its status. */
class JobMemory {
  readonly expectations: Expectations;
  readonly #untracked = new Map<string, Set<string>>();
  readonly #records = new Map<string, BackoffRecord>();

  constructor({ clock }: ComponentContext) {
    this.expectations = new Expectations(clock);
  }

  untracked(key: string): Set<string> {
    const present = this.#untracked.get(key) ?? new Set<string>();
    this.#untracked.set(key, present);
    return present;
  }

  /** The informer shows the Pod without its finalizer, or not at all any more. */
  released(key: string, pod: Pod): void {
    this.#untracked.get(key)?.delete(pod.metadata.uid ?? '');
  }

  record(key: string): BackoffRecord {
    return this.#records.get(key) ?? noFailures;
  }

  remember(key: string, record: BackoffRecord): void {
    this.#records.set(key, record);
  }

  forget(key: string): void {
    this.expectations.forget(key);
    this.#untracked.delete(key);
    this.#records.delete(key);
  }
}

/** Pods whose Job is gone would keep their finalizer for ever. */
function orphanController(context: ComponentContext, all: Informer<Job>, pods: Informer<Pod>): Controller {
  return createController(context, {
    name: 'job-controller-orphans',
    queue: 'job_orphan_pod',
    workers: 1,
    waitFor: [all, pods],
    async reconcile(key: string) {
      const pod = pods.get(key);
      if (!pod || !hasTracking(pod)) return;
      const reference = controllerOf(pod);
      if (reference?.kind === jobs.kind) {
        try {
          const job = await context.client.get(jobs, { namespace: pod.metadata.namespace, name: reference.name });
          if (job.metadata.uid === reference.uid && !isFinished(job)) return;
        } catch (error) {
          if (!isNotFound(error)) throw error;
        }
      }
      await removeTracking(context, pod);
    },
  });
}

function follow(
  controller: Controller,
  orphans: Controller,
  memory: JobMemory,
  all: Informer<Job>,
  pods: Informer<Pod>,
): void {
  const wakeOrphan = (pod: Pod) => {
    if (hasTracking(pod)) orphans.enqueue(keyOf(pod));
  };
  all.onChange({
    added: (job) => controller.enqueue(keyOf(job)),
    updated: (job) => {
      controller.enqueue(keyOf(job));
      if (isFinished(job)) for (const pod of controlledBy(pods, job)) wakeOrphan(pod);
    },
    deleted: (job) => {
      controller.enqueue(keyOf(job));
      for (const pod of controlledBy(pods, job)) wakeOrphan(pod);
    },
  });
  const ownerOf = (pod: Pod) => resolveController(all, pod);
  const wakeAdopters = (pod: Pod) => {
    if (controllerOf(pod) || pod.metadata.deletionTimestamp) return;
    for (const job of all.list(pod.metadata.namespace)) {
      if (labelMatcherOf(job.spec.selector).matches(pod.metadata.labels)) controller.enqueue(keyOf(job));
    }
  };
  const observe = (pod: Pod, appeared: boolean) => {
    const job = ownerOf(pod);
    if (!job) {
      if (all.synced && controllerOf(pod)?.kind === jobs.kind) wakeOrphan(pod);
      wakeAdopters(pod);
      return;
    }
    const key = keyOf(job);
    if (pod.metadata.deletionTimestamp) memory.expectations.deletionObserved(key, pod.metadata.uid ?? '');
    else if (appeared) memory.expectations.creationObserved(key);
    if (!hasTracking(pod)) memory.released(key, pod);
    if (isFinished(job)) wakeOrphan(pod);
    controller.enqueue(key, batchMs);
  };
  pods.onChange({
    added: (pod) => observe(pod, true),
    updated: (pod, previous) => {
      const before = ownerOf(previous);
      if (before && before.metadata.uid !== ownerOf(pod)?.metadata.uid) controller.enqueue(keyOf(before));
      observe(pod, false);
    },
    deleted: (pod) => {
      const job = ownerOf(pod);
      if (!job) return;
      memory.expectations.deletionObserved(keyOf(job), pod.metadata.uid ?? '');
      memory.released(keyOf(job), pod);
      controller.enqueue(keyOf(job), batchMs);
    },
  });
}

function managedElsewhere(by: string): CauseNote {
  return { reason: 'ManagedElsewhere', message: `the Job is left to ${by}, as spec.managedBy says` };
}

/** Pods that are still ending keep a decided Job from being finished, and others from being replaced. */
function waitingForEnds(job: Job, pods: readonly Pod[]): readonly CauseNote[] {
  const decided = (job.status?.conditions ?? []).some(
    ({ type, status }) => status === 'True' && (type === 'FailureTarget' || type === 'SuccessCriteriaMet'),
  );
  const ending = pods.filter(isPodStopping);
  if (ending.length === 0 || !(decided || replacesOnlyFailed(job))) return [];
  const count = ending.length === 1 ? 'a Pod' : `${ending.length} Pods`;
  const message = decided
    ? `it is decided, and finished when ${count} that must go ${ending.length === 1 ? 'has' : 'have'} ended`
    : `${count} must have ended before they are replaced (podReplacementPolicy Failed)`;
  return [{ reason: 'WaitingForPods', message, waitsFor: ending.slice(0, 3).map((pod) => subjectOf(podType, pod)) }];
}

function backingOff(untilMs: number): CauseNote {
  return {
    reason: 'BackingOff',
    message: 'Pods failed; the next is made after a pause that grows with each failure',
    untilMs,
  };
}
