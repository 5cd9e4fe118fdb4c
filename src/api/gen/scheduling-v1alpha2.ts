/** Types of scheduling/v1alpha2. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type DisruptionMode = 'Pod' | 'PodGroup';

export type BasicSchedulingPolicy = Readonly<Record<string, never>>;

export interface GangSchedulingPolicy {
  readonly minCount: number;
}

export interface PodGroup {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: PodGroupSpec;
  readonly status?: PodGroupStatus | undefined;
}

export interface PodGroupList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly PodGroup[];
}

export interface PodGroupResourceClaim {
  readonly name: string;
  readonly resourceClaimName?: string | undefined;
  readonly resourceClaimTemplateName?: string | undefined;
}

export interface PodGroupResourceClaimStatus {
  readonly name: string;
  readonly resourceClaimName?: string | undefined;
}

export interface PodGroupSchedulingConstraints {
  readonly topology?: readonly TopologyConstraint[] | undefined;
}

export interface PodGroupSchedulingPolicy {
  readonly basic?: BasicSchedulingPolicy | undefined;
  readonly gang?: GangSchedulingPolicy | undefined;
}

export interface PodGroupSpec {
  readonly podGroupTemplateRef?: PodGroupTemplateReference | undefined;
  readonly schedulingPolicy: PodGroupSchedulingPolicy;
  readonly schedulingConstraints?: PodGroupSchedulingConstraints | undefined;
  readonly resourceClaims?: readonly PodGroupResourceClaim[] | undefined;
  readonly disruptionMode?: DisruptionMode | undefined;
  readonly priorityClassName?: string | undefined;
  readonly priority?: number | undefined;
}

export interface PodGroupStatus {
  readonly conditions?: readonly metaV1.Condition[] | undefined;
  readonly resourceClaimStatuses?: readonly PodGroupResourceClaimStatus[] | undefined;
}

export interface PodGroupTemplate {
  readonly name: string;
  readonly schedulingPolicy: PodGroupSchedulingPolicy;
  readonly schedulingConstraints?: PodGroupSchedulingConstraints | undefined;
  readonly resourceClaims?: readonly PodGroupResourceClaim[] | undefined;
  readonly disruptionMode?: DisruptionMode | undefined;
  readonly priorityClassName?: string | undefined;
  readonly priority?: number | undefined;
}

export interface PodGroupTemplateReference {
  readonly workload?: WorkloadPodGroupTemplateReference | undefined;
}

export interface TopologyConstraint {
  readonly key: string;
}

export interface TypedLocalObjectReference {
  readonly apiGroup?: string | undefined;
  readonly kind: string;
  readonly name: string;
}

export interface Workload {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: WorkloadSpec;
}

export interface WorkloadList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly Workload[];
}

export interface WorkloadPodGroupTemplateReference {
  readonly workloadName: string;
  readonly podGroupTemplateName: string;
}

export interface WorkloadSpec {
  readonly controllerRef?: TypedLocalObjectReference | undefined;
  readonly podGroupTemplates: readonly PodGroupTemplate[];
}

export const podGroups: ResourceType<PodGroup> = {
  group: 'scheduling.k8s.io',
  version: 'v1alpha2',
  resource: 'podgroups',
  kind: 'PodGroup',
  namespaced: true,
  singular: 'podgroup',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

export const workloads: ResourceType<Workload> = {
  group: 'scheduling.k8s.io',
  version: 'v1alpha2',
  resource: 'workloads',
  kind: 'Workload',
  namespaced: true,
  singular: 'workload',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};
