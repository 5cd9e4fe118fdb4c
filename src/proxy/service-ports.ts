/**
 * What the proxy must do, worked out from Services and EndpointSlices alone: for every port of every Service the addresses it
 * answers on and the endpoints that its traffic goes to. Pure: the same objects give the same answer, whatever came before.
 */

import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice, Endpoint as SliceEndpoint } from '../api/gen/discovery-v1.ts';

export type IpFamily = 'ip' | 'ip6';

export interface Endpoint {
  readonly ip: string;
  readonly port: number;
}

export interface ServicePort {
  /** `namespace/name/protocol/portName`, unique, fit for a chain's name. */
  readonly id: string;
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly port: number;
  readonly clusterIps: readonly string[];
  /** externalIPs and load balancer addresses. */
  readonly externalIps: readonly string[];
  readonly nodePort: number;
  /** For traffic that may go anywhere, and for traffic that must stay on this node. */
  readonly clusterEndpoints: readonly Endpoint[];
  readonly localEndpoints: readonly Endpoint[];
  readonly internalLocal: boolean;
  readonly externalLocal: boolean;
  /** Seconds that a client keeps its endpoint; 0: no affinity. */
  readonly affinitySeconds: number;
  readonly loadBalancerSourceRanges: readonly string[];
  readonly loadBalancerIps: readonly string[];
  /** Some endpoint exists somewhere, though it may not be usable here. */
  readonly hasAnyEndpoint: boolean;
}

export interface ThisNode {
  readonly name: string;
  readonly zone: string | undefined;
}

const headless = 'None';
const serviceNameLabel = 'kubernetes.io/service-name';
const proxyNameLabel = 'service.kubernetes.io/service-proxy-name';
const headlessLabel = 'service.kubernetes.io/headless';
const maxAffinitySeconds = 86_400;

/** The ports of all Services in one address family, sorted by id. */
export function servicePorts(
  services: Iterable<Service>,
  slices: Iterable<EndpointSlice>,
  node: ThisNode,
  family: IpFamily,
): readonly ServicePort[] {
  const slicesOf = slicesByService(slices, family);
  const ports: ServicePort[] = [];
  for (const service of services) {
    if (!isProxied(service)) continue;
    const own = slicesOf.get(`${service.metadata.namespace}/${service.metadata.name}`) ?? [];
    ports.push(...portsOf(service, own, node, family));
  }
  return ports.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Those with addresses of the family, by the Service's `namespace/name`. */
export function slicesByService(
  slices: Iterable<EndpointSlice>,
  family: IpFamily,
): ReadonlyMap<string, readonly EndpointSlice[]> {
  const byService = new Map<string, EndpointSlice[]>();
  const addressType = family === 'ip' ? 'IPv4' : 'IPv6';
  for (const slice of slices) {
    const owner = slice.metadata.labels?.[serviceNameLabel];
    if (slice.addressType !== addressType || !owner || slice.metadata.deletionTimestamp) continue;
    const key = `${slice.metadata.namespace}/${owner}`;
    const known = byService.get(key);
    if (known) known.push(slice);
    else byService.set(key, [slice]);
  }
  return byService;
}

function isProxied({ metadata, spec }: Service): boolean {
  if (!spec || spec.type === 'ExternalName' || !spec.clusterIP || spec.clusterIP === headless) return false;
  return metadata.labels?.[proxyNameLabel] === undefined && metadata.labels?.[headlessLabel] === undefined;
}

export function familyOf(ip: string): IpFamily {
  return ip.includes(':') ? 'ip6' : 'ip';
}

function portsOf(service: Service, slices: readonly EndpointSlice[], node: ThisNode, family: IpFamily): ServicePort[] {
  const spec = service.spec!;
  const inFamily = (ips: readonly (string | undefined)[]) =>
    ips.filter((ip): ip is string => !!ip && familyOf(ip) === family);
  const clusterIps = inFamily(spec.clusterIPs ?? [spec.clusterIP]);
  const loadBalancerIps = inFamily(
    (service.status?.loadBalancer?.ingress ?? [])
      .filter(({ ipMode }) => (ipMode ?? 'VIP') === 'VIP')
      .map(({ ip }) => ip),
  );
  if (clusterIps.length === 0) return [];
  const affinity =
    spec.sessionAffinity === 'ClientIP' ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 10_800) : 0;
  return (spec.ports ?? []).map((port) => {
    const protocol = (port.protocol ?? 'TCP').toLowerCase() as ServicePort['protocol'];
    const chosen = endpointsOf(slices, port.name ?? '', protocol, node);
    return {
      id: `${service.metadata.namespace}/${service.metadata.name}/${protocol}/${port.name ?? ''}`,
      protocol,
      port: port.port,
      clusterIps,
      externalIps: [...inFamily(spec.externalIPs ?? []), ...loadBalancerIps],
      loadBalancerIps,
      nodePort: port.nodePort ?? 0,
      internalLocal: spec.internalTrafficPolicy === 'Local',
      externalLocal: spec.externalTrafficPolicy === 'Local',
      affinitySeconds: Math.min(affinity, maxAffinitySeconds),
      loadBalancerSourceRanges: (spec.loadBalancerSourceRanges ?? []).filter((range) => familyOf(range) === family),
      ...chosen,
    };
  });
}

interface Candidate extends Endpoint {
  readonly source: SliceEndpoint;
  readonly local: boolean;
}

function endpointsOf(slices: readonly EndpointSlice[], portName: string, protocol: string, node: ThisNode) {
  const all = new Map<string, Candidate>();
  for (const slice of slices) {
    const match = slice.ports?.find(
      (port) => (port.name ?? '') === portName && (port.protocol ?? 'TCP').toLowerCase() === protocol,
    );
    if (!match?.port) continue;
    for (const source of slice.endpoints ?? []) {
      const ip = source.addresses[0];
      if (ip) all.set(`${ip}:${match.port}`, { ip, port: match.port, source, local: source.nodeName === node.name });
    }
  }
  const candidates = [...all.values()];
  const local = usable(candidates.filter((candidate) => candidate.local));
  return {
    clusterEndpoints: sorted(nearest(usable(candidates), node)),
    localEndpoints: sorted(local),
    hasAnyEndpoint: usable(candidates).length > 0,
  };
}

/** Ready ones; when there are none, those that still serve while they terminate. */
function usable(candidates: readonly Candidate[]): readonly Candidate[] {
  const ready = candidates.filter(({ source }) => source.conditions?.ready !== false);
  if (ready.length > 0) return ready;
  return candidates.filter(
    ({ source }) => source.conditions?.serving !== false && source.conditions?.terminating === true,
  );
}

/** Follows hints (node, then zone) when every endpoint carries them and some endpoint is meant for us. */
function nearest(candidates: readonly Candidate[], node: ThisNode): readonly Candidate[] {
  if (candidates.length === 0) return candidates;
  if (candidates.every(({ source }) => (source.hints?.forNodes?.length ?? 0) > 0)) {
    const here = candidates.filter(({ source }) => source.hints?.forNodes?.some(({ name }) => name === node.name));
    if (here.length > 0) return here;
  }
  if (node.zone !== undefined && candidates.every(({ source }) => (source.hints?.forZones?.length ?? 0) > 0)) {
    const near = candidates.filter(({ source }) => source.hints?.forZones?.some(({ name }) => name === node.zone));
    if (near.length > 0) return near;
  }
  return candidates;
}

function sorted(candidates: readonly Candidate[]): readonly Endpoint[] {
  return candidates
    .map(({ ip, port }) => ({ ip, port }))
    .sort((a, b) => (a.ip === b.ip ? a.port - b.port : a.ip < b.ip ? -1 : 1));
}
