/**
 * The loop behind ReplicaSets and ReplicationControllers: keeps as many active Pods as asked for. It creates and deletes with
 * expectations, so that it never counts while its own last step is not yet visible, takes in matching orphans, and reports counts.
 * What differs between the two kinds is given by a `ReplicationKind`.
 */
import { isPodActive } from '../../api/core/v1/pod-status.ts';
import { type Pod, pods as podType } from '../../api/gen/core-v1.ts';
import type { LabelMatcher } from '../../apimachinery/labels.ts';
import { controllerOf, type KubeObject, keyOf, splitKey } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isConflict, isNamespaceTerminating, isNotFound, messageOf } from '../../apimachinery/status.ts';
import { subjectOfKey } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type Controller, createController, type ReconcileResult } from '../../reconcile/controller.ts';
import { Expectations } from '../../reconcile/expectations.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { withKind } from './events.ts';
import { candidatesFor, claim, controlledBy, indexOwnership, planClaims, resolveController } from './ownership.ts';
import { podFromTemplate } from './pod-template.ts';
import { becomingAvailable, nextAvailableInMs } from './pods.ts';
import {
  planReplicaStatus,
  planReplicas,
  type ReplicaAction,
  type ReplicaOwner,
  type ReplicaStatus,
  ReplicaViews,
} from './replication-plan.ts';
import { slowStart } from './slow-start.ts';

export interface ReplicationKind<T extends KubeObject & ReplicaOwner> {
  readonly controllerName: string;
  readonly queueName: string;
  /** Source of its Events, e.g. `replicaset-controller`. */
  readonly eventSource: string;
  readonly type: ResourceType<T>;
  /** What its Pods' labels must match. */
  selectorOf(owner: T): LabelMatcher;
  readonly reportsTerminating: boolean;
}

export interface ReplicationOptions {
  readonly workers?: number | undefined;
}

export async function runReplication<T extends KubeObject & ReplicaOwner>(
  context: ComponentContext,
  kind: ReplicationKind<T>,
  options: ReplicationOptions = {},
): Promise<void> {
  const owners = context.informers.of(kind.type);
  const pods = context.informers.of(podType);
  indexOwnership(owners);
  indexOwnership(pods);
  const loop = new ReplicationLoop(context, kind, owners, pods);
  const controller = createController(context, {
    name: kind.controllerName,
    queue: kind.queueName,
    workers: options.workers ?? 5,
    waitFor: [owners, pods],
    reconcile: (key) => loop.reconcile(key),
    about: (key) => subjectOfKey(kind.type, key),
  });
  loop.follow(controller);
  await controller.run();
}

const noClaims = { adopt: [], release: [] };

class ReplicationLoop<T extends KubeObject & ReplicaOwner> {
  readonly #context: ComponentContext;
  readonly #kind: ReplicationKind<T>;
  readonly #owners: Informer<T>;
  readonly #pods: Informer<Pod>;
  readonly #expectations: Expectations;
  readonly #views: ReplicaViews<T>;
  readonly #events;

  constructor(context: ComponentContext, kind: ReplicationKind<T>, owners: Informer<T>, pods: Informer<Pod>) {
    this.#context = context;
    this.#kind = kind;
    this.#owners = owners;
    this.#pods = pods;
    this.#expectations = new Expectations(context.clock);
    this.#views = new ReplicaViews((owner) => kind.selectorOf(owner));
    this.#events = context.eventRecorder(kind.eventSource);
  }

  /** Wires the informers: an owner's change and each change of a Pod of its own wake it. */
  follow(controller: Controller): void {
    this.#owners.onChange({
      added: (owner) => controller.enqueue(keyOf(owner)),
      updated: (owner, previous) => {
        // A new object under an old name must not wait for what its predecessor asked for.
        if (owner.metadata.uid !== previous.metadata.uid) this.#expectations.forget(keyOf(previous));
        controller.enqueue(keyOf(owner));
      },
      deleted: (owner) => {
        this.#expectations.forget(keyOf(owner));
        controller.enqueue(keyOf(owner));
      },
    });
    const wakeOwner = (pod: Pod) => {
      const owner = resolveController(this.#owners, pod);
      if (owner) controller.enqueue(keyOf(owner));
      return owner;
    };
    this.#pods.onChange({
      added: (pod) => {
        const owner = wakeOwner(pod);
        if (!owner) this.#wakeAdopters(pod, controller);
        else if (pod.metadata.deletionTimestamp)
          this.#expectations.deletionObserved(keyOf(owner), pod.metadata.uid ?? '');
        else this.#expectations.creationObserved(keyOf(owner));
      },
      updated: (pod, previous) => {
        if (controllerOf(pod)?.uid !== controllerOf(previous)?.uid) wakeOwner(previous);
        const owner = wakeOwner(pod);
        if (!owner) this.#wakeAdopters(pod, controller);
        else if (pod.metadata.deletionTimestamp)
          this.#expectations.deletionObserved(keyOf(owner), pod.metadata.uid ?? '');
      },
      deleted: (pod) => {
        const owner = wakeOwner(pod);
        if (owner) this.#expectations.deletionObserved(keyOf(owner), pod.metadata.uid ?? '');
      },
    });
  }

  /** A Pod without controller may be anybody's whose selector matches. */
  #wakeAdopters(pod: Pod, controller: Controller): void {
    if (controllerOf(pod) || pod.metadata.deletionTimestamp) return;
    for (const owner of this.#owners.list(pod.metadata.namespace)) {
      if (this.#kind.selectorOf(owner).matches(pod.metadata.labels)) controller.enqueue(keyOf(owner));
    }
  }

  async reconcile(key: string): Promise<ReconcileResult | undefined> {
    const owner = this.#owners.get(key);
    if (!owner) {
      this.#expectations.forget(key);
      return;
    }
    const mayCount = this.#expectations.satisfied(key);
    const { owned, others, stopping } = this.#views.sort(owner, candidatesFor(this.#pods, owner));
    const { adopt, release } = others.length > 0 ? planClaims(owner, this.#kind.selectorOf(owner), others) : noClaims;
    const active = await claim(
      this.#context.client,
      { object: owner, type: this.#kind.type },
      { type: podType, claims: { owned, adopt, release } },
    );

    let action: ReplicaAction = { do: 'nothing' };
    let error: unknown;
    if (mayCount && owner.metadata.deletionTimestamp === undefined) {
      const related = () => this.#relatedPods(owner, active);
      action = planReplicas({ desired: owner.spec.replicas ?? 1, active, related }, this.#context.clock.now());
      error = await this.#execute(key, owner, action);
    }
    const failure = error === undefined ? undefined : this.#failure(action, error);
    const statusAtMs = this.#context.clock.now();
    const counts = this.#views.count(owner, active, statusAtMs);
    const terminating = this.#kind.reportsTerminating ? stopping : undefined;
    const status = planReplicaStatus(owner, { counts, terminating, failure }, statusAtMs);
    if (status) await this.#writeStatus(owner, status);
    if (error !== undefined) throw error;
    const nowMs = this.#context.clock.now();
    const againAfterMs = nextAvailableInMs(active, owner.spec.minReadySeconds ?? 0, nowMs);
    return againAfterMs === undefined ? undefined : { againAfterMs, causes: [becomingAvailable(nowMs + againAfterMs)] };
  }

  #failure(action: ReplicaAction, error: unknown) {
    const reason = action.do === 'delete' ? ('FailedDelete' as const) : ('FailedCreate' as const);
    return { reason, message: messageOf(error) };
  }

  /** Active Pods of all owners that share this one's controller. */
  #relatedPods(owner: T, own: readonly Pod[]): readonly Pod[] {
    const controller = controllerOf(owner);
    if (!controller) return own;
    const siblings = this.#owners.byIndex('controllers/controller-uid', controller.uid);
    return siblings.flatMap((sibling) => controlledBy(this.#pods, sibling)).filter(isPodActive);
  }

  async #execute(key: string, owner: T, action: ReplicaAction): Promise<unknown> {
    if (action.do === 'create') return await this.#create(key, owner, action.count);
    if (action.do === 'delete') return await this.#delete(key, owner, action.pods);
    return undefined;
  }

  async #create(key: string, owner: T, count: number): Promise<unknown> {
    const template = owner.spec.template;
    if (!template) return new Error('unable to create pods, no template');
    this.#expectations.expectCreations(key, count);
    const outcome = await slowStart(count, async () => {
      try {
        const pod = await this.#context.client.create(podType, podFromTemplate(template, owner, this.#kind.type));
        this.#record(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`);
      } catch (error) {
        this.#expectations.creationObserved(key);
        // The namespace is going away and its Pods with it: nothing to tell and nothing to try again.
        if (isNamespaceTerminating(error)) return;
        this.#record(owner, 'Warning', 'FailedCreate', `Error creating: ${messageOf(error)}`);
        throw error;
      }
    });
    this.#expectations.creationObserved(key, outcome.skipped);
    return outcome.error;
  }

  async #delete(key: string, owner: T, surplus: readonly Pod[]): Promise<unknown> {
    this.#expectations.expectDeletions(
      key,
      surplus.map((pod) => pod.metadata.uid ?? ''),
    );
    const results = await Promise.allSettled(
      surplus.map(async (pod) => {
        const { namespace, name = '', uid = '' } = pod.metadata;
        try {
          await this.#context.client.delete(podType, { namespace, name });
          this.#record(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${name}`);
        } catch (error) {
          this.#expectations.deletionObserved(key, uid);
          if (isNotFound(error)) return;
          this.#record(owner, 'Warning', 'FailedDelete', `Error deleting: ${messageOf(error)}`);
          throw error;
        }
      }),
    );
    return results.find((result) => result.status === 'rejected')?.reason;
  }

  #record(owner: T, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#events.record(withKind(this.#kind.type, owner), type, reason, message);
  }

  /** A conflict is met once with the newest object, as upstream does; after that the queue tries again. */
  async #writeStatus(owner: T, status: ReplicaStatus): Promise<void> {
    const { client } = this.#context;
    const { namespace, name } = splitKey(keyOf(owner));
    try {
      await client.updateStatus(this.#kind.type, { ...owner, status } as T);
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error)) throw error;
      const live = await client.get(this.#kind.type, { namespace, name });
      await client.updateStatus(this.#kind.type, { ...live, status } as T);
    }
  }
}
