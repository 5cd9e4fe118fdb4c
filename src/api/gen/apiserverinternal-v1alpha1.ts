/** Types of apiserverinternal/v1alpha1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface ServerStorageVersion {
  readonly apiServerID: string;
  readonly encodingVersion: string;
  readonly decodableVersions: readonly string[];
  readonly servedVersions?: readonly string[] | undefined;
}

export interface StorageVersion {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: StorageVersionSpec;
  readonly status?: StorageVersionStatus | undefined;
}

export interface StorageVersionCondition {
  readonly type: string;
  readonly status: string;
  readonly observedGeneration?: number | undefined;
  readonly lastTransitionTime?: string | undefined;
  readonly reason: string;
  readonly message: string;
}

export interface StorageVersionList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly StorageVersion[];
}

export type StorageVersionSpec = Readonly<Record<string, never>>;

export interface StorageVersionStatus {
  readonly storageVersions?: readonly ServerStorageVersion[] | undefined;
  readonly commonEncodingVersion?: string | undefined;
  readonly conditions?: readonly StorageVersionCondition[] | undefined;
}

export const storageVersions: ResourceType<StorageVersion> = {
  group: 'internal.apiserver.k8s.io',
  version: 'v1alpha1',
  resource: 'storageversions',
  kind: 'StorageVersion',
  namespaced: false,
  singular: 'storageversion',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};
