/**
 * The endpoints that a Service should have, grouped as slices are: by address family and by the list of ports that the Pods
 * actually offer (named target ports can differ from Pod to Pod). Pure.
 */
import { isPodReady } from '../../api/core/v1/pod-status.ts';
import type { Node, Pod, Service } from '../../api/gen/core-v1.ts';
import type { Endpoint, EndpointPort } from '../../api/gen/discovery-v1.ts';
import { belongsInEndpoints, hostnameFor, podAddresses, targetPortOf } from '../common/service-endpoints.ts';

export type AddressType = 'IPv4' | 'IPv6';

export interface EndpointGroup {
  readonly addressType: AddressType;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

export interface PlannedEndpoints {
  readonly groups: readonly EndpointGroup[];
  /** Nodes that Pods name and that are not known (yet): their Pods were left out, as their zone cannot be told. */
  readonly unknownNodes: readonly string[];
}

export const zoneLabel = 'topology.kubernetes.io/zone';

/** Families that the Service's slices have. */
export function addressTypesOf({ spec }: Service): readonly AddressType[] {
  if (spec?.ipFamilies && spec.ipFamilies.length > 0) return spec.ipFamilies as readonly AddressType[];
  if (!spec?.clusterIP || spec.clusterIP === 'None') return ['IPv4'];
  return [spec.clusterIP.includes(':') ? 'IPv6' : 'IPv4'];
}

export function portsKey(addressType: string, ports: readonly EndpointPort[] | undefined): string {
  const rows = (ports ?? []).map(({ name, port, protocol, appProtocol }) =>
    JSON.stringify([name ?? '', port ?? null, protocol ?? 'TCP', appProtocol ?? '']),
  );
  return `${addressType} ${rows.sort().join(' ')}`;
}

export function planEndpoints(
  service: Service,
  pods: readonly Pod[],
  nodeNamed: (name: string) => Node | undefined,
): PlannedEndpoints {
  const groups = new Map<string, { readonly group: EndpointGroup; readonly endpoints: Endpoint[] }>();
  const unknownNodes = new Set<string>();
  for (const pod of pods) {
    if (!belongsInEndpoints(pod, true)) continue;
    const { nodeName } = pod.spec;
    const node = nodeName ? nodeNamed(nodeName) : undefined;
    if (nodeName && !node && !service.spec?.publishNotReadyAddresses) {
      unknownNodes.add(nodeName);
      continue;
    }
    const ports = portsOf(service, pod);
    for (const addressType of addressTypesOf(service)) {
      const endpoint = endpointOf(service, pod, node, addressType);
      if (!endpoint) continue;
      const key = portsKey(addressType, ports);
      const found = groups.get(key) ?? { group: { addressType, ports, endpoints: [] }, endpoints: [] };
      found.endpoints.push(endpoint);
      groups.set(key, found);
    }
  }
  const planned = [...groups.values()].map(({ group, endpoints }) => ({ ...group, endpoints }));
  return { groups: planned, unknownNodes: [...unknownNodes] };
}

function portsOf(service: Service, pod: Pod): EndpointPort[] {
  const ports: EndpointPort[] = [];
  for (const port of service.spec?.ports ?? []) {
    const number = targetPortOf(pod, port);
    if (number === undefined) continue;
    ports.push({
      name: port.name ?? '',
      port: number,
      protocol: port.protocol ?? 'TCP',
      appProtocol: port.appProtocol,
    });
  }
  return ports;
}

/** Serving is the Pod's own readiness; ready is serving and not on its way out, unless the Service publishes all. */
function endpointOf(
  service: Service,
  pod: Pod,
  node: Node | undefined,
  addressType: AddressType,
): Endpoint | undefined {
  const addresses = podAddresses(pod).filter((ip) => ip.includes(':') === (addressType === 'IPv6'));
  if (addresses.length === 0) return undefined;
  const serving = isPodReady(pod);
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating);
  const { namespace, name, uid } = pod.metadata;
  const zone = node?.metadata.labels?.[zoneLabel];
  const hostname = hostnameFor(pod, service);
  const { nodeName } = pod.spec;
  const endpoint: Endpoint = {
    addresses,
    conditions: { ready, serving, terminating },
    ...(hostname ? { hostname } : {}),
    targetRef: { kind: 'Pod', namespace, name, uid },
    ...(nodeName ? { nodeName } : {}),
    ...(zone ? { zone } : {}),
  };
  const hints = hintsOf(service, endpoint);
  return hints ? { ...endpoint, hints } : endpoint;
}

/** Traffic that should stay near is told where by hints; an endpoint that takes no traffic needs none. */
function hintsOf(service: Service, { conditions, nodeName, zone }: Endpoint): Endpoint['hints'] {
  const distribution = service.spec?.trafficDistribution;
  if (!distribution || !conditions?.ready || !zone) return undefined;
  const forZones = [{ name: zone }];
  if (distribution === 'PreferSameNode') return { ...(nodeName ? { forNodes: [{ name: nodeName }] } : {}), forZones };
  return distribution === 'PreferClose' || distribution === 'PreferSameZone' ? { forZones } : undefined;
}
