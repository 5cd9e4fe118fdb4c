/** Types of storagemigration/v1beta1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface StorageVersionMigration {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: StorageVersionMigrationSpec;
  readonly status?: StorageVersionMigrationStatus | undefined;
}

export interface StorageVersionMigrationList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly StorageVersionMigration[];
}

export interface StorageVersionMigrationSpec {
  readonly resource: metaV1.GroupResource;
}

export interface StorageVersionMigrationStatus {
  readonly conditions?: readonly metaV1.Condition[] | undefined;
  readonly resourceVersion?: string | undefined;
}

export const storageVersionMigrations: ResourceType<StorageVersionMigration> = {
  group: 'storagemigration.k8s.io',
  version: 'v1beta1',
  resource: 'storageversionmigrations',
  kind: 'StorageVersionMigration',
  namespaced: false,
  singular: 'storageversionmigration',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};
