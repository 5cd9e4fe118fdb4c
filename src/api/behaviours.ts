/**
 * The behaviour of every built-in kind, by group and resource. One entry serves all versions of a resource, since objects are
 * defaulted and validated in the version they are stored in. What has no entry behaves generically.
 */
import type { KubeObject } from '../apimachinery/meta.ts';
import { groupResource, type ResourceType } from '../apimachinery/resource.ts';
import { mutatingAdmissionPolicyBehaviour } from './admissionregistration/v1/mutating-admission-policy.ts';
import { mutatingAdmissionPolicyBindingBehaviour } from './admissionregistration/v1/mutating-admission-policy-binding.ts';
import { mutatingWebhookConfigurationBehaviour } from './admissionregistration/v1/mutating-webhook-configuration.ts';
import { validatingAdmissionPolicyBehaviour } from './admissionregistration/v1/validating-admission-policy.ts';
import { validatingAdmissionPolicyBindingBehaviour } from './admissionregistration/v1/validating-admission-policy-binding.ts';
import { validatingWebhookConfigurationBehaviour } from './admissionregistration/v1/validating-webhook-configuration.ts';
import { customResourceDefinitionBehaviour } from './apiextensions/v1/custom-resource-definition.ts';
import { apiServiceBehaviour } from './apiregistration/v1/api-service.ts';
import { storageVersionBehaviour } from './apiserverinternal/v1alpha1/storage-version.ts';
import { controllerRevisionBehaviour } from './apps/v1/controller-revision.ts';
import { daemonSetBehaviour } from './apps/v1/daemon-set.ts';
import { deploymentBehaviour } from './apps/v1/deployment.ts';
import { replicaSetBehaviour } from './apps/v1/replica-set.ts';
import { statefulSetBehaviour } from './apps/v1/stateful-set.ts';
import { horizontalPodAutoscalerBehaviour } from './autoscaling/v2/horizontal-pod-autoscaler.ts';
import { cronJobBehaviour } from './batch/v1/cron-job.ts';
import { jobBehaviour } from './batch/v1/job.ts';
import { certificateSigningRequestBehaviour } from './certificates/v1/certificate-signing-request.ts';
import { clusterTrustBundleBehaviour } from './certificates/v1beta1/cluster-trust-bundle.ts';
import { podCertificateRequestBehaviour } from './certificates/v1beta1/pod-certificate-request.ts';
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
import { flowSchemaBehaviour } from './flowcontrol/v1/flow-schema.ts';
import { priorityLevelConfigurationBehaviour } from './flowcontrol/v1/priority-level-configuration.ts';
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
import { deviceClassBehaviour } from './resource/v1/device-class.ts';
import { resourceClaimBehaviour } from './resource/v1/resource-claim.ts';
import { resourceClaimTemplateBehaviour } from './resource/v1/resource-claim-template.ts';
import { resourceSliceBehaviour } from './resource/v1/resource-slice.ts';
import { deviceTaintRuleBehaviour } from './resource/v1alpha3/device-taint-rule.ts';
import { resourcePoolStatusRequestBehaviour } from './resource/v1alpha3/resource-pool-status-request.ts';
import { priorityClassBehaviour } from './scheduling/v1/priority-class.ts';
import { podGroupBehaviour } from './scheduling/v1alpha2/pod-group.ts';
import { workloadBehaviour } from './scheduling/v1alpha2/workload.ts';
import { csiDriverBehaviour } from './storage/v1/csi-driver.ts';
import { csiNodeBehaviour } from './storage/v1/csi-node.ts';
import { csiStorageCapacityBehaviour } from './storage/v1/csi-storage-capacity.ts';
import { storageClassBehaviour } from './storage/v1/storage-class.ts';
import { volumeAttachmentBehaviour } from './storage/v1/volume-attachment.ts';
import { volumeAttributesClassBehaviour } from './storage/v1/volume-attributes-class.ts';
import { storageVersionMigrationBehaviour } from './storagemigration/v1beta1/storage-version-migration.ts';

const behaviours: ReadonlyMap<string, KindBehaviour> = index(
  apiServiceBehaviour,
  certificateSigningRequestBehaviour,
  clusterRoleBehaviour,
  clusterRoleBindingBehaviour,
  clusterTrustBundleBehaviour,
  componentStatusBehaviour,
  configMapBehaviour,
  controllerRevisionBehaviour,
  cronJobBehaviour,
  csiDriverBehaviour,
  csiNodeBehaviour,
  csiStorageCapacityBehaviour,
  customResourceDefinitionBehaviour,
  daemonSetBehaviour,
  deploymentBehaviour,
  deviceClassBehaviour,
  deviceTaintRuleBehaviour,
  endpointSliceBehaviour,
  endpointsBehaviour,
  eventBehaviour,
  flowSchemaBehaviour,
  horizontalPodAutoscalerBehaviour,
  ingressBehaviour,
  ingressClassBehaviour,
  ipAddressBehaviour,
  jobBehaviour,
  leaseBehaviour,
  leaseCandidateBehaviour,
  limitRangeBehaviour,
  mutatingAdmissionPolicyBehaviour,
  mutatingAdmissionPolicyBindingBehaviour,
  mutatingWebhookConfigurationBehaviour,
  namespaceBehaviour,
  networkPolicyBehaviour,
  nodeBehaviour,
  persistentVolumeBehaviour,
  persistentVolumeClaimBehaviour,
  podBehaviour,
  podCertificateRequestBehaviour,
  podDisruptionBudgetBehaviour,
  podGroupBehaviour,
  podTemplateBehaviour,
  priorityClassBehaviour,
  priorityLevelConfigurationBehaviour,
  replicaSetBehaviour,
  replicationControllerBehaviour,
  resourceClaimBehaviour,
  resourceClaimTemplateBehaviour,
  resourcePoolStatusRequestBehaviour,
  resourceQuotaBehaviour,
  resourceSliceBehaviour,
  roleBehaviour,
  roleBindingBehaviour,
  runtimeClassBehaviour,
  secretBehaviour,
  serviceAccountBehaviour,
  serviceBehaviour,
  serviceCidrBehaviour,
  statefulSetBehaviour,
  storageClassBehaviour,
  storageVersionBehaviour,
  storageVersionMigrationBehaviour,
  validatingAdmissionPolicyBehaviour,
  validatingAdmissionPolicyBindingBehaviour,
  validatingWebhookConfigurationBehaviour,
  volumeAttachmentBehaviour,
  volumeAttributesClassBehaviour,
  workloadBehaviour,
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
