/** Defaults of Services. Addresses and ports that the cluster hands out are none of them: allocation gives those. */
import type { Draft } from '../../../apimachinery/meta.ts';
import { fillAbsent, fillEmpty, isEmpty, partOf } from '../../defaulting.ts';
import type { Service } from '../../gen/core-v1.ts';

const affinityTimeoutSeconds = 3 * 60 * 60;

export function defaultService(service: Draft<Service>): void {
  const spec = partOf(service, 'spec');
  fillEmpty(spec, 'sessionAffinity', 'None');
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  else if (spec.sessionAffinity === 'ClientIP' && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds == null) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: affinityTimeoutSeconds } };
  }
  fillEmpty(spec, 'type', 'ClusterIP');
  for (const port of spec.ports ?? []) {
    fillEmpty(port, 'protocol', 'TCP');
    if (isEmpty(port.targetPort)) port.targetPort = port.port;
  }
  const external = spec.type === 'ClusterIP' && (spec.externalIPs?.length ?? 0) > 0;
  if (spec.type === 'NodePort' || spec.type === 'LoadBalancer' || external) {
    fillEmpty(spec, 'externalTrafficPolicy', 'Cluster');
  }
  if (spec.type !== 'ExternalName') fillAbsent(spec, 'internalTrafficPolicy', 'Cluster');
  if (spec.type !== 'LoadBalancer') return;
  fillAbsent(spec, 'allocateLoadBalancerNodePorts', true);
  for (const ingress of service.status?.loadBalancer?.ingress ?? []) {
    if (ingress.ip) fillAbsent(ingress, 'ipMode', 'VIP');
  }
}
