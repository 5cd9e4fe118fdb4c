/**
 * The content of an Endpoints object: addresses grouped by equal port lists, ready ones apart from the others, all in a fixed order
 * so that equal content is equal text. Pure.
 */
import { isPodReady } from '../../api/core/v1/pod-status.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset, Pod, Service } from '../../api/gen/core-v1.ts';
import {
  belongsInEndpoints,
  hostnameFor,
  isHeadless,
  podAddresses,
  targetPortOf,
} from '../common/service-endpoints.ts';

/** Addresses beyond this number are left out, and the object says so. */
const maxCapacity = 1000;

interface Entry {
  readonly address: EndpointAddress;
  readonly ready: boolean;
  readonly ports: readonly EndpointPort[];
}

export interface Subsets {
  readonly subsets: readonly EndpointSubset[];
  readonly truncated: boolean;
}

export function planSubsets(service: Service, pods: readonly Pod[]): Subsets {
  const tolerateUnready = service.spec?.publishNotReadyAddresses === true;
  const entries: Entry[] = [];
  for (const pod of pods) {
    if (!belongsInEndpoints(pod, tolerateUnready)) continue;
    const address = addressOf(service, pod);
    if (!address) continue;
    const ready = tolerateUnready || isPodReady(pod);
    const servicePorts = service.spec?.ports ?? [];
    if (servicePorts.length === 0) {
      if (isHeadless(service)) entries.push({ address, ready, ports: [] });
      continue;
    }
    for (const port of servicePorts) {
      const number = targetPortOf(pod, port);
      if (number === undefined) continue;
      const { name, protocol, appProtocol } = port;
      entries.push({
        address,
        ready,
        ports: [{ ...(name ? { name } : {}), port: number, protocol: protocol ?? 'TCP', appProtocol }],
      });
    }
  }
  return truncate(repack(entries));
}

/** The Pod's address of the Service's first IP family. */
function addressOf(service: Service, pod: Pod): EndpointAddress | undefined {
  const family = service.spec?.ipFamilies?.[0] ?? (service.spec?.clusterIP?.includes(':') ? 'IPv6' : undefined);
  const addresses = podAddresses(pod);
  const ip =
    family === undefined ? addresses[0] : addresses.find((address) => address.includes(':') === (family === 'IPv6'));
  if (ip === undefined) return undefined;
  const { namespace, name, uid } = pod.metadata;
  const hostname = hostnameFor(pod, service);
  return {
    ip,
    ...(hostname ? { hostname } : {}),
    nodeName: pod.spec.nodeName,
    targetRef: { kind: 'Pod', namespace, name, uid },
  };
}

/** First all ports of one address together, then all addresses with the same ports. */
function repack(entries: readonly Entry[]): EndpointSubset[] {
  const byAddress = new Map<string, { readonly entry: Entry; readonly ports: EndpointPort[] }>();
  for (const entry of entries) {
    const key = JSON.stringify([entry.address, entry.ready]);
    const found = byAddress.get(key);
    if (found) found.ports.push(...entry.ports);
    else byAddress.set(key, { entry, ports: [...entry.ports] });
  }
  const byPorts = new Map<string, { ports: EndpointPort[]; ready: EndpointAddress[]; notReady: EndpointAddress[] }>();
  for (const { entry, ports } of byAddress.values()) {
    const sorted = [...new Map(ports.map((port) => [JSON.stringify(port), port])).values()].sort(byPort);
    const key = JSON.stringify(sorted);
    const subset = byPorts.get(key) ?? { ports: sorted, ready: [], notReady: [] };
    (entry.ready ? subset.ready : subset.notReady).push(entry.address);
    byPorts.set(key, subset);
  }
  return [...byPorts.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { ports, ready, notReady }]) => ({
      ...(ready.length > 0 ? { addresses: ready.sort(byAddressText) } : {}),
      ...(notReady.length > 0 ? { notReadyAddresses: notReady.sort(byAddressText) } : {}),
      ...(ports.length > 0 ? { ports } : {}),
    }));
}

function byPort(a: EndpointPort, b: EndpointPort): number {
  return (
    (a.name ?? '').localeCompare(b.name ?? '') || a.port - b.port || (a.protocol ?? '').localeCompare(b.protocol ?? '')
  );
}

function byAddressText(a: EndpointAddress, b: EndpointAddress): number {
  return a.ip < b.ip ? -1 : a.ip > b.ip ? 1 : (a.targetRef?.uid ?? '') < (b.targetRef?.uid ?? '') ? -1 : 1;
}

/** Ready addresses keep their places first. */
function truncate(subsets: readonly EndpointSubset[]): Subsets {
  const count = (list: readonly EndpointAddress[] | undefined) => list?.length ?? 0;
  const ready = subsets.reduce((sum, { addresses }) => sum + count(addresses), 0);
  const notReady = subsets.reduce((sum, { notReadyAddresses }) => sum + count(notReadyAddresses), 0);
  if (ready + notReady <= maxCapacity) return { subsets, truncated: false };
  let readyLeft = Math.min(ready, maxCapacity);
  let notReadyLeft = maxCapacity - readyLeft;
  const kept = subsets.map((subset) => {
    const addresses = subset.addresses?.slice(0, readyLeft) ?? [];
    const notReadyAddresses = subset.notReadyAddresses?.slice(0, notReadyLeft) ?? [];
    readyLeft -= addresses.length;
    notReadyLeft -= notReadyAddresses.length;
    return {
      ...(addresses.length > 0 ? { addresses } : {}),
      ...(notReadyAddresses.length > 0 ? { notReadyAddresses } : {}),
      ...(subset.ports ? { ports: subset.ports } : {}),
    };
  });
  return {
    subsets: kept.filter((subset) => count(subset.addresses) + count(subset.notReadyAddresses) > 0),
    truncated: true,
  };
}
