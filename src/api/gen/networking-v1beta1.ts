/** Types of networking/v1beta1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface IPAddress {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: IPAddressSpec;
}

export interface IPAddressList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly IPAddress[];
}

export interface IPAddressSpec {
  readonly parentRef: ParentReference;
}

export interface ParentReference {
  readonly group?: string | undefined;
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface ServiceCIDR {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ServiceCIDRSpec;
  readonly status?: ServiceCIDRStatus | undefined;
}

export interface ServiceCIDRList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ServiceCIDR[];
}

export interface ServiceCIDRSpec {
  readonly cidrs?: readonly string[] | undefined;
}

export interface ServiceCIDRStatus {
  readonly conditions?: readonly metaV1.Condition[] | undefined;
}

export const ipAddresses: ResourceType<IPAddress> = {
  group: 'networking.k8s.io',
  version: 'v1beta1',
  resource: 'ipaddresses',
  kind: 'IPAddress',
  namespaced: false,
  singular: 'ipaddress',
  shortNames: ['ip'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const serviceCIDRs: ResourceType<ServiceCIDR> = {
  group: 'networking.k8s.io',
  version: 'v1beta1',
  resource: 'servicecidrs',
  kind: 'ServiceCIDR',
  namespaced: false,
  singular: 'servicecidr',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};
