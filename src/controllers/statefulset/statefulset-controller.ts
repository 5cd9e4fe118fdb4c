/**
 * Runs StatefulSets: Pods with lasting names and claims. `plan.ts` decides; this file watches, carries the plan out one action after
 * the other, and records revisions and status. Names are fixed, so a Pod that exists already is never made twice.
 */
import { type ControllerRevision, controllerRevisions, type StatefulSet, statefulSets } from '../../api/gen/apps-v1.ts';
import {
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  pods as podType,
} from '../../api/gen/core-v1.ts';
import { labelMatcherOf } from '../../apimachinery/labels.ts';
import { controllerOf, keyOf } from '../../apimachinery/meta.ts';
import { isConflict, isNamespaceTerminating, isNotFound, messageOf } from '../../apimachinery/status.ts';
import { type CauseNote, subjectOf } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type Controller, createController, type ReconcileResult } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { withKind } from '../common/events.ts';
import { currentRevision, planHistory, revisionHashLabel, templateOf, truncateHistory } from '../common/history.ts';
import { candidatesFor, claim, indexOwnership, planClaims, resolveController } from '../common/ownership.ts';
import { nextAvailableInMs } from '../common/pods.ts';
import { sameStatus } from '../common/wire-equality.ts';
import { planClaimOwners } from './claims.ts';
import { awaitedPod, planStatefulSet, planStatefulStatus, type StatefulAction } from './plan.ts';
import { claimsFor, ordinalOf, podForOrdinal, podIndexLabel, podNameFor, podNameLabel, startOrdinal } from './pod.ts';

const hashLabel = 'controller.kubernetes.io/hash';

export interface StatefulSetControllerOptions {
  readonly workers?: number | undefined;
}

export async function runStatefulSetController(
  context: ComponentContext,
  options: StatefulSetControllerOptions = {},
): Promise<void> {
  const { informers } = context;
  const all = informers.of(statefulSets);
  const pods = informers.of(podType);
  const claims = informers.of(persistentVolumeClaims);
  const revisions = informers.of(controllerRevisions);
  indexOwnership(pods);
  indexOwnership(revisions);
  const loop = new StatefulLoop(context, { all, pods, claims, revisions });
  const controller = createController(context, {
    name: 'statefulset-controller',
    queue: 'statefulset',
    workers: options.workers ?? 5,
    waitFor: [all, pods, claims, revisions],
    reconcile: (key: string) => loop.reconcile(key),
  });
  controller.watch(all);
  controller.watchOwned(revisions, statefulSets);
  followPods(controller, all, pods);
  await controller.run();
}

function followPods(controller: Controller, all: Informer<StatefulSet>, pods: Informer<Pod>): void {
  const wake = (pod: Pod) => {
    const set = resolveController(all, pod);
    if (set) controller.enqueue(keyOf(set));
    if (controllerOf(pod) || pod.metadata.deletionTimestamp) return;
    for (const candidate of all.list(pod.metadata.namespace)) {
      const fits = labelMatcherOf(candidate.spec.selector).matches(pod.metadata.labels);
      if (fits && ordinalOf(candidate, pod) !== undefined) controller.enqueue(keyOf(candidate));
    }
  };
  pods.onChange({
    added: wake,
    updated: (pod, previous) => {
      if (controllerOf(pod)?.uid !== controllerOf(previous)?.uid) wake(previous);
      wake(pod);
    },
    deleted: wake,
  });
}

interface Informers {
  readonly all: Informer<StatefulSet>;
  readonly pods: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly revisions: Informer<ControllerRevision>;
}

class StatefulLoop {
  readonly #context: ComponentContext;
  readonly #informers: Informers;
  readonly #events: EventRecorder;

  constructor(context: ComponentContext, informers: Informers) {
    this.#context = context;
    this.#informers = informers;
    this.#events = context.eventRecorder('statefulset-controller');
  }

  async reconcile(key: string): Promise<ReconcileResult | undefined> {
    const { client, clock } = this.#context;
    const set = this.#informers.all.get(key);
    if (!set) return undefined;
    const selector = labelMatcherOf(set.spec.selector);
    const owner = { object: set, type: statefulSets };
    const recorded = planClaims(set, selector, candidatesFor(this.#informers.revisions, set));
    const known = await claim(client, owner, { type: controllerRevisions, claims: recorded });
    const candidates = candidatesFor(this.#informers.pods, set).filter((pod) => ordinalOf(set, pod) !== undefined);
    const pods = await claim(client, owner, { type: podType, claims: planClaims(set, selector, candidates) });

    const { template } = set.spec;
    const history = planHistory(known, template);
    const labels = { ...template.metadata?.labels, ...set.spec.selector.matchLabels };
    const { collisionCount } = set.status ?? {};
    const update = await currentRevision(client, { ...owner, template, labels, collisionCount, hashLabel }, history);
    const current = known.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update.revision;
    // Pods are labelled with the revision's whole name, unlike a DaemonSet's.
    const names = { current: current.metadata.name ?? '', update: update.revision.metadata.name ?? '' };

    let failure: unknown;
    for (const action of planStatefulSet(set, pods, names, clock.now())) {
      try {
        await this.#act(
          set,
          action,
          action.do === 'create' && action.revision === names.current ? current : update.revision,
        );
      } catch (error) {
        failure = error;
        break;
      }
    }
    await this.#keepClaims(set, pods);
    const named = { ...names, currentName: names.current, updateName: names.update };
    const status = planStatefulStatus(set, pods, {
      revisions: named,
      collisionCount: update.collisionCount,
      nowMs: clock.now(),
    });
    if (!sameStatus(set.status, status)) await client.updateStatus(statefulSets, { ...set, status });
    if (failure !== undefined) throw failure;
    await this.#truncate(set, history.old, pods, names);
    const againAfterMs = nextAvailableInMs(pods, set.spec.minReadySeconds ?? 0, clock.now());
    return { againAfterMs, causes: heldBack(set, pods, names.update, clock.now()) };
  }

  async #truncate(
    set: StatefulSet,
    old: readonly ControllerRevision[],
    pods: readonly Pod[],
    names: { readonly current: string; readonly update: string },
  ): Promise<void> {
    const used = new Set([
      names.current,
      names.update,
      ...pods.map(({ metadata }) => metadata.labels?.[revisionHashLabel]),
    ]);
    const inUse = ({ metadata }: ControllerRevision) => used.has(metadata.name);
    await truncateHistory(this.#context.client, old, set.spec.revisionHistoryLimit, inUse);
  }

  async #act(set: StatefulSet, action: StatefulAction, revision: ControllerRevision): Promise<void> {
    if (action.do === 'create') return await this.#create(set, action.ordinal, revision);
    if (action.do === 'repair') return await this.#repair(set, action.pod, action.ordinal);
    const { namespace, name = '', uid } = action.pod.metadata;
    if (action.why === 'failed') {
      const message = `StatefulSet ${namespace}/${set.metadata.name} is recreating failed Pod ${name}`;
      this.#record(set, 'Warning', 'RecreatingFailedPod', message);
    }
    await this.#told(set, 'delete', `Pod ${name}`, async () => {
      try {
        await this.#context.client.delete(podType, { namespace, name }, { preconditions: { uid } });
      } catch (error) {
        // Gone, or another Pod of the name already: either way this one is deleted.
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
    });
  }

  async #create(set: StatefulSet, ordinal: number, revision: ControllerRevision): Promise<void> {
    const name = podNameFor(set, ordinal);
    await this.#createClaims(set, ordinal);
    const template = templateOf(revision) ?? set.spec.template;
    const pod = podForOrdinal(set, template, ordinal, revision.metadata.name ?? '');
    await this.#told(set, 'create', `Pod ${name}`, () => this.#context.client.create(podType, pod));
  }

  async #createClaims(set: StatefulSet, ordinal: number): Promise<void> {
    for (const wanted of claimsFor(set, ordinal)) {
      const present = this.#informers.claims.get(keyOf(wanted));
      if (present?.metadata.deletionTimestamp) throw new Error(`pvc ${wanted.metadata.name} is being deleted`);
      if (present) continue;
      const subject = `Claim ${wanted.metadata.name} Pod ${podNameFor(set, ordinal)}`;
      await this.#told(
        set,
        'create',
        subject,
        () => this.#context.client.create(persistentVolumeClaims, wanted),
        'success',
      );
    }
  }

  async #repair(set: StatefulSet, pod: Pod, ordinal: number): Promise<void> {
    await this.#createClaims(set, ordinal);
    const name = podNameFor(set, ordinal);
    const labels = { [podNameLabel]: name, [podIndexLabel]: String(ordinal) };
    const at = { namespace: pod.metadata.namespace, name };
    const body = { metadata: { uid: pod.metadata.uid, labels } };
    await this.#told(set, 'update', `Pod ${name}`, () =>
      this.#context.client.patch(podType, at, { type: 'strategic', body }),
    );
  }

  /** Claims follow the retention policy, of Pods that stay and of those beyond the size. */
  async #keepClaims(set: StatefulSet, pods: readonly Pod[]): Promise<void> {
    const policy = set.spec.persistentVolumeClaimRetentionPolicy;
    if (!policy || set.metadata.deletionTimestamp) return;
    const start = startOrdinal(set);
    const end = start + (set.spec.replicas ?? 1);
    for (const pod of pods) {
      const ordinal = ordinalOf(set, pod) ?? -1;
      for (const wanted of claimsFor(set, ordinal)) {
        const present = this.#informers.claims.get(keyOf(wanted));
        const owners = present && planClaimOwners(set, present, pod, ordinal < start || ordinal >= end);
        if (!present || !owners) continue;
        const metadata = { ...present.metadata, ownerReferences: owners };
        await this.#context.client.update(persistentVolumeClaims, { ...present, metadata });
      }
    }
  }

  /** Runs a step and tells how it went, in upstream's words. */
  async #told(
    set: StatefulSet,
    verb: 'create' | 'delete' | 'update',
    subject: string,
    step: () => Promise<unknown>,
    success: 'successful' | 'success' = 'successful',
  ): Promise<void> {
    const reason = verb[0]?.toUpperCase() + verb.slice(1);
    const what = `${verb} ${subject} in StatefulSet ${set.metadata.name}`;
    try {
      await step();
      this.#record(set, 'Normal', `Successful${reason}`, `${what} ${success}`);
    } catch (error) {
      if (isNamespaceTerminating(error)) throw error;
      this.#record(set, 'Warning', `Failed${reason}`, `${what} failed error: ${messageOf(error)}`);
      throw error;
    }
  }

  #record(set: StatefulSet, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#events.record(withKind(statefulSets, set), type, reason, message);
  }
}

function heldBack(set: StatefulSet, pods: readonly Pod[], update: string, nowMs: number): readonly CauseNote[] {
  const awaited = awaitedPod(set, pods, update, nowMs);
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
  const old = pods.filter(({ metadata }) => metadata.labels?.[revisionHashLabel] !== update);
  const waitsFor = old.slice(0, 3).map((pod) => subjectOf(podType, pod));
  const notes: CauseNote[] = awaited ? [waiting(awaited)] : [];
  if (old.length > 0 && type === 'OnDelete') {
    const message = `${old.length} old Pods are replaced only when somebody deletes them (update strategy OnDelete)`;
    notes.push({ reason: 'UpdateOnDelete', message, waitsFor });
  } else if (old.length > 0 && (rollingUpdate?.partition ?? 0) > 0) {
    const message = `Pods with ordinals below ${rollingUpdate?.partition} keep their revision (partition)`;
    notes.push({ reason: 'Partitioned', message });
  }
  return notes;
}

function waiting(pod: Pod): CauseNote {
  const what = pod.metadata.deletionTimestamp ? 'is ending' : 'is not Ready';
  const message = `Pod ${pod.metadata.name} ${what}; the next step waits for it`;
  return { reason: 'WaitingForPod', message, waitsFor: [subjectOf(podType, pod)] };
}
