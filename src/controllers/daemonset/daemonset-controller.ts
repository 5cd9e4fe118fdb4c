/**
 * Keeps one Pod of each DaemonSet on every Node it is for. `placement.ts` says on which, `plan.ts` what to do next; this file
 * watches, creates and deletes with expectations, records revisions and status.
 */
import {
  type ControllerRevision,
  controllerRevisions,
  type DaemonSet,
  type DaemonSetStatus,
  daemonSets,
} from '../../api/gen/apps-v1.ts';
import { type Node, nodes as nodeType, type Pod, pods as podType } from '../../api/gen/core-v1.ts';
import { labelMatcherOf } from '../../apimachinery/labels.ts';
import { controllerOf, keyOf } from '../../apimachinery/meta.ts';
import { isConflict, isNamespaceTerminating, isNotFound, messageOf } from '../../apimachinery/status.ts';
import { type CauseNote, subjectOfKey } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type Controller, createController, type ReconcileResult } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import { Expectations } from '../../reconcile/expectations.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { withKind } from '../common/events.ts';
import { currentRevision, planHistory, revisionHashLabel, truncateHistory } from '../common/history.ts';
import { candidatesFor, claim, indexOwnership, planClaims, resolveController } from '../common/ownership.ts';
import { becomingAvailable, nextAvailableInMs } from '../common/pods.ts';
import { slowStart } from '../common/slow-start.ts';
import { equalOnWire, sameStatus } from '../common/wire-equality.ts';
import { daemonCauses } from './causes.ts';
import { FailureBackoff } from './failure-backoff.ts';
import { podForNode } from './placement.ts';
import { type DaemonPlan, type ObservedDaemonSet, planDaemonStatus, planPlacement, planUpdate } from './plan.ts';

const burst = 250;

export interface DaemonSetControllerOptions {
  readonly workers?: number | undefined;
}

export async function runDaemonSetController(
  context: ComponentContext,
  options: DaemonSetControllerOptions = {},
): Promise<void> {
  const { informers } = context;
  const all = informers.of(daemonSets);
  const pods = informers.of(podType);
  const nodes = informers.of(nodeType);
  const revisions = informers.of(controllerRevisions);
  indexOwnership(pods);
  indexOwnership(revisions);
  const loop = new DaemonLoop(context, { all, pods, nodes, revisions });
  const controller = createController(context, {
    name: 'daemonset-controller',
    queue: 'daemonset',
    workers: options.workers ?? 2,
    waitFor: [all, pods, nodes, revisions],
    reconcile: (key: string) => loop.reconcile(key),
    about: (key) => subjectOfKey(daemonSets, key),
  });
  loop.follow(controller);
  await controller.run();
}

interface Informers {
  readonly all: Informer<DaemonSet>;
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  readonly revisions: Informer<ControllerRevision>;
}

class DaemonLoop {
  readonly #context: ComponentContext;
  readonly #informers: Informers;
  readonly #events: EventRecorder;
  readonly #expectations: Expectations;
  readonly #failures: FailureBackoff;

  constructor(context: ComponentContext, informers: Informers) {
    this.#context = context;
    this.#informers = informers;
    this.#events = context.eventRecorder('daemonset-controller');
    this.#expectations = new Expectations(context.clock);
    this.#failures = new FailureBackoff(context.clock);
  }

  follow(controller: Controller): void {
    const { all, pods, nodes, revisions } = this.#informers;
    all.onChange({
      added: (daemonSet) => controller.enqueue(keyOf(daemonSet)),
      updated: (daemonSet, previous) => {
        if (daemonSet.metadata.uid !== previous.metadata.uid) this.#expectations.forget(keyOf(previous));
        controller.enqueue(keyOf(daemonSet));
      },
      deleted: (daemonSet) => {
        this.#expectations.forget(keyOf(daemonSet));
        controller.enqueue(keyOf(daemonSet));
      },
    });
    controller.watchOwned(revisions, daemonSets);
    const wakeAll = () => {
      for (const daemonSet of all.list()) controller.enqueue(keyOf(daemonSet));
    };
    nodes.onChange({
      added: wakeAll,
      updated: (node, previous) => {
        const matters = (of: Node) => [of.metadata.labels, of.spec.taints];
        if (!equalOnWire(matters(node), matters(previous))) wakeAll();
      },
      deleted: wakeAll,
    });
    this.#followPods(controller, pods);
  }

  #followPods(controller: Controller, pods: Informer<Pod>): void {
    const { all } = this.#informers;
    const wake = (pod: Pod, observe: (key: string) => void) => {
      const daemonSet = resolveController(all, pod);
      if (daemonSet) {
        observe(keyOf(daemonSet));
        controller.enqueue(keyOf(daemonSet));
      } else if (!controllerOf(pod) && !pod.metadata.deletionTimestamp) {
        for (const candidate of all.list(pod.metadata.namespace)) {
          if (labelMatcherOf(candidate.spec.selector).matches(pod.metadata.labels))
            controller.enqueue(keyOf(candidate));
        }
      }
    };
    const gone = (pod: Pod) => (key: string) => this.#expectations.deletionObserved(key, pod.metadata.uid ?? '');
    pods.onChange({
      added: (pod) =>
        wake(pod, pod.metadata.deletionTimestamp ? gone(pod) : (key) => this.#expectations.creationObserved(key)),
      updated: (pod, previous) => {
        if (controllerOf(previous)?.uid !== controllerOf(pod)?.uid) wake(previous, () => {});
        wake(pod, pod.metadata.deletionTimestamp ? gone(pod) : () => {});
      },
      deleted: (pod) => {
        if (controllerOf(pod)) wake(pod, gone(pod));
      },
    });
  }

  async reconcile(key: string): Promise<ReconcileResult | undefined> {
    const { all, pods, nodes, revisions } = this.#informers;
    const { client, clock } = this.#context;
    const daemonSet = all.get(key);
    if (!daemonSet) {
      this.#expectations.forget(key);
      return undefined;
    }
    const selector = labelMatcherOf(daemonSet.spec.selector);
    if (selector.empty) {
      const message = 'This daemon set is selecting all pods. A non-empty selector is required.';
      this.#record(daemonSet, 'Warning', 'SelectingAll', message);
      return undefined;
    }
    if (daemonSet.metadata.deletionTimestamp) return undefined;
    const owner = { object: daemonSet, type: daemonSets };
    const { template, revisionHistoryLimit } = daemonSet.spec;
    const recorded = planClaims(daemonSet, selector, candidatesFor(revisions, daemonSet));
    const history = planHistory(await claim(client, owner, { type: controllerRevisions, claims: recorded }), template);
    const { collisionCount } = daemonSet.status ?? {};
    const labels = template.metadata?.labels;
    const current = await currentRevision(
      client,
      { ...owner, template, labels, collisionCount, hashLabel: revisionHashLabel },
      history,
    );
    const hash = current.revision.metadata.labels?.[revisionHashLabel] ?? '';

    const claims = planClaims(daemonSet, selector, candidatesFor(pods, daemonSet));
    const owned = await claim(client, owner, { type: podType, claims });
    const observed: ObservedDaemonSet = {
      daemonSet,
      nodes: nodes.list(),
      pods: owned,
      hash,
      replacementInMs: (node) => this.#failures.waitMs(`${daemonSet.metadata.uid}/${node}`),
      nowMs: clock.now(),
    };
    const outcome = this.#expectations.satisfied(key) ? await this.#advance(key, observed) : {};
    if (outcome.error === undefined) {
      const used = new Set(owned.map(({ metadata }) => metadata.labels?.[revisionHashLabel]));
      const inUse = ({ metadata }: ControllerRevision) => used.has(metadata.labels?.[revisionHashLabel]);
      await truncateHistory(client, history.old, revisionHistoryLimit, inUse);
    }
    const status = { ...planDaemonStatus(observed), collisionCount: current.collisionCount || undefined };
    if (!sameStatus(daemonSet.status, status)) await this.#writeStatus(daemonSet, status);
    if (outcome.error !== undefined) throw outcome.error;
    const nowMs = clock.now();
    const ready = nextAvailableInMs(owned, daemonSet.spec.minReadySeconds ?? 0, nowMs);
    const againAfterMs = Math.min(outcome.againAfterMs ?? Number.POSITIVE_INFINITY, ready ?? Number.POSITIVE_INFINITY);
    const causes: readonly CauseNote[] = [
      ...daemonCauses({ ...observed, nowMs }),
      ...(ready === undefined ? [] : [becomingAvailable(nowMs + ready)]),
    ];
    return { causes, againAfterMs: Number.isFinite(againAfterMs) ? againAfterMs : undefined };
  }

  async #advance(
    key: string,
    observed: ObservedDaemonSet,
  ): Promise<{ readonly error?: unknown; readonly againAfterMs?: number | undefined }> {
    const plan = planPlacement(observed);
    for (const { pod, node, failed } of plan.ended) {
      const where = `${pod.metadata.namespace}/${pod.metadata.name} on node ${node}`;
      if (failed) {
        this.#failures.failed(`${observed.daemonSet.metadata.uid}/${node}`);
        const message = `Found failed daemon pod ${where}, will try to kill it`;
        this.#record(observed.daemonSet, 'Warning', 'FailedDaemonPod', message);
      } else {
        const message = `Found succeeded daemon pod ${where}, will try to delete it`;
        this.#record(observed.daemonSet, 'Normal', 'SucceededDaemonPod', message);
      }
    }
    const error = await this.#execute(key, observed, plan);
    if (error !== undefined) return { error, againAfterMs: plan.againAfterMs };
    const busy = plan.create.length > 0 || plan.remove.length > 0;
    if (busy || !this.#expectations.satisfied(key)) return { againAfterMs: plan.againAfterMs };
    return { error: await this.#execute(key, observed, planUpdate(observed)), againAfterMs: plan.againAfterMs };
  }

  async #execute(
    key: string,
    { daemonSet, hash }: ObservedDaemonSet,
    plan: Pick<DaemonPlan, 'create' | 'remove'>,
  ): Promise<unknown> {
    const create = plan.create.slice(0, burst);
    const remove = plan.remove.slice(0, burst);
    if (create.length > 0) this.#expectations.expectCreations(key, create.length);
    this.#expectations.expectDeletions(
      key,
      remove.map(({ metadata }) => metadata.uid ?? ''),
    );
    const outcome = await slowStart(create.length, async (index) => {
      try {
        const pod = await this.#context.client.create(podType, podForNode(daemonSet, create[index] ?? '', hash));
        this.#record(daemonSet, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`);
      } catch (error) {
        this.#expectations.creationObserved(key);
        if (isNamespaceTerminating(error)) return;
        this.#record(daemonSet, 'Warning', 'FailedCreate', `Error creating: ${messageOf(error)}`);
        throw error;
      }
    });
    this.#expectations.creationObserved(key, outcome.skipped);
    const deletions = await Promise.allSettled(remove.map((pod) => this.#delete(key, daemonSet, pod)));
    return outcome.error ?? deletions.find((result) => result.status === 'rejected')?.reason;
  }

  async #delete(key: string, daemonSet: DaemonSet, { metadata }: Pod): Promise<void> {
    const { namespace, name = '', uid = '' } = metadata;
    try {
      await this.#context.client.delete(podType, { namespace, name });
      this.#record(daemonSet, 'Normal', 'SuccessfulDelete', `Deleted pod: ${name}`);
    } catch (error) {
      this.#expectations.deletionObserved(key, uid);
      if (isNotFound(error)) return;
      this.#record(daemonSet, 'Warning', 'FailedDelete', `Error deleting: ${messageOf(error)}`);
      throw error;
    }
  }

  async #writeStatus(daemonSet: DaemonSet, status: DaemonSetStatus): Promise<void> {
    const { client } = this.#context;
    try {
      await client.updateStatus(daemonSets, { ...daemonSet, status });
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error)) throw error;
      const { namespace, name = '' } = daemonSet.metadata;
      const live = await client.get(daemonSets, { namespace, name });
      await client.updateStatus(daemonSets, { ...live, status });
    }
  }

  #record(daemonSet: DaemonSet, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#events.record(withKind(daemonSets, daemonSet), type, reason, message);
  }
}
