/**
 * Fields of a Service that belong together: `clusterIP` and the first of `clusterIPs`; and values the server once chose, which a client
 * that sends its own manifest again does not have to know.
 */
import type { Service } from '../../api/gen/core-v1.ts';
import type { Draft } from '../../apimachinery/meta.ts';
import { sameList } from './ip-families.ts';
import { allocatesNodePorts, needsHealthCheckPort, usedNodePorts } from './node-ports.ts';

/** Old clients set the one field, new ones both. */
export function normalizeClusterIPs(service: Draft<Service>, previous: Service | undefined): void {
  const { spec } = service;
  const all = spec.clusterIPs ?? [];
  if (!previous) {
    if (spec.clusterIP && all.length === 0) spec.clusterIPs = [spec.clusterIP];
    return;
  }
  const before = previous.spec;
  if ((before.clusterIPs?.length ?? 0) > 0 && all.length === 0 && (before.clusterIP ?? '') === (spec.clusterIP ?? '')) {
    spec.clusterIPs = [...before.clusterIPs!];
  }
  if ((before.clusterIP ?? '') === (spec.clusterIP ?? '') || !sameList(before.clusterIPs, spec.clusterIPs)) return;
  if (before.clusterIP && !spec.clusterIP) delete spec.clusterIPs;
  else spec.clusterIPs = [spec.clusterIP!];
}

/** Takes over addresses and ports that `service` leaves open. */
export function adoptAllocatedValues(service: Draft<Service>, previous: Service): void {
  const { spec } = service;
  const before = previous.spec;
  if (before.type !== 'ExternalName' && spec.type !== 'ExternalName') {
    if (!spec.clusterIP && before.clusterIP) spec.clusterIP = before.clusterIP;
    if (!spec.clusterIPs?.length && before.clusterIPs?.length) spec.clusterIPs = [...before.clusterIPs];
  }
  if (allocatesNodePorts(previous) && allocatesNodePorts(service)) adoptNodePorts(service, previous);
  if (
    needsHealthCheckPort(previous) &&
    needsHealthCheckPort(service) &&
    !spec.healthCheckNodePort &&
    before.healthCheckNodePort
  ) {
    spec.healthCheckNodePort = before.healthCheckNodePort;
  }
}

/** By the ports' names, unless the new Service uses the number elsewhere. */
function adoptNodePorts(service: Draft<Service>, previous: Service): void {
  const inUse = new Set(usedNodePorts(service as Service));
  const byName = new Map((previous.spec.ports ?? []).map((port) => [port.name ?? '', port.nodePort ?? 0]));
  for (const port of service.spec.ports ?? []) {
    const old = byName.get(port.name ?? '') ?? 0;
    if (!port.nodePort && old !== 0 && !inUse.has(old)) port.nodePort = old;
  }
}
