/** Warnings about kinds that hold addresses: ways of writing them that other programs read differently, and what has no effect. */
import { cidrWarnings, ipWarnings } from '../../../apimachinery/addresses.ts';
import { type FieldPath, path } from '../../../apimachinery/field-error.ts';
import type { Endpoints, LoadBalancerIngress, Node, Pod, Service } from '../../gen/core-v1.ts';
import type { EndpointSlice } from '../../gen/discovery-v1.ts';
import type { NetworkPolicy, NetworkPolicyPeer } from '../../gen/networking-v1.ts';
import type { WarningsOf } from '../../warnings.ts';

const specAt = path('spec');

export const serviceWarnings: WarningsOf<Service> = ({ metadata, spec }) => {
  const { type, clusterIPs = [], externalIPs = [], loadBalancerIP, loadBalancerSourceRanges = [] } = spec;
  const headless = type === 'ClusterIP' && spec.clusterIP === 'None';
  const named = type === 'ExternalName';
  const hints = 'service.kubernetes.io/topology-aware-hints';
  const warnings: string[] = [];
  if (metadata.annotations?.[hints] !== undefined) {
    warnings.push(`annotation ${hints} is deprecated, please use service.kubernetes.io/topology-mode instead`);
  }
  if (spec.clusterIP && spec.clusterIP !== 'None') warnings.push(...listWarnings('clusterIPs', clusterIPs, ipWarnings));
  if (headless) {
    if (loadBalancerIP) warnings.push('spec.loadBalancerIP is ignored for headless services');
    if (externalIPs.length > 0) warnings.push('spec.externalIPs is ignored for headless services');
    if (spec.sessionAffinity !== 'None') warnings.push('spec.SessionAffinity is ignored for headless services');
  }
  warnings.push(...listWarnings('externalIPs', externalIPs, ipWarnings));
  if (externalIPs.length > 0 && !headless && !named) {
    warnings.push('spec.externalIPs is deprecated and may no longer be implemented in some clusters');
  }
  if (loadBalancerIP) warnings.push(...ipWarnings(loadBalancerIP, specAt.child('loadBalancerIP')));
  warnings.push(...listWarnings('loadBalancerSourceRanges', loadBalancerSourceRanges, cidrWarnings));
  if (named && externalIPs.length > 0) warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (!named && spec.externalName) warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  if (spec.trafficDistribution === 'PreferClose') {
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
  return warnings;
};

function listWarnings(field: string, list: readonly string[], rule: (text: string, at: FieldPath) => string[]) {
  return list.flatMap((text, index) => rule(text, specAt.child(field).index(index)));
}

interface Balanced {
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly Pick<LoadBalancerIngress, 'ip'>[] } };
}

/** The status of a Service or an Ingress. */
export const balancerWarnings: WarningsOf<Balanced> = ({ status }) =>
  (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }, index) =>
    ip ? ipWarnings(ip, path('status', 'loadBalancer', 'ingress').index(index)) : [],
  );

export const podStatusWarnings: WarningsOf<Pod> = ({ status }) => [
  ...(status?.podIPs ?? []).flatMap(({ ip }, i) => ipWarnings(ip, path('status', 'podIPs').index(i).child('ip'))),
  ...(status?.hostIPs ?? []).flatMap(({ ip }, i) => ipWarnings(ip, path('status', 'hostIPs').index(i).child('ip'))),
];

export const nodeWarnings: WarningsOf<Node> = ({ spec = {} }) => [
  ...(spec.configSource ? ['spec.configSource: the feature is removed'] : []),
  ...(spec.externalID ? ['spec.externalID: this field is deprecated, and is unused by Kubernetes'] : []),
  ...listWarnings('podCIDRs', spec.podCIDRs ?? [], cidrWarnings),
];

/** What the controllers write is in order. */
export const endpointsWarnings: WarningsOf<Endpoints> = ({ metadata, subsets = [] }) => {
  if (metadata.labels?.['endpoints.kubernetes.io/managed-by'] === 'endpoint-controller') return [];
  return subsets.flatMap((subset, index) =>
    (['addresses', 'notReadyAddresses'] as const).flatMap((list) =>
      (subset[list] ?? []).flatMap(({ ip }, i) =>
        ipWarnings(ip, path('subsets').index(index).child(list).index(i).child('ip')),
      ),
    ),
  );
};

const sliceControllers = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io'];

export const endpointSliceWarnings: WarningsOf<EndpointSlice> = ({ metadata, addressType, endpoints }, previous) => {
  const warnings =
    !previous && addressType === 'FQDN' ? [`${specAt.child('addressType')}: FQDN endpoints are deprecated`] : [];
  if (sliceControllers.includes(metadata.labels?.['endpointslice.kubernetes.io/managed-by'] ?? '')) return warnings;
  for (const [index, { addresses }] of (endpoints ?? []).entries()) {
    const at = path('endpoints').index(index).child('addresses');
    warnings.push(...(addresses ?? []).flatMap((address, i) => ipWarnings(address, at.index(i))));
  }
  return warnings;
};

export const networkPolicyWarnings: WarningsOf<NetworkPolicy> = ({ spec = {} }) => {
  const ofPeers = (at: FieldPath, peers: readonly NetworkPolicyPeer[] | undefined) =>
    (peers ?? []).flatMap(({ ipBlock }, index) => {
      if (!ipBlock) return [];
      const here = at.index(index).child('ipBlock');
      return [
        ...cidrWarnings(ipBlock.cidr, here.child('cidr')),
        ...(ipBlock.except ?? []).flatMap((range, i) => cidrWarnings(range, here.child('except').index(i))),
      ];
    });
  return [
    ...(spec.ingress ?? []).flatMap((rule, i) => ofPeers(specAt.child('ingress').index(i).child('from'), rule.from)),
    ...(spec.egress ?? []).flatMap((rule, i) => ofPeers(specAt.child('egress').index(i).child('to'), rule.to)),
  ];
};
