/**
 * What a Service lets go when its type changes: fields that mean nothing for the new type. What it keeps without being told, and
 * what it is given, is allocation's business in the API server.
 */
import type { Draft } from '../../../apimachinery/meta.ts';
import { semanticallyEqual } from '../../equality.ts';
import type { Service, ServiceSpec } from '../../gen/core-v1.ts';

/** No address of its own: names resolve to the Pods'. */
export function isHeadless({ clusterIPs }: ServiceSpec): boolean {
  return clusterIPs?.length === 1 && clusterIPs[0] === 'None';
}

export function needsHealthCheckPort({ type, externalTrafficPolicy }: ServiceSpec): boolean {
  return type === 'LoadBalancer' && externalTrafficPolicy === 'Local';
}

export function isExternallyAccessible({ type, externalIPs }: ServiceSpec): boolean {
  return type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && (externalIPs?.length ?? 0) > 0);
}

/** What only the old type had goes, unless the client has just set it. */
export function dropUnusedFields(service: Draft<Service>, { spec: stored }: Service): void {
  const { spec } = service;
  const drop = (...fields: (keyof ServiceSpec)[]) => {
    for (const field of fields) if (semanticallyEqual(spec[field], stored[field])) delete spec[field];
  };
  if (spec.type === 'ExternalName' && stored.type !== 'ExternalName') {
    drop('clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy');
  }
  const hadPorts = (type: string | undefined) => type === 'NodePort' || type === 'LoadBalancer';
  if (hadPorts(stored.type) && !hadPorts(spec.type)) {
    const known = new Set((stored.ports ?? []).map(({ nodePort }) => nodePort));
    if (spec.ports?.every(({ nodePort }) => !nodePort || known.has(nodePort))) {
      for (const port of spec.ports) delete port.nodePort;
    }
  }
  if (needsHealthCheckPort(stored) && !needsHealthCheckPort(spec)) drop('healthCheckNodePort');
  if (stored.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    drop('allocateLoadBalancerNodePorts', 'loadBalancerClass');
  }
  if (isExternallyAccessible(stored) && !isExternallyAccessible(spec)) drop('externalTrafficPolicy');
  if (spec.type !== 'LoadBalancer') service.status = { ...service.status, loadBalancer: {} };
}
