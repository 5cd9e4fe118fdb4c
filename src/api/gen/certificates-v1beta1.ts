/** Types of certificates/v1beta1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
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

export interface PodCertificateRequest {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: PodCertificateRequestSpec;
  readonly status?: PodCertificateRequestStatus | undefined;
}

export interface PodCertificateRequestList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly PodCertificateRequest[];
}

export interface PodCertificateRequestSpec {
  readonly signerName: string;
  readonly podName: string;
  readonly podUID: string;
  readonly serviceAccountName: string;
  readonly serviceAccountUID: string;
  readonly nodeName: string;
  readonly nodeUID: string;
  readonly maxExpirationSeconds?: number | undefined;
  readonly pkixPublicKey?: string | undefined;
  readonly proofOfPossession?: string | undefined;
  readonly stubPKCS10Request: string;
  readonly unverifiedUserAnnotations?: Readonly<Record<string, string>> | undefined;
}

export interface PodCertificateRequestStatus {
  readonly conditions?: readonly metaV1.Condition[] | undefined;
  readonly certificateChain?: string | undefined;
  readonly notBefore?: string | undefined;
  readonly beginRefreshAt?: string | undefined;
  readonly notAfter?: string | undefined;
}

export const clusterTrustBundles: ResourceType<ClusterTrustBundle> = {
  group: 'certificates.k8s.io',
  version: 'v1beta1',
  resource: 'clustertrustbundles',
  kind: 'ClusterTrustBundle',
  namespaced: false,
  singular: 'clustertrustbundle',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const podCertificateRequests: ResourceType<PodCertificateRequest> = {
  group: 'certificates.k8s.io',
  version: 'v1beta1',
  resource: 'podcertificaterequests',
  kind: 'PodCertificateRequest',
  namespaced: true,
  singular: 'podcertificaterequest',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};
