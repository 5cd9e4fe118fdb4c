/**
 * Brings a Deployment's ReplicaSets to its template and size. This file watches and claims; what a pass does is
 * `rollout-step.ts`, what it decides is in `rollout.ts`, `revisions.ts` and `status.ts`. It never touches a Pod.
 */
import { type Deployment, deployments, type ReplicaSet, replicaSets } from '../../api/gen/apps-v1.ts';
import { type Pod, pods as podType } from '../../api/gen/core-v1.ts';
import { labelMatcherOf } from '../../apimachinery/labels.ts';
import { controllerOf, keyOf } from '../../apimachinery/meta.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type Controller, createController } from '../../reconcile/controller.ts';
import { OwnWrites } from '../../reconcile/expectations.ts';
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
import { RolloutStep } from './rollout-step.ts';

export interface DeploymentControllerOptions {
  readonly workers?: number | undefined;
}

export async function runDeploymentController(
  context: ComponentContext,
  options: DeploymentControllerOptions = {},
): Promise<void> {
  const { client, informers } = context;
  const all = informers.of(deployments);
  const sets = informers.of(replicaSets);
  const pods = informers.of(podType);
  indexOwnership(sets);
  indexOwnership(pods);
  const events = context.eventRecorder('deployment-controller');
  const writes = new OwnWrites(client, sets);

  const controller = createController(context, {
    name: 'deployment-controller',
    queue: 'deployment',
    workers: options.workers ?? 5,
    maxRetries: 15,
    waitFor: [all, sets, pods],
    async reconcile(key: string) {
      const deployment = all.get(key);
      if (!deployment) return undefined;
      const selector = labelMatcherOf(deployment.spec.selector);
      if (selector.empty) {
        const message = 'This deployment is selecting all pods. A non-empty selector is required.';
        events.record(withKind(deployments, deployment), 'Warning', 'SelectingAll', message);
        if ((deployment.status?.observedGeneration ?? 0) < (deployment.metadata.generation ?? 0)) {
          const status = { ...deployment.status, observedGeneration: deployment.metadata.generation };
          await client.updateStatus(deployments, { ...deployment, status });
        }
        return undefined;
      }
      const candidates = await writes.newest(deployment, candidatesFor(sets, deployment));
      const claims = planClaims(deployment, selector, candidates);
      const owned = await claim(client, { object: deployment, type: deployments }, { type: replicaSets, claims });
      const podsOf = (replicaSet: ReplicaSet) => controlledBy(pods, replicaSet);
      return await new RolloutStep(context, events, { deployment, owned, podsOf, writes }).run();
    },
  });

  controller.watch(all);
  all.onChange({ deleted: ({ metadata }) => writes.forget(metadata.uid ?? '') });
  followReplicaSets(controller, all, sets);
  followDeletedPods(controller, all, sets, pods);
  await controller.run();
}

function followReplicaSets(controller: Controller, all: Informer<Deployment>, sets: Informer<ReplicaSet>): void {
  const wakeOwner = (replicaSet: ReplicaSet) => {
    const owner = resolveController(all, replicaSet);
    if (owner) controller.enqueue(keyOf(owner));
  };
  const wakeAdopters = (replicaSet: ReplicaSet) => {
    if (controllerOf(replicaSet) || replicaSet.metadata.deletionTimestamp) return;
    for (const deployment of all.list(replicaSet.metadata.namespace)) {
      const selector = labelMatcherOf(deployment.spec.selector);
      if (!selector.empty && selector.matches(replicaSet.metadata.labels)) controller.enqueue(keyOf(deployment));
    }
  };
  const changed = (replicaSet: ReplicaSet) => {
    wakeOwner(replicaSet);
    wakeAdopters(replicaSet);
  };
  sets.onChange({
    added: changed,
    updated: (replicaSet, previous) => {
      if (controllerOf(replicaSet)?.uid !== controllerOf(previous)?.uid) wakeOwner(previous);
      changed(replicaSet);
    },
    deleted: wakeOwner,
  });
}

/** A recreation goes on when the last old Pod has really gone. */
function followDeletedPods(
  controller: Controller,
  all: Informer<Deployment>,
  sets: Informer<ReplicaSet>,
  pods: Informer<Pod>,
): void {
  pods.onChange({
    deleted: (pod) => {
      const replicaSet = resolveController(sets, pod);
      const deployment = replicaSet && resolveController(all, replicaSet);
      if (deployment?.spec.strategy?.type !== 'Recreate') return;
      const left = controlledBy(sets, deployment).some((set) => controlledBy(pods, set).length > 0);
      if (!left) controller.enqueue(keyOf(deployment));
    },
  });
}
