/** What the runtime is told of a Pod before any container of it exists. Pure. */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { sysctlName } from '../pods/sysctls.ts';
import {
  type IdMapping,
  type LinuxResources,
  type PortMapping,
  runtimeLabels,
  type SandboxConfig,
} from '../runtime/runtime.ts';
import { type DnsSettings, podDns, podHostname } from './dns.ts';
import { sandboxSecurity } from './security.ts';

export interface SandboxSettings extends DnsSettings {
  readonly attempt: number;
  readonly logDirectory: string;
  readonly cgroupParent: string;
  readonly resources?: LinuxResources | undefined;
  readonly overhead?: LinuxResources | undefined;
  /** Of its own, where they are not the node's. */
  readonly users?: IdMapping | undefined;
}

export function sandboxConfig(pod: Pod, settings: SandboxSettings): SandboxConfig {
  const { name = '', namespace = '', uid = '', labels, annotations } = pod.metadata;
  const security = sandboxSecurity(pod);
  const { hostname, domain } = podHostname(pod, settings.clusterDomain);
  const wantsFqdn = pod.spec.setHostnameAsFQDN && domain && !pod.spec.hostnameOverride;
  return {
    metadata: { name, namespace, uid, attempt: settings.attempt },
    hostname: pod.spec.hostNetwork ? '' : wantsFqdn ? `${hostname}.${domain}` : hostname,
    logDirectory: settings.logDirectory,
    dns: podDns(pod, settings),
    portMappings: pod.spec.hostNetwork ? [] : hostPorts(pod),
    labels: {
      ...labels,
      [runtimeLabels.podName]: name,
      [runtimeLabels.podNamespace]: namespace,
      [runtimeLabels.podUid]: uid,
    },
    annotations: { ...annotations },
    cgroupParent: settings.cgroupParent,
    sysctls: Object.fromEntries(
      (pod.spec.securityContext?.sysctls ?? []).map((sysctl) => [sysctlName(sysctl.name), sysctl.value]),
    ),
    security: { ...security, namespaces: { ...security.namespaces, users: settings.users } },
    resources: settings.resources,
    overhead: settings.overhead,
  };
}

function hostPorts(pod: Pod): PortMapping[] {
  const containers: readonly Container[] = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return containers.flatMap(({ ports = [] }) =>
    ports
      .filter(({ hostPort }) => hostPort)
      .map(({ protocol = 'TCP', containerPort, hostPort, hostIP }) => ({
        protocol,
        containerPort,
        hostPort: hostPort!,
        hostIp: hostIP ?? '',
      })),
  );
}
