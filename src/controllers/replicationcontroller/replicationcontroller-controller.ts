/**
 * Keeps each ReplicationController's number of Pods, exactly as a ReplicaSet's; its selector is a plain map of labels.
 */
import { type ReplicationController, replicationControllers } from '../../api/gen/core-v1.ts';
import { labelMatcherOfSet, nothing } from '../../apimachinery/labels.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type ReplicationKind, type ReplicationOptions, runReplication } from '../common/replication.ts';

const kind: ReplicationKind<ReplicationController> = {
  controllerName: 'replicationcontroller-controller',
  queueName: 'replicationmanager',
  eventSource: 'replication-controller',
  type: replicationControllers,
  selectorOf: ({ spec }) =>
    Object.keys(spec.selector ?? {}).length > 0 ? labelMatcherOfSet(spec.selector ?? {}) : nothing,
  reportsTerminating: false,
};

export function runReplicationControllerController(
  context: ComponentContext,
  options: ReplicationOptions = {},
): Promise<void> {
  return runReplication(context, kind, options);
}
