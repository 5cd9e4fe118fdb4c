/**
 * The EndpointSlices that mirror an Endpoints object which somebody made by hand: pure. Addresses are mirrored by family, with the
 * ports of their subset, at most a thousand of each subset.
 */
import type { EndpointAddress, EndpointSubset, Endpoints } from '../../api/gen/core-v1.ts';
import { endpoints as endpointsType } from '../../api/gen/core-v1.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/gen/discovery-v1.ts';
import { parseIp } from '../../apimachinery/addresses.ts';
import { controllerReference } from '../../apimachinery/meta.ts';
import { equalOnWire } from '../common/wire-equality.ts';

export const serviceNameLabel = 'kubernetes.io/service-name';
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';
export const controllerName = 'endpointslicemirroring-controller.k8s.io';
export const skipMirrorLabel = 'endpointslice.kubernetes.io/skip-mirror';

const maxPerSubset = 1000;
const ownAnnotations = new Set([
  'endpoints.kubernetes.io/last-change-trigger-time',
  'kubectl.kubernetes.io/last-applied-configuration',
]);

export interface MirrorPlan {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}

export function planMirror(
  source: Endpoints | undefined,
  present: readonly EndpointSlice[],
  maxPerSlice: number,
): MirrorPlan {
  if (!source) return { create: [], update: [], remove: present };
  const wanted = (source.subsets ?? []).flatMap((subset) => slicesOf(source, subset, maxPerSlice));
  const left = [...present];
  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  for (const slice of wanted) {
    const index = left.findIndex(
      (other) => other.addressType === slice.addressType && equalOnWire(other.ports, slice.ports),
    );
    const [match] = index < 0 ? [] : left.splice(index, 1);
    if (!match) create.push(slice);
    else if (!sameContent(match, slice)) {
      const { labels, annotations } = slice.metadata;
      update.push({ ...match, metadata: { ...match.metadata, labels, annotations }, endpoints: slice.endpoints });
    }
  }
  return { create, update, remove: left };
}

function sameContent(a: EndpointSlice, b: EndpointSlice): boolean {
  const content = ({ metadata, endpoints }: EndpointSlice) => [
    metadata.labels,
    metadata.annotations ?? {},
    endpoints ?? [],
  ];
  return equalOnWire(content(a), content(b));
}

function slicesOf(source: Endpoints, subset: EndpointSubset, maxPerSlice: number): EndpointSlice[] {
  const all = [
    ...(subset.addresses ?? []).map((address) => ({ address, ready: true })),
    ...(subset.notReadyAddresses ?? []).map((address) => ({ address, ready: false })),
  ].slice(0, maxPerSubset);
  return (['IPv4', 'IPv6'] as const).flatMap((addressType) => {
    const family = addressType === 'IPv4' ? 4 : 6;
    const endpoints = all
      .filter(({ address }) => parseIp(address.ip)?.family === family)
      .map(({ address, ready }) => endpointOf(address, ready));
    const slices: EndpointSlice[] = [];
    for (let start = 0; start < endpoints.length; start += maxPerSlice) {
      slices.push(sliceOf(source, addressType, portsOf(subset), endpoints.slice(start, start + maxPerSlice)));
    }
    return slices;
  });
}

function portsOf({ ports }: EndpointSubset): EndpointPort[] {
  return (ports ?? []).map(({ name, port, protocol, appProtocol }) => ({
    name: name ?? '',
    port,
    protocol: protocol ?? 'TCP',
    ...(appProtocol ? { appProtocol } : {}),
  }));
}

function endpointOf({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname ? { hostname } : {}),
    ...(nodeName ? { nodeName } : {}),
    ...(targetRef ? { targetRef } : {}),
  };
}

function sliceOf(
  source: Endpoints,
  addressType: string,
  ports: readonly EndpointPort[],
  endpoints: readonly Endpoint[],
): EndpointSlice {
  const { metadata } = source;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([name]) => !ownAnnotations.has(name));
  return {
    metadata: {
      generateName: `${metadata.name}-`,
      namespace: metadata.namespace,
      labels: { ...metadata.labels, [serviceNameLabel]: metadata.name ?? '', [managedByLabel]: controllerName },
      ...(annotations.length > 0 ? { annotations: Object.fromEntries(annotations) } : {}),
      ownerReferences: [controllerReference(source, endpointsType)],
    },
    addressType: addressType as EndpointSlice['addressType'],
    endpoints,
    ports,
  };
}
