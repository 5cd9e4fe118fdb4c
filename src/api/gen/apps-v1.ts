/** Types of apps/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as coreV1 from './core-v1.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type DaemonSetUpdateStrategyType = 'RollingUpdate' | 'OnDelete';

export type DeploymentStrategyType = 'Recreate' | 'RollingUpdate';

export type PodManagementPolicyType = 'OrderedReady' | 'Parallel';

export type StatefulSetUpdateStrategyType = 'RollingUpdate' | 'OnDelete';

export interface ControllerRevision {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly data?: unknown | undefined;
  readonly revision: number;
}

export interface ControllerRevisionList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ControllerRevision[];
}

export interface DaemonSet {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: DaemonSetSpec;
  readonly status?: DaemonSetStatus | undefined;
}

export interface DaemonSetCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface DaemonSetList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly DaemonSet[];
}

export interface DaemonSetSpec {
  readonly selector: metaV1.LabelSelector;
  readonly template: coreV1.PodTemplateSpec;
  readonly updateStrategy?: DaemonSetUpdateStrategy | undefined;
  readonly minReadySeconds?: number | undefined;
  readonly revisionHistoryLimit?: number | undefined;
}

export interface DaemonSetStatus {
  readonly currentNumberScheduled: number;
  readonly numberMisscheduled: number;
  readonly desiredNumberScheduled: number;
  readonly numberReady: number;
  readonly observedGeneration?: number | undefined;
  readonly updatedNumberScheduled?: number | undefined;
  readonly numberAvailable?: number | undefined;
  readonly numberUnavailable?: number | undefined;
  readonly collisionCount?: number | undefined;
  readonly conditions?: readonly DaemonSetCondition[] | undefined;
}

export interface DaemonSetUpdateStrategy {
  readonly type?: DaemonSetUpdateStrategyType | undefined;
  readonly rollingUpdate?: RollingUpdateDaemonSet | undefined;
}

export interface Deployment {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: DeploymentSpec;
  readonly status?: DeploymentStatus | undefined;
}

export interface DeploymentCondition {
  readonly type: string;
  readonly status: string;
  readonly lastUpdateTime?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface DeploymentList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly Deployment[];
}

export interface DeploymentSpec {
  readonly replicas?: number | undefined;
  readonly selector: metaV1.LabelSelector;
  readonly template: coreV1.PodTemplateSpec;
  readonly strategy?: DeploymentStrategy | undefined;
  readonly minReadySeconds?: number | undefined;
  readonly revisionHistoryLimit?: number | undefined;
  readonly paused?: boolean | undefined;
  readonly progressDeadlineSeconds?: number | undefined;
}

export interface DeploymentStatus {
  readonly observedGeneration?: number | undefined;
  readonly replicas?: number | undefined;
  readonly updatedReplicas?: number | undefined;
  readonly readyReplicas?: number | undefined;
  readonly availableReplicas?: number | undefined;
  readonly unavailableReplicas?: number | undefined;
  readonly terminatingReplicas?: number | undefined;
  readonly conditions?: readonly DeploymentCondition[] | undefined;
  readonly collisionCount?: number | undefined;
}

export interface DeploymentStrategy {
  readonly type?: DeploymentStrategyType | undefined;
  readonly rollingUpdate?: RollingUpdateDeployment | undefined;
}

export interface ReplicaSet {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ReplicaSetSpec;
  readonly status?: ReplicaSetStatus | undefined;
}

export interface ReplicaSetCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface ReplicaSetList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ReplicaSet[];
}

export interface ReplicaSetSpec {
  readonly replicas?: number | undefined;
  readonly minReadySeconds?: number | undefined;
  readonly selector: metaV1.LabelSelector;
  readonly template?: coreV1.PodTemplateSpec | undefined;
}

export interface ReplicaSetStatus {
  readonly replicas: number;
  readonly fullyLabeledReplicas?: number | undefined;
  readonly readyReplicas?: number | undefined;
  readonly availableReplicas?: number | undefined;
  readonly terminatingReplicas?: number | undefined;
  readonly observedGeneration?: number | undefined;
  readonly conditions?: readonly ReplicaSetCondition[] | undefined;
}

export interface RollingUpdateDaemonSet {
  readonly maxUnavailable?: number | string | undefined;
  readonly maxSurge?: number | string | undefined;
}

export interface RollingUpdateDeployment {
  readonly maxUnavailable?: number | string | undefined;
  readonly maxSurge?: number | string | undefined;
}

export interface RollingUpdateStatefulSetStrategy {
  readonly partition?: number | undefined;
  readonly maxUnavailable?: number | string | undefined;
}

export interface StatefulSet {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: StatefulSetSpec;
  readonly status?: StatefulSetStatus | undefined;
}

export interface StatefulSetCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface StatefulSetList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly StatefulSet[];
}

export interface StatefulSetOrdinals {
  readonly start?: number | undefined;
}

export interface StatefulSetPersistentVolumeClaimRetentionPolicy {
  readonly whenDeleted?: string | undefined;
  readonly whenScaled?: string | undefined;
}

export interface StatefulSetSpec {
  readonly replicas?: number | undefined;
  readonly selector: metaV1.LabelSelector;
  readonly template: coreV1.PodTemplateSpec;
  readonly volumeClaimTemplates?: readonly coreV1.PersistentVolumeClaim[] | undefined;
  readonly serviceName?: string | undefined;
  readonly podManagementPolicy?: PodManagementPolicyType | undefined;
  readonly updateStrategy?: StatefulSetUpdateStrategy | undefined;
  readonly revisionHistoryLimit?: number | undefined;
  readonly minReadySeconds?: number | undefined;
  readonly persistentVolumeClaimRetentionPolicy?: StatefulSetPersistentVolumeClaimRetentionPolicy | undefined;
  readonly ordinals?: StatefulSetOrdinals | undefined;
}

export interface StatefulSetStatus {
  readonly observedGeneration?: number | undefined;
  readonly replicas: number;
  readonly readyReplicas?: number | undefined;
  readonly currentReplicas?: number | undefined;
  readonly updatedReplicas?: number | undefined;
  readonly currentRevision?: string | undefined;
  readonly updateRevision?: string | undefined;
  readonly collisionCount?: number | undefined;
  readonly conditions?: readonly StatefulSetCondition[] | undefined;
  readonly availableReplicas?: number | undefined;
}

export interface StatefulSetUpdateStrategy {
  readonly type?: StatefulSetUpdateStrategyType | undefined;
  readonly rollingUpdate?: RollingUpdateStatefulSetStrategy | undefined;
}

export const controllerRevisions: ResourceType<ControllerRevision> = {
  group: 'apps',
  version: 'v1',
  resource: 'controllerrevisions',
  kind: 'ControllerRevision',
  namespaced: true,
  singular: 'controllerrevision',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const daemonSets: ResourceType<DaemonSet> = {
  group: 'apps',
  version: 'v1',
  resource: 'daemonsets',
  kind: 'DaemonSet',
  namespaced: true,
  singular: 'daemonset',
  shortNames: ['ds'],
  categories: ['all'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

export const deployments: ResourceType<Deployment> = {
  group: 'apps',
  version: 'v1',
  resource: 'deployments',
  kind: 'Deployment',
  namespaced: true,
  singular: 'deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['scale', 'status'],
};

export const replicaSets: ResourceType<ReplicaSet> = {
  group: 'apps',
  version: 'v1',
  resource: 'replicasets',
  kind: 'ReplicaSet',
  namespaced: true,
  singular: 'replicaset',
  shortNames: ['rs'],
  categories: ['all'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['scale', 'status'],
};

export const statefulSets: ResourceType<StatefulSet> = {
  group: 'apps',
  version: 'v1',
  resource: 'statefulsets',
  kind: 'StatefulSet',
  namespaced: true,
  singular: 'statefulset',
  shortNames: ['sts'],
  categories: ['all'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['scale', 'status'],
};
