/** Types of coordination/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface Lease {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: LeaseSpec;
}

export interface LeaseList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly Lease[];
}

export interface LeaseSpec {
  readonly holderIdentity?: string | undefined;
  readonly leaseDurationSeconds?: number | undefined;
  readonly acquireTime?: string | undefined;
  readonly renewTime?: string | undefined;
  readonly leaseTransitions?: number | undefined;
  readonly strategy?: string | undefined;
  readonly preferredHolder?: string | undefined;
}

export const leases: ResourceType<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  resource: 'leases',
  kind: 'Lease',
  namespaced: true,
  singular: 'lease',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};
