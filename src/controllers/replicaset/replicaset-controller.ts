/**
 * Keeps each ReplicaSet's number of Pods. The loop itself is `common/replication.ts`; this file says what a ReplicaSet is to it.
 */
import { type ReplicaSet, replicaSets } from '../../api/gen/apps-v1.ts';
import { labelMatcherOf } from '../../apimachinery/labels.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type ReplicationKind, type ReplicationOptions, runReplication } from '../common/replication.ts';

const kind: ReplicationKind<ReplicaSet> = {
  controllerName: 'replicaset-controller',
  queueName: 'replicaset',
  eventSource: 'replicaset-controller',
  type: replicaSets,
  selectorOf: (replicaSet) => labelMatcherOf(replicaSet.spec.selector),
  reportsTerminating: true,
};

export function runReplicaSetController(context: ComponentContext, options: ReplicationOptions = {}): Promise<void> {
  return runReplication(context, kind, options);
}
