/**
 * What the server tells a client about an object that it takes all the same: fields that do nothing any more, values that surprise. By
 * group and resource, `/status` where a subresource has warnings of its own. The texts are upstream's. They are asked for once an object
 * has passed validation; the files are loaded when the first object of a kind is written.
 */
import type { KubeObject } from '../apimachinery/meta.ts';
import { loaderFrom } from '../base/load-on-use.ts';

/** `previous` is what an update replaces. */
export type WarningsOf<T> = (object: T, previous?: T) => readonly string[];

const load = loaderFrom(import.meta.url);

const files: Readonly<Record<string, readonly [file: string, name: string]>> = {
  pods: ['core/v1/pod-warnings.ts', 'podWarnings'],
  'pods/status': ['core/v1/address-warnings.ts', 'podStatusWarnings'],
  podtemplates: ['core/v1/workload-warnings.ts', 'podTemplateObjectWarnings'],
  replicationcontrollers: ['core/v1/workload-warnings.ts', 'replicationControllerWarnings'],
  'deployments.apps': ['core/v1/workload-warnings.ts', 'deploymentWarnings'],
  'replicasets.apps': ['core/v1/workload-warnings.ts', 'replicaSetWarnings'],
  'daemonsets.apps': ['core/v1/workload-warnings.ts', 'daemonSetWarnings'],
  'statefulsets.apps': ['core/v1/workload-warnings.ts', 'statefulSetWarnings'],
  'jobs.batch': ['batch/v1/job-warnings.ts', 'jobWarnings'],
  'cronjobs.batch': ['batch/v1/job-warnings.ts', 'cronJobWarnings'],
  services: ['core/v1/address-warnings.ts', 'serviceWarnings'],
  'services/status': ['core/v1/address-warnings.ts', 'balancerWarnings'],
  endpoints: ['core/v1/address-warnings.ts', 'endpointsWarnings'],
  'endpointslices.discovery.k8s.io': ['core/v1/address-warnings.ts', 'endpointSliceWarnings'],
  nodes: ['core/v1/address-warnings.ts', 'nodeWarnings'],
  'networkpolicies.networking.k8s.io': ['core/v1/address-warnings.ts', 'networkPolicyWarnings'],
  'ingresses.networking.k8s.io': ['networking/v1/ingress-warnings.ts', 'ingressWarnings'],
  'ingresses.networking.k8s.io/status': ['core/v1/address-warnings.ts', 'balancerWarnings'],
  secrets: ['core/v1/secret-warnings.ts', 'secretWarnings'],
  resourcequotas: ['core/v1/resource-quota-warnings.ts', 'resourceQuotaWarnings'],
  persistentvolumes: ['core/v1/storage-warnings.ts', 'volumeWarnings'],
  persistentvolumeclaims: ['core/v1/storage-warnings.ts', 'claimWarnings'],
  'storageclasses.storage.k8s.io': ['core/v1/storage-warnings.ts', 'storageClassWarnings'],
  'csistoragecapacities.storage.k8s.io': ['core/v1/storage-warnings.ts', 'storageCapacityWarnings'],
  'csidrivers.storage.k8s.io': ['core/v1/storage-warnings.ts', 'driverWarnings'],
  'runtimeclasses.node.k8s.io': ['core/v1/node-label-warnings.ts', 'runtimeClassWarnings'],
  'resourceslices.resource.k8s.io': ['resource/v1/resource-slice-warnings.ts', 'resourceSliceWarnings'],
};

/** `name` as `groupResource` writes it, with the subresource: `deployments.apps`, `services/status`. Most objects deserve none. */
export function warningsAbout(name: string, object: KubeObject, previous?: KubeObject): readonly string[] {
  const entry = files[name];
  return entry ? load<WarningsOf<KubeObject>>(...entry)(object, previous) : [];
}
