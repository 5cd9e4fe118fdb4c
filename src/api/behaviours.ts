/**
 * The behaviour of every built-in kind, by group and resource. One entry serves all versions of a resource, since objects are
 * defaulted and validated in the version they are stored in. What has no entry behaves generically.
 */
import type { KubeObject } from '../apimachinery/meta.ts';
import { groupResource, type ResourceType } from '../apimachinery/resource.ts';
import { controllerRevisionBehaviour } from './apps/v1/controller-revision.ts';
import { daemonSetBehaviour } from './apps/v1/daemon-set.ts';
import { deploymentBehaviour } from './apps/v1/deployment.ts';
import { replicaSetBehaviour } from './apps/v1/replica-set.ts';
import { statefulSetBehaviour } from './apps/v1/stateful-set.ts';
import { cronJobBehaviour } from './batch/v1/cron-job.ts';
import { jobBehaviour } from './batch/v1/job.ts';
import { leaseBehaviour } from './coordination/v1/lease.ts';
import { leaseCandidateBehaviour } from './coordination/v1beta1/lease-candidate.ts';
import { componentStatusBehaviour } from './core/v1/component-status.ts';
import { configMapBehaviour } from './core/v1/config-map.ts';
import { endpointsBehaviour } from './core/v1/endpoints.ts';
import { eventBehaviour } from './core/v1/event.ts';
import { limitRangeBehaviour } from './core/v1/limit-range.ts';
import { namespaceBehaviour } from './core/v1/namespace.ts';
import { nodeBehaviour } from './core/v1/node.ts';
import { persistentVolumeBehaviour } from './core/v1/persistent-volume.ts';
import { persistentVolumeClaimBehaviour } from './core/v1/persistent-volume-claim.ts';
import { podBehaviour } from './core/v1/pod.ts';
import { podTemplateBehaviour } from './core/v1/pod-template-resource.ts';
import { replicationControllerBehaviour } from './core/v1/replication-controller.ts';
import { resourceQuotaBehaviour } from './core/v1/resource-quota.ts';
import { secretBehaviour } from './core/v1/secret.ts';
import { serviceBehaviour } from './core/v1/service.ts';
import { serviceAccountBehaviour } from './core/v1/service-account.ts';
import { endpointSliceBehaviour } from './discovery/v1/endpoint-slice.ts';
import type { KindBehaviour } from './kind.ts';
import { ingressBehaviour } from './networking/v1/ingress.ts';
import { ingressClassBehaviour } from './networking/v1/ingress-class.ts';
import { ipAddressBehaviour } from './networking/v1/ip-address.ts';
import { networkPolicyBehaviour } from './networking/v1/network-policy.ts';
import { serviceCidrBehaviour } from './networking/v1/service-cidr.ts';
import { runtimeClassBehaviour } from './node/v1/runtime-class.ts';
import { podDisruptionBudgetBehaviour } from './policy/v1/pod-disruption-budget.ts';
import { clusterRoleBehaviour } from './rbac/v1/cluster-role.ts';
import { clusterRoleBindingBehaviour } from './rbac/v1/cluster-role-binding.ts';
import { roleBehaviour } from './rbac/v1/role.ts';
import { roleBindingBehaviour } from './rbac/v1/role-binding.ts';
import { priorityClassBehaviour } from './scheduling/v1/priority-class.ts';
import { csiDriverBehaviour } from './storage/v1/csi-driver.ts';
import { csiNodeBehaviour } from './storage/v1/csi-node.ts';
import { csiStorageCapacityBehaviour } from './storage/v1/csi-storage-capacity.ts';
import { storageClassBehaviour } from './storage/v1/storage-class.ts';
import { volumeAttachmentBehaviour } from './storage/v1/volume-attachment.ts';
import { volumeAttributesClassBehaviour } from './storage/v1/volume-attributes-class.ts';

const behaviours: ReadonlyMap<string, KindBehaviour> = index(
  leaseBehaviour,
  leaseCandidateBehaviour,
  endpointSliceBehaviour,
  ingressClassBehaviour,
  ingressBehaviour,
  ipAddressBehaviour,
  networkPolicyBehaviour,
  serviceCidrBehaviour,
  runtimeClassBehaviour,
  podDisruptionBudgetBehaviour,
  clusterRoleBindingBehaviour,
  clusterRoleBehaviour,
  roleBindingBehaviour,
  roleBehaviour,
  priorityClassBehaviour,
  csiDriverBehaviour,
  csiNodeBehaviour,
  csiStorageCapacityBehaviour,
  storageClassBehaviour,
  volumeAttachmentBehaviour,
  volumeAttributesClassBehaviour,
  componentStatusBehaviour,
  configMapBehaviour,
  controllerRevisionBehaviour,
  cronJobBehaviour,
  daemonSetBehaviour,
  deploymentBehaviour,
  endpointsBehaviour,
  eventBehaviour,
  jobBehaviour,
  limitRangeBehaviour,
  namespaceBehaviour,
  nodeBehaviour,
  persistentVolumeBehaviour,
  persistentVolumeClaimBehaviour,
  podBehaviour,
  podTemplateBehaviour,
  replicaSetBehaviour,
  replicationControllerBehaviour,
  resourceQuotaBehaviour,
  secretBehaviour,
  serviceAccountBehaviour,
  serviceBehaviour,
  statefulSetBehaviour,
);

/** What is asked for: a descriptor, or a row of the tables. */
export interface ResourceName {
  readonly group: string;
  readonly resource: string;
}

/** Never fails: an unknown kind's behaviour has no rules of its own. */
export function behaviourOf(name: ResourceName): KindBehaviour {
  return behaviours.get(groupResource(name)) ?? { resource: name as ResourceType<KubeObject> };
}

/** All kinds that have rules of their own. */
export function knownBehaviours(): readonly KindBehaviour[] {
  return [...behaviours.values()];
}

function index(...list: readonly KindBehaviour[]): Map<string, KindBehaviour> {
  return new Map(list.map((behaviour) => [groupResource(behaviour.resource), behaviour]));
}
