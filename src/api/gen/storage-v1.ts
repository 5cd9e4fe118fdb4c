/** Types of storage/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as coreV1 from './core-v1.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type VolumeBindingMode = 'Immediate' | 'WaitForFirstConsumer';

export interface CSIDriver {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: CSIDriverSpec;
}

export interface CSIDriverList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly CSIDriver[];
}

export interface CSIDriverSpec {
  readonly attachRequired?: boolean | undefined;
  readonly podInfoOnMount?: boolean | undefined;
  readonly volumeLifecycleModes?: readonly string[] | undefined;
  readonly storageCapacity?: boolean | undefined;
  readonly fsGroupPolicy?: string | undefined;
  readonly tokenRequests?: readonly TokenRequest[] | undefined;
  readonly requiresRepublish?: boolean | undefined;
  readonly seLinuxMount?: boolean | undefined;
  readonly nodeAllocatableUpdatePeriodSeconds?: number | undefined;
  readonly serviceAccountTokenInSecrets?: boolean | undefined;
  readonly preventPodSchedulingIfMissing?: boolean | undefined;
}

export interface CSINode {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: CSINodeSpec;
}

export interface CSINodeDriver {
  readonly name: string;
  readonly nodeID: string;
  readonly topologyKeys?: readonly string[] | undefined;
  readonly allocatable?: VolumeNodeResources | undefined;
}

export interface CSINodeList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly CSINode[];
}

export interface CSINodeSpec {
  readonly drivers: readonly CSINodeDriver[];
}

export interface CSIStorageCapacity {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly nodeTopology?: metaV1.LabelSelector | undefined;
  readonly storageClassName: string;
  readonly capacity?: string | undefined;
  readonly maximumVolumeSize?: string | undefined;
}

export interface CSIStorageCapacityList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly CSIStorageCapacity[];
}

export interface StorageClass {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly provisioner: string;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly reclaimPolicy?: coreV1.PersistentVolumeReclaimPolicy | undefined;
  readonly mountOptions?: readonly string[] | undefined;
  readonly allowVolumeExpansion?: boolean | undefined;
  readonly volumeBindingMode?: VolumeBindingMode | undefined;
  readonly allowedTopologies?: readonly coreV1.TopologySelectorTerm[] | undefined;
}

export interface StorageClassList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly StorageClass[];
}

export interface TokenRequest {
  readonly audience: string;
  readonly expirationSeconds?: number | undefined;
}

export interface VolumeAttachment {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: VolumeAttachmentSpec;
  readonly status?: VolumeAttachmentStatus | undefined;
}

export interface VolumeAttachmentList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly VolumeAttachment[];
}

export interface VolumeAttachmentSource {
  readonly persistentVolumeName?: string | undefined;
  readonly inlineVolumeSpec?: coreV1.PersistentVolumeSpec | undefined;
}

export interface VolumeAttachmentSpec {
  readonly attacher: string;
  readonly source: VolumeAttachmentSource;
  readonly nodeName: string;
}

export interface VolumeAttachmentStatus {
  readonly attached: boolean;
  readonly attachmentMetadata?: Readonly<Record<string, string>> | undefined;
  readonly attachError?: VolumeError | undefined;
  readonly detachError?: VolumeError | undefined;
}

export interface VolumeAttributesClass {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly driverName: string;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

export interface VolumeAttributesClassList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly VolumeAttributesClass[];
}

export interface VolumeError {
  readonly time?: string | undefined;
  readonly message?: string | undefined;
  readonly errorCode?: number | undefined;
}

export interface VolumeNodeResources {
  readonly count?: number | undefined;
}

export const csiDrivers: ResourceType<CSIDriver> = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'csidrivers',
  kind: 'CSIDriver',
  namespaced: false,
  singular: 'csidriver',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const csiNodes: ResourceType<CSINode> = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'csinodes',
  kind: 'CSINode',
  namespaced: false,
  singular: 'csinode',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const csiStorageCapacities: ResourceType<CSIStorageCapacity> = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'csistoragecapacities',
  kind: 'CSIStorageCapacity',
  namespaced: true,
  singular: 'csistoragecapacity',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const storageClasses: ResourceType<StorageClass> = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'storageclasses',
  kind: 'StorageClass',
  namespaced: false,
  singular: 'storageclass',
  shortNames: ['sc'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const volumeAttachments: ResourceType<VolumeAttachment> = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'volumeattachments',
  kind: 'VolumeAttachment',
  namespaced: false,
  singular: 'volumeattachment',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

export const volumeAttributesClasses: ResourceType<VolumeAttributesClass> = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'volumeattributesclasses',
  kind: 'VolumeAttributesClass',
  namespaced: false,
  singular: 'volumeattributesclass',
  shortNames: ['vac'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};
