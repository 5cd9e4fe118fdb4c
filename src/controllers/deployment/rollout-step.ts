/**
 * One pass over one Deployment: finds or makes the ReplicaSet of its template, carries out the scalings that `rollout.ts` plans,
 * writes the status that `status.ts` computes. An instance lives for one pass and holds the newest version of the Deployment, since
 * each write of it must start from the one before.
 */
import {
  type Deployment,
  type DeploymentStatus,
  deployments,
  type ReplicaSet,
  replicaSets,
} from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { controllerReference, draft, isControlledBy } from '../../apimachinery/meta.ts';
import { isAlreadyExists, isNamespaceTerminating, isNotFound, messageOf } from '../../apimachinery/status.ts';
import type { CauseNote } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import type { ReconcileResult } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import type { OwnWrites } from '../../reconcile/expectations.ts';
import { withKind } from '../common/events.ts';
import { templateHash } from '../common/template-hash.ts';
import { equalOnWire, sameStatus } from '../common/wire-equality.ts';
import {
  annotationsFor,
  findNewReplicaSet,
  hasProgressDeadline,
  hasSizeAnnotations,
  maxRevision,
  planCleanup,
  replicasOf,
  revisionAnnotation,
  revisionOf,
  sameTemplate,
  sizeAnnotations,
  templateHashLabel,
} from './revisions.ts';
import {
  allOf,
  isScalingEvent,
  newReplicas,
  planRecreateDown,
  planResize,
  planRollingUpdate,
  type ReplicaSets,
  recreateCauses,
  rollingCauses,
  type Scaling,
} from './rollout.ts';
import {
  deploymentCondition,
  isComplete,
  planRolloutStatus,
  planStatus,
  progressCheckInMs,
  setCondition,
} from './status.ts';

export interface RolloutInput {
  readonly deployment: Deployment;
  /** The ReplicaSets it controls. */
  readonly owned: readonly ReplicaSet[];
  /** All Pods of one of them. */
  podsOf(replicaSet: ReplicaSet): readonly Pod[];
  /** Of its ReplicaSets. */
  readonly writes: OwnWrites<ReplicaSet>;
}

type Outcome = ReconcileResult | undefined;

export class RolloutStep {
  readonly #context: ComponentContext;
  readonly #events: EventRecorder;
  readonly #input: RolloutInput;
  #deployment: Deployment;

  constructor(context: ComponentContext, events: EventRecorder, input: RolloutInput) {
    this.#context = context;
    this.#events = events;
    this.#input = input;
    this.#deployment = input.deployment;
  }

  async run(): Promise<Outcome> {
    const { metadata, spec } = this.#deployment;
    if (metadata.deletionTimestamp) {
      const sets = await this.#sets(false);
      await this.#writeStatus(this.#countedStatus(sets));
      return undefined;
    }
    await this.#notePause();
    if (spec.paused) return await this.#resize();
    if (isScalingEvent(this.#deployment, await this.#sets(false))) return await this.#resize();
    return spec.strategy?.type === 'Recreate' ? await this.#recreate() : await this.#rollingUpdate();
  }

  /** Pausing stops the progress deadline, resuming starts it anew; both show in the Progressing condition. */
  async #notePause(): Promise<void> {
    const deployment = this.#deployment;
    const paused = deployment.spec.paused === true;
    const progressing = findCondition(deployment.status?.conditions, 'Progressing');
    if (!hasProgressDeadline(deployment) || progressing?.reason === 'ProgressDeadlineExceeded') return;
    const noted = progressing?.reason === 'DeploymentPaused';
    if (paused === noted) return;
    const nowMs = this.#context.clock.now();
    const condition = paused
      ? deploymentCondition(
          { type: 'Progressing', status: 'Unknown', reason: 'DeploymentPaused', message: 'Deployment is paused' },
          nowMs,
        )
      : deploymentCondition(
          { type: 'Progressing', status: 'Unknown', reason: 'DeploymentResumed', message: 'Deployment is resumed' },
          nowMs,
        );
    await this.#writeStatus({
      ...deployment.status,
      conditions: setCondition(deployment.status?.conditions, condition),
    });
  }

  async #resize(): Promise<Outcome> {
    const sets = await this.#sets(false);
    const scaled = await this.#scaleAll(planResize(this.#deployment, sets), sets);
    if (this.#deployment.spec.paused) await this.#cleanUp(scaled.old);
    await this.#writeStatus(this.#countedStatus(scaled));
    return undefined;
  }

  async #rollingUpdate(): Promise<Outcome> {
    const sets = await this.#sets(true);
    if (!sets.current) return undefined;
    const scalings = planRollingUpdate(this.#deployment, sets.current, sets.old);
    if (scalings.length > 0) return await this.#finish(await this.#scaleAll(scalings, sets));
    return await this.#finishAndCleanUp(sets);
  }

  async #recreate(): Promise<Outcome> {
    let sets = await this.#sets(false);
    const down = planRecreateDown(sets.old);
    if (down.length > 0) return await this.#finish(await this.#scaleAll(down, sets));
    if (this.#oldPodsRun(sets)) {
      return await this.#finish(sets, recreateCauses(sets.old.flatMap((replicaSet) => this.#input.podsOf(replicaSet))));
    }
    if (!sets.current) sets = await this.#sets(true);
    if (!sets.current) return undefined;
    const desired = replicasOf(this.#deployment);
    if (replicasOf(sets.current) !== desired) {
      sets = await this.#scaleAll([{ replicaSet: sets.current, replicas: desired }], sets);
    }
    return await this.#finishAndCleanUp(sets);
  }

  /** Whether a Pod of an old revision may still run, being deleted or not. */
  #oldPodsRun({ old }: ReplicaSets): boolean {
    if (old.some((replicaSet) => (replicaSet.status?.replicas ?? 0) > 0)) return true;
    const over = ({ status }: Pod) => status?.phase === 'Failed' || status?.phase === 'Succeeded';
    return old.some((replicaSet) => !this.#input.podsOf(replicaSet).every(over));
  }

  async #finishAndCleanUp(sets: ReplicaSets): Promise<Outcome> {
    if (isComplete(this.#deployment, this.#deployment.status ?? {})) await this.#cleanUp(sets.old);
    return await this.#finish(sets);
  }

  async #finish(sets: ReplicaSets, known?: readonly CauseNote[]): Promise<Outcome> {
    const nowMs = this.#context.clock.now();
    const status = planRolloutStatus(this.#deployment, allOf(sets), sets.current, nowMs);
    const isWritten = await this.#writeStatus(status);
    const checkInMs = progressCheckInMs(this.#deployment, status, nowMs);
    const deadlineMs = checkInMs === undefined ? undefined : nowMs + checkInMs;
    const causes = known ?? rollingCauses(this.#deployment, sets, deadlineMs);
    return { causes, againAfterMs: isWritten ? undefined : checkInMs };
  }

  #countedStatus(sets: ReplicaSets): DeploymentStatus {
    return planStatus(this.#deployment, allOf(sets), sets.current, this.#context.clock.now());
  }

  /** The ReplicaSets by their part; the one of the present template is kept up to date and, with `create`, made if need be. */
  async #sets(create: boolean): Promise<ReplicaSets> {
    const present = findNewReplicaSet(this.#deployment, this.#input.owned);
    const old = this.#input.owned.filter((replicaSet) => replicaSet.metadata.uid !== present?.metadata.uid);
    const revision = maxRevision(old) + 1n;
    if (present) return { current: await this.#refresh(present, revision), old };
    return { current: create ? await this.#create(old, revision) : undefined, old };
  }

  async #refresh(present: ReplicaSet, revision: bigint): Promise<ReplicaSet> {
    const minReadySeconds = this.#deployment.spec.minReadySeconds;
    const annotations = annotationsFor(this.#deployment, present, revision);
    const stale = !equalOnWire(annotations, present.metadata.annotations);
    if (stale || (present.spec.minReadySeconds ?? 0) !== (minReadySeconds ?? 0)) {
      return await this.#update({
        ...present,
        metadata: { ...present.metadata, annotations },
        spec: { ...present.spec, minReadySeconds },
      });
    }
    const conditions = this.#deployment.status?.conditions;
    const unknown = hasProgressDeadline(this.#deployment) && !findCondition(conditions, 'Progressing');
    const message = `Found new replica set ${quote(present.metadata.name ?? '')}`;
    const found = deploymentCondition(
      { type: 'Progressing', status: 'True', reason: 'FoundNewReplicaSet', message },
      this.#context.clock.now(),
    );
    await this.#noteRevision(revisionOf(present), unknown ? found : undefined);
    return present;
  }

  async #create(old: readonly ReplicaSet[], revision: bigint): Promise<ReplicaSet> {
    const wanted = this.#describe(old, revision);
    const name = wanted.metadata.name ?? '';
    let existed = false;
    let made: ReplicaSet;
    try {
      made = await this.#noted(this.#context.client.create(replicaSets, wanted));
    } catch (error) {
      const found = isAlreadyExists(error) ? await this.#existing(name) : undefined;
      if (!found) throw await this.#creationFailed(name, error);
      existed = true;
      made = found;
    }
    const count = replicasOf(wanted);
    if (!existed && count > 0)
      this.#record('Normal', 'ScalingReplicaSet', `Scaled up replica set ${name} from 0 to ${count}`);
    const message = `Created new replica set ${quote(name)}`;
    const created = deploymentCondition(
      { type: 'Progressing', status: 'True', reason: 'NewReplicaSetCreated', message },
      this.#context.clock.now(),
    );
    await this.#noteRevision(revision, !existed && hasProgressDeadline(this.#deployment) ? created : undefined);
    return made;
  }

  #describe(old: readonly ReplicaSet[], revision: bigint): ReplicaSet {
    const { metadata, spec, status } = this.#deployment;
    const hash = templateHash(spec.template, status?.collisionCount);
    const template = draft(spec.template);
    const labels = { ...template.metadata?.labels, [templateHashLabel]: hash };
    const selector = draft(spec.selector);
    const replicas = newReplicas(this.#deployment, old, 0);
    return {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        name: `${metadata.name}-${hash}`,
        namespace: metadata.namespace,
        labels,
        annotations: {
          ...annotationsFor(this.#deployment, { metadata: {} }, revision),
          ...sizeAnnotations(this.#deployment),
        },
        ownerReferences: [controllerReference(this.#deployment, deployments)],
      },
      spec: {
        replicas,
        minReadySeconds: spec.minReadySeconds,
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [templateHashLabel]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    };
  }

  /**
   * The name is taken. By our own ReplicaSet that the informer has not shown yet: go on with it. By another template with the same
   * hash: count the collision, so that the next pass computes another name.
   */
  async #existing(name: string): Promise<ReplicaSet | undefined> {
    const { namespace } = this.#deployment.metadata;
    const present = await this.#context.client.get(replicaSets, { namespace, name });
    const ours = isControlledBy(present, this.#deployment);
    if (ours && sameTemplate(present.spec.template, this.#deployment.spec.template)) return present;
    const collisionCount = (this.#deployment.status?.collisionCount ?? 0) + 1;
    await this.#writeStatus({ ...this.#deployment.status, collisionCount });
    return undefined;
  }

  async #creationFailed(name: string, error: unknown): Promise<unknown> {
    if (isAlreadyExists(error) || isNamespaceTerminating(error)) return error;
    const message = `Failed to create new replica set ${quote(name)}: ${messageOf(error)}`;
    if (hasProgressDeadline(this.#deployment)) {
      const { status } = this.#deployment;
      const nowMs = this.#context.clock.now();
      const failed = deploymentCondition(
        { type: 'Progressing', status: 'False', reason: 'ReplicaSetCreateError', message },
        nowMs,
      );
      await this.#writeStatus({ ...status, conditions: setCondition(status?.conditions, failed) });
    }
    this.#record('Warning', 'ReplicaSetCreateError', message);
    return error;
  }

  /** The Deployment carries the number of its newest revision. */
  async #noteRevision(revision: bigint, condition: ReturnType<typeof deploymentCondition> | undefined): Promise<void> {
    const { metadata, status } = this.#deployment;
    const noted = metadata.annotations?.[revisionAnnotation] === String(revision);
    if (noted && !condition) return;
    const annotations = { ...metadata.annotations, [revisionAnnotation]: String(revision) };
    const conditions = condition ? setCondition(status?.conditions, condition) : status?.conditions;
    this.#deployment = await this.#context.client.updateStatus(deployments, {
      ...this.#deployment,
      metadata: { ...metadata, annotations },
      status: { ...status, conditions },
    });
  }

  async #scaleAll(scalings: readonly Scaling[], sets: ReplicaSets): Promise<ReplicaSets> {
    const updated = new Map<string | undefined, ReplicaSet>();
    for (const scaling of scalings) updated.set(scaling.replicaSet.metadata.uid, await this.#scale(scaling));
    const newest = (replicaSet: ReplicaSet) => updated.get(replicaSet.metadata.uid) ?? replicaSet;
    return { current: sets.current && newest(sets.current), old: sets.old.map(newest) };
  }

  async #scale({ replicaSet, replicas }: Scaling): Promise<ReplicaSet> {
    const before = replicasOf(replicaSet);
    if (before === replicas && hasSizeAnnotations(replicaSet, this.#deployment)) return replicaSet;
    const annotations = { ...replicaSet.metadata.annotations, ...sizeAnnotations(this.#deployment) };
    const updated = await this.#update({
      ...replicaSet,
      metadata: { ...replicaSet.metadata, annotations },
      spec: { ...replicaSet.spec, replicas },
    });
    if (before !== replicas) {
      const direction = before < replicas ? 'up' : 'down';
      const { name } = replicaSet.metadata;
      this.#record(
        'Normal',
        'ScalingReplicaSet',
        `Scaled ${direction} replica set ${name} from ${before} to ${replicas}`,
      );
    }
    return updated;
  }

  #update(replicaSet: ReplicaSet): Promise<ReplicaSet> {
    return this.#noted(this.#context.client.update(replicaSets, replicaSet));
  }

  #noted(write: Promise<ReplicaSet>): Promise<ReplicaSet> {
    return this.#input.writes.noted(this.#deployment, write);
  }

  async #cleanUp(old: readonly ReplicaSet[]): Promise<void> {
    for (const { metadata } of planCleanup(this.#deployment, old)) {
      try {
        await this.#context.client.delete(replicaSets, { namespace: metadata.namespace, name: metadata.name ?? '' });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }

  /** Whether there was anything to write. */
  async #writeStatus(status: DeploymentStatus): Promise<boolean> {
    if (sameStatus(this.#deployment.status, status)) return false;
    this.#deployment = await this.#context.client.updateStatus(deployments, { ...this.#deployment, status });
    return true;
  }

  #record(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#events.record(withKind(deployments, this.#deployment), type, reason, message);
  }
}
