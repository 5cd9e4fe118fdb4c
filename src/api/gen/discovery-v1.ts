/** Types of discovery/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as coreV1 from './core-v1.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type AddressType = 'IPv4' | 'IPv6' | 'FQDN';

export interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions?: EndpointConditions | undefined;
  readonly hostname?: string | undefined;
  readonly targetRef?: coreV1.ObjectReference | undefined;
  readonly deprecatedTopology?: Readonly<Record<string, string>> | undefined;
  readonly nodeName?: string | undefined;
  readonly zone?: string | undefined;
  readonly hints?: EndpointHints | undefined;
}

export interface EndpointConditions {
  readonly ready?: boolean | undefined;
  readonly serving?: boolean | undefined;
  readonly terminating?: boolean | undefined;
}

export interface EndpointHints {
  readonly forZones?: readonly ForZone[] | undefined;
  readonly forNodes?: readonly ForNode[] | undefined;
}

export interface EndpointPort {
  readonly name?: string | undefined;
  readonly protocol?: coreV1.Protocol | undefined;
  readonly port?: number | undefined;
  readonly appProtocol?: string | undefined;
}

export interface EndpointSlice {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly addressType: AddressType;
  readonly endpoints?: readonly Endpoint[] | undefined;
  readonly ports?: readonly EndpointPort[] | undefined;
}

export interface EndpointSliceList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly EndpointSlice[];
}

export interface ForNode {
  readonly name: string;
}

export interface ForZone {
  readonly name: string;
}

export const endpointSlices: ResourceType<EndpointSlice> = {
  group: 'discovery.k8s.io',
  version: 'v1',
  resource: 'endpointslices',
  kind: 'EndpointSlice',
  namespaced: true,
  singular: 'endpointslice',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};
