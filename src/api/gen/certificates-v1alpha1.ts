/** Types of certificates/v1alpha1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface ClusterTrustBundle {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ClusterTrustBundleSpec;
}

export interface ClusterTrustBundleList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ClusterTrustBundle[];
}

export interface ClusterTrustBundleSpec {
  readonly signerName?: string | undefined;
  readonly trustBundle: string;
}

export const clusterTrustBundles: ResourceType<ClusterTrustBundle> = {
  group: 'certificates.k8s.io',
  version: 'v1alpha1',
  resource: 'clustertrustbundles',
  kind: 'ClusterTrustBundle',
  namespaced: false,
  singular: 'clustertrustbundle',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};
