/**
 * The behaviour of every built-in kind, by group and resource. One entry serves all versions of a resource, since objects are
 * defaulted and validated in the version they are stored in. What has no entry behaves generically. The kinds that every cluster has from
 * its first second are loaded with this file, the others when they are first worked on: most clusters never see most of them.
 */
import type { KubeObject } from '../apimachinery/meta.ts';
import { groupResource, type ResourceType } from '../apimachinery/resource.ts';
import { loaderFrom } from '../base/load-on-use.ts';
import { deploymentBehaviour } from './apps/v1/deployment.ts';
import { replicaSetBehaviour } from './apps/v1/replica-set.ts';
import { leaseBehaviour } from './coordination/v1/lease.ts';
import { configMapBehaviour } from './core/v1/config-map.ts';
import { endpointsBehaviour } from './core/v1/endpoints.ts';
import { eventBehaviour } from './core/v1/event.ts';
import { namespaceBehaviour } from './core/v1/namespace.ts';
import { nodeBehaviour } from './core/v1/node.ts';
import { podBehaviour } from './core/v1/pod.ts';
import { secretBehaviour } from './core/v1/secret.ts';
import { serviceBehaviour } from './core/v1/service.ts';
import { serviceAccountBehaviour } from './core/v1/service-account.ts';
import { endpointSliceBehaviour } from './discovery/v1/endpoint-slice.ts';
import { flowSchemaBehaviour } from './flowcontrol/v1/flow-schema.ts';
import { priorityLevelConfigurationBehaviour } from './flowcontrol/v1/priority-level-configuration.ts';
import type { KindBehaviour } from './kind.ts';
import { ipAddressBehaviour } from './networking/v1/ip-address.ts';
import { serviceCidrBehaviour } from './networking/v1/service-cidr.ts';
import { clusterRoleBehaviour } from './rbac/v1/cluster-role.ts';
import { clusterRoleBindingBehaviour } from './rbac/v1/cluster-role-binding.ts';
import { roleBehaviour } from './rbac/v1/role.ts';
import { roleBindingBehaviour } from './rbac/v1/role-binding.ts';
import { priorityClassBehaviour } from './scheduling/v1/priority-class.ts';

const present: ReadonlyMap<string, KindBehaviour> = index(
  clusterRoleBehaviour,
  clusterRoleBindingBehaviour,
  configMapBehaviour,
  deploymentBehaviour,
  endpointSliceBehaviour,
  endpointsBehaviour,
  eventBehaviour,
  flowSchemaBehaviour,
  ipAddressBehaviour,
  leaseBehaviour,
  namespaceBehaviour,
  nodeBehaviour,
  podBehaviour,
  priorityClassBehaviour,
  priorityLevelConfigurationBehaviour,
  replicaSetBehaviour,
  roleBehaviour,
  roleBindingBehaviour,
  secretBehaviour,
  serviceAccountBehaviour,
  serviceBehaviour,
  serviceCidrBehaviour,
);

const load = loaderFrom(import.meta.url);

/** The files of all other kinds, and the name under which each exports its behaviour. */
const files: Readonly<Record<string, readonly [file: string, behaviour: string]>> = {
  'apiservices.apiregistration.k8s.io': ['apiregistration/v1/api-service.ts', 'apiServiceBehaviour'],
  'certificatesigningrequests.certificates.k8s.io': [
    'certificates/v1/certificate-signing-request.ts',
    'certificateSigningRequestBehaviour',
  ],
  'clustertrustbundles.certificates.k8s.io': [
    'certificates/v1beta1/cluster-trust-bundle.ts',
    'clusterTrustBundleBehaviour',
  ],
  componentstatuses: ['core/v1/component-status.ts', 'componentStatusBehaviour'],
  'controllerrevisions.apps': ['apps/v1/controller-revision.ts', 'controllerRevisionBehaviour'],
  'cronjobs.batch': ['batch/v1/cron-job.ts', 'cronJobBehaviour'],
  'csidrivers.storage.k8s.io': ['storage/v1/csi-driver.ts', 'csiDriverBehaviour'],
  'csinodes.storage.k8s.io': ['storage/v1/csi-node.ts', 'csiNodeBehaviour'],
  'csistoragecapacities.storage.k8s.io': ['storage/v1/csi-storage-capacity.ts', 'csiStorageCapacityBehaviour'],
  'customresourcedefinitions.apiextensions.k8s.io': [
    'apiextensions/v1/custom-resource-definition.ts',
    'customResourceDefinitionBehaviour',
  ],
  'daemonsets.apps': ['apps/v1/daemon-set.ts', 'daemonSetBehaviour'],
  'deviceclasses.resource.k8s.io': ['resource/v1/device-class.ts', 'deviceClassBehaviour'],
  'devicetaintrules.resource.k8s.io': ['resource/v1alpha3/device-taint-rule.ts', 'deviceTaintRuleBehaviour'],
  'horizontalpodautoscalers.autoscaling': [
    'autoscaling/v2/horizontal-pod-autoscaler.ts',
    'horizontalPodAutoscalerBehaviour',
  ],
  'ingressclasses.networking.k8s.io': ['networking/v1/ingress-class.ts', 'ingressClassBehaviour'],
  'ingresses.networking.k8s.io': ['networking/v1/ingress.ts', 'ingressBehaviour'],
  'jobs.batch': ['batch/v1/job.ts', 'jobBehaviour'],
  'leasecandidates.coordination.k8s.io': ['coordination/v1beta1/lease-candidate.ts', 'leaseCandidateBehaviour'],
  limitranges: ['core/v1/limit-range.ts', 'limitRangeBehaviour'],
  'mutatingadmissionpolicies.admissionregistration.k8s.io': [
    'admissionregistration/v1/mutating-admission-policy.ts',
    'mutatingAdmissionPolicyBehaviour',
  ],
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io': [
    'admissionregistration/v1/mutating-admission-policy-binding.ts',
    'mutatingAdmissionPolicyBindingBehaviour',
  ],
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': [
    'admissionregistration/v1/mutating-webhook-configuration.ts',
    'mutatingWebhookConfigurationBehaviour',
  ],
  'networkpolicies.networking.k8s.io': ['networking/v1/network-policy.ts', 'networkPolicyBehaviour'],
  persistentvolumeclaims: ['core/v1/persistent-volume-claim.ts', 'persistentVolumeClaimBehaviour'],
  persistentvolumes: ['core/v1/persistent-volume.ts', 'persistentVolumeBehaviour'],
  'podcertificaterequests.certificates.k8s.io': [
    'certificates/v1beta1/pod-certificate-request.ts',
    'podCertificateRequestBehaviour',
  ],
  'poddisruptionbudgets.policy': ['policy/v1/pod-disruption-budget.ts', 'podDisruptionBudgetBehaviour'],
  'podgroups.scheduling.k8s.io': ['scheduling/v1alpha2/pod-group.ts', 'podGroupBehaviour'],
  podtemplates: ['core/v1/pod-template-resource.ts', 'podTemplateBehaviour'],
  replicationcontrollers: ['core/v1/replication-controller.ts', 'replicationControllerBehaviour'],
  'resourceclaims.resource.k8s.io': ['resource/v1/resource-claim.ts', 'resourceClaimBehaviour'],
  'resourceclaimtemplates.resource.k8s.io': [
    'resource/v1/resource-claim-template.ts',
    'resourceClaimTemplateBehaviour',
  ],
  'resourcepoolstatusrequests.resource.k8s.io': [
    'resource/v1alpha3/resource-pool-status-request.ts',
    'resourcePoolStatusRequestBehaviour',
  ],
  resourcequotas: ['core/v1/resource-quota.ts', 'resourceQuotaBehaviour'],
  'resourceslices.resource.k8s.io': ['resource/v1/resource-slice.ts', 'resourceSliceBehaviour'],
  'runtimeclasses.node.k8s.io': ['node/v1/runtime-class.ts', 'runtimeClassBehaviour'],
  'statefulsets.apps': ['apps/v1/stateful-set.ts', 'statefulSetBehaviour'],
  'storageclasses.storage.k8s.io': ['storage/v1/storage-class.ts', 'storageClassBehaviour'],
  'storageversionmigrations.storagemigration.k8s.io': [
    'storagemigration/v1beta1/storage-version-migration.ts',
    'storageVersionMigrationBehaviour',
  ],
  'storageversions.internal.apiserver.k8s.io': [
    'apiserverinternal/v1alpha1/storage-version.ts',
    'storageVersionBehaviour',
  ],
  'validatingadmissionpolicies.admissionregistration.k8s.io': [
    'admissionregistration/v1/validating-admission-policy.ts',
    'validatingAdmissionPolicyBehaviour',
  ],
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': [
    'admissionregistration/v1/validating-admission-policy-binding.ts',
    'validatingAdmissionPolicyBindingBehaviour',
  ],
  'validatingwebhookconfigurations.admissionregistration.k8s.io': [
    'admissionregistration/v1/validating-webhook-configuration.ts',
    'validatingWebhookConfigurationBehaviour',
  ],
  'volumeattachments.storage.k8s.io': ['storage/v1/volume-attachment.ts', 'volumeAttachmentBehaviour'],
  'volumeattributesclasses.storage.k8s.io': ['storage/v1/volume-attributes-class.ts', 'volumeAttributesClassBehaviour'],
  'workloads.scheduling.k8s.io': ['scheduling/v1alpha2/workload.ts', 'workloadBehaviour'],
};

/** What is asked for: a descriptor, or a row of the tables. */
export interface ResourceName {
  readonly group: string;
  readonly resource: string;
}

/** Never fails: an unknown kind's behaviour has no rules of its own. */
export function behaviourOf(resource: ResourceName): KindBehaviour {
  const name = groupResource(resource);
  const entry = files[name];
  return (
    present.get(name) ?? (entry ? load<KindBehaviour>(...entry) : { resource: resource as ResourceType<KubeObject> })
  );
}

/** All kinds that have rules of their own. */
export function knownBehaviours(): readonly KindBehaviour[] {
  return [...present.values(), ...Object.values(files).map((entry) => load<KindBehaviour>(...entry))];
}

function index(...list: readonly KindBehaviour[]): Map<string, KindBehaviour> {
  return new Map(list.map((behaviour) => [groupResource(behaviour.resource), behaviour]));
}
