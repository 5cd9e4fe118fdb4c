/** Types of coordination/v1alpha2. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface LeaseCandidate {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: LeaseCandidateSpec;
}

export interface LeaseCandidateList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly LeaseCandidate[];
}

export interface LeaseCandidateSpec {
  readonly leaseName: string;
  readonly pingTime?: string | undefined;
  readonly renewTime?: string | undefined;
  readonly binaryVersion: string;
  readonly emulationVersion?: string | undefined;
  readonly strategy: string;
}

export const leaseCandidates: ResourceType<LeaseCandidate> = {
  group: 'coordination.k8s.io',
  version: 'v1alpha2',
  resource: 'leasecandidates',
  kind: 'LeaseCandidate',
  namespaced: true,
  singular: 'leasecandidate',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};
