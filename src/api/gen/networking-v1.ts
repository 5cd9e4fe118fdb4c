/** Types of networking/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as coreV1 from './core-v1.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type PathType = 'Exact' | 'Prefix' | 'ImplementationSpecific';

export type PolicyType = 'Ingress' | 'Egress';

export interface HTTPIngressPath {
  readonly path?: string | undefined;
  readonly pathType: PathType;
  readonly backend: IngressBackend;
}

export interface HTTPIngressRuleValue {
  readonly paths: readonly HTTPIngressPath[];
}

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

export interface IPBlock {
  readonly cidr: string;
  readonly except?: readonly string[] | undefined;
}

export interface Ingress {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: IngressSpec;
  readonly status?: IngressStatus | undefined;
}

export interface IngressBackend {
  readonly service?: IngressServiceBackend | undefined;
  readonly resource?: coreV1.TypedLocalObjectReference | undefined;
}

export interface IngressClass {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: IngressClassSpec;
}

export interface IngressClassList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly IngressClass[];
}

export interface IngressClassParametersReference {
  readonly apiGroup?: string | undefined;
  readonly kind: string;
  readonly name: string;
  readonly scope?: string | undefined;
  readonly namespace?: string | undefined;
}

export interface IngressClassSpec {
  readonly controller?: string | undefined;
  readonly parameters?: IngressClassParametersReference | undefined;
}

export interface IngressList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly Ingress[];
}

export interface IngressLoadBalancerIngress {
  readonly ip?: string | undefined;
  readonly hostname?: string | undefined;
  readonly ports?: readonly IngressPortStatus[] | undefined;
}

export interface IngressLoadBalancerStatus {
  readonly ingress?: readonly IngressLoadBalancerIngress[] | undefined;
}

export interface IngressPortStatus {
  readonly port: number;
  readonly protocol: coreV1.Protocol;
  readonly error?: string | undefined;
}

export interface IngressRule {
  readonly host?: string | undefined;
  readonly http?: HTTPIngressRuleValue | undefined;
}

export interface IngressRuleValue {
  readonly http?: HTTPIngressRuleValue | undefined;
}

export interface IngressServiceBackend {
  readonly name: string;
  readonly port?: ServiceBackendPort | undefined;
}

export interface IngressSpec {
  readonly ingressClassName?: string | undefined;
  readonly defaultBackend?: IngressBackend | undefined;
  readonly tls?: readonly IngressTLS[] | undefined;
  readonly rules?: readonly IngressRule[] | undefined;
}

export interface IngressStatus {
  readonly loadBalancer?: IngressLoadBalancerStatus | undefined;
}

export interface IngressTLS {
  readonly hosts?: readonly string[] | undefined;
  readonly secretName?: string | undefined;
}

export interface NetworkPolicy {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: NetworkPolicySpec;
}

export interface NetworkPolicyEgressRule {
  readonly ports?: readonly NetworkPolicyPort[] | undefined;
  readonly to?: readonly NetworkPolicyPeer[] | undefined;
}

export interface NetworkPolicyIngressRule {
  readonly ports?: readonly NetworkPolicyPort[] | undefined;
  readonly from?: readonly NetworkPolicyPeer[] | undefined;
}

export interface NetworkPolicyList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly NetworkPolicy[];
}

export interface NetworkPolicyPeer {
  readonly podSelector?: metaV1.LabelSelector | undefined;
  readonly namespaceSelector?: metaV1.LabelSelector | undefined;
  readonly ipBlock?: IPBlock | undefined;
}

export interface NetworkPolicyPort {
  readonly protocol?: coreV1.Protocol | undefined;
  readonly port?: number | string | undefined;
  readonly endPort?: number | undefined;
}

export interface NetworkPolicySpec {
  readonly podSelector?: metaV1.LabelSelector | undefined;
  readonly ingress?: readonly NetworkPolicyIngressRule[] | undefined;
  readonly egress?: readonly NetworkPolicyEgressRule[] | undefined;
  readonly policyTypes?: readonly PolicyType[] | undefined;
}

export interface ParentReference {
  readonly group?: string | undefined;
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface ServiceBackendPort {
  readonly name?: string | undefined;
  readonly number?: number | undefined;
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

export const ingressClasses: ResourceType<IngressClass> = {
  group: 'networking.k8s.io',
  version: 'v1',
  resource: 'ingressclasses',
  kind: 'IngressClass',
  namespaced: false,
  singular: 'ingressclass',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const ingresses: ResourceType<Ingress> = {
  group: 'networking.k8s.io',
  version: 'v1',
  resource: 'ingresses',
  kind: 'Ingress',
  namespaced: true,
  singular: 'ingress',
  shortNames: ['ing'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

export const ipAddresses: ResourceType<IPAddress> = {
  group: 'networking.k8s.io',
  version: 'v1',
  resource: 'ipaddresses',
  kind: 'IPAddress',
  namespaced: false,
  singular: 'ipaddress',
  shortNames: ['ip'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const networkPolicies: ResourceType<NetworkPolicy> = {
  group: 'networking.k8s.io',
  version: 'v1',
  resource: 'networkpolicies',
  kind: 'NetworkPolicy',
  namespaced: true,
  singular: 'networkpolicy',
  shortNames: ['netpol'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const serviceCIDRs: ResourceType<ServiceCIDR> = {
  group: 'networking.k8s.io',
  version: 'v1',
  resource: 'servicecidrs',
  kind: 'ServiceCIDR',
  namespaced: false,
  singular: 'servicecidr',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};
