/** The checks of level `baseline`: what a Pod must not ask for. Texts are upstream's. */
import { andJoin, containersText, type Finding, quoted, sortedSet } from './finding.ts';
import {
  type AnyContainer,
  type Check,
  type CheckFunction,
  containersOf,
  hasOwnUsers,
  namesWhere,
  type PodLike,
} from './pod-view.ts';

const defaultCapabilities: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);
/** Each with the minor version since which it is allowed. */
const safeSysctls: ReadonlyMap<string, number> = new Map([
  ['kernel.shm_rmid_forced', 0],
  ['net.ipv4.ip_local_port_range', 0],
  ['net.ipv4.ip_unprivileged_port_start', 0],
  ['net.ipv4.ping_group_range', 0],
  ['net.ipv4.tcp_syncookies', 0],
  ['net.ipv4.ip_local_reserved_ports', 27],
  ['net.ipv4.tcp_keepalive_time', 29],
  ['net.ipv4.tcp_fin_timeout', 29],
  ['net.ipv4.tcp_keepalive_intvl', 29],
  ['net.ipv4.tcp_keepalive_probes', 29],
  ['net.ipv4.tcp_rmem', 32],
  ['net.ipv4.tcp_wmem', 32],
]);
const profileTypes: ReadonlySet<string> = new Set(['RuntimeDefault', 'Localhost']);
const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/';
const seccompPodAnnotation = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainerAnnotation = 'container.seccomp.security.alpha.kubernetes.io/';

const appArmorProfile: CheckFunction = (pod) => {
  const isBad = (type: string | undefined) => type !== undefined && !profileTypes.has(type);
  const podType = pod.spec.securityContext?.appArmorProfile?.type;
  const typeOf = (container: AnyContainer) => container.securityContext?.appArmorProfile?.type;
  const containers = namesWhere(pod, (container) => isBad(typeOf(container)));
  const annotations = Object.entries(pod.metadata?.annotations ?? {})
    .filter(
      ([key, value]) =>
        key.startsWith(appArmorPrefix) &&
        value !== '' &&
        value !== 'runtime/default' &&
        !value.startsWith('localhost/'),
    )
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  const values = [...sortedSet([podType, ...containersOf(pod).map(typeOf)].filter(isBad) as string[]), ...annotations];
  const setters = [
    ...(isBad(podType) ? ['pod'] : []),
    ...(containers.length > 0 ? [containersText(containers)] : []),
    ...(annotations.length > 0 ? [annotations.length === 1 ? 'annotation' : 'annotations'] : []),
  ];
  if (setters.length === 0) return undefined;
  const reason = values.length === 1 ? 'forbidden AppArmor profile' : 'forbidden AppArmor profiles';
  return { reason, detail: `${andJoin(setters)} must not set AppArmor profile type to ${quoted(values)}` };
};

const capabilities: CheckFunction = (pod) => {
  const extra = (container: AnyContainer) =>
    (container.securityContext?.capabilities?.add ?? []).filter((name) => !defaultCapabilities.has(name));
  const names = namesWhere(pod, (container) => extra(container).length > 0);
  if (names.length === 0) return undefined;
  const added = sortedSet(containersOf(pod).flatMap(extra));
  return {
    reason: 'non-default capabilities',
    detail: `${containersText(names)} must not include ${quoted(added)} in securityContext.capabilities.add`,
  };
};

const hostNamespaces: CheckFunction = ({ spec }) => {
  const shared = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((name) => spec[name]);
  return shared.length > 0
    ? { reason: 'host namespaces', detail: shared.map((name) => `${name}=true`).join(', ') }
    : undefined;
};

const hostPathVolumes: CheckFunction = ({ spec }) => {
  const names = (spec.volumes ?? []).filter((volume) => volume.hostPath).map((volume) => volume.name);
  if (names.length === 0) return undefined;
  return { reason: 'hostPath volumes', detail: `${names.length === 1 ? 'volume' : 'volumes'} ${quoted(names)}` };
};

const hostPorts: CheckFunction = (pod) => {
  const portsOf = (container: AnyContainer) =>
    (container.ports ?? []).map((port) => port.hostPort ?? 0).filter((port) => port !== 0);
  const names = namesWhere(pod, (container) => portsOf(container).length > 0);
  if (names.length === 0) return undefined;
  const ports = sortedSet(containersOf(pod).flatMap(portsOf).map(String));
  const uses = `${names.length === 1 ? 'uses' : 'use'} ${ports.length === 1 ? 'hostPort' : 'hostPorts'}`;
  return { reason: 'hostPort', detail: `${containersText(names)} ${uses} ${ports.join(', ')}` };
};

const hostProbes: CheckFunction = (pod) => {
  const hostsOf = ({ livenessProbe, readinessProbe, startupProbe, lifecycle }: AnyContainer) =>
    [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop]
      .flatMap((handler) => [handler?.httpGet?.host, handler?.tcpSocket?.host])
      .filter((host): host is string => !!host);
  const names = sortedSet(namesWhere(pod, (container) => hostsOf(container).length > 0));
  if (names.length === 0) return undefined;
  const hosts = sortedSet(containersOf(pod).flatMap(hostsOf));
  const what = hosts.length === 1 ? 'probe or lifecycle host' : 'probe or lifecycle hosts';
  const detail = `${containersText(names)} ${names.length === 1 ? 'uses' : 'use'} ${what} ${quoted(hosts)}`;
  return { reason: 'probe or lifecycle host', detail };
};

const privileged: CheckFunction = (pod) => {
  const names = namesWhere(pod, (container) => container.securityContext?.privileged === true);
  if (names.length === 0) return undefined;
  return { reason: 'privileged', detail: `${containersText(names)} must not set securityContext.privileged=true` };
};

const procMount: CheckFunction = (pod, minor) => {
  if (minor >= 35 && hasOwnUsers(pod)) return undefined;
  return procMountFinding(pod);
};

export function procMountFinding(pod: PodLike): Finding | undefined {
  const mountOf = (container: AnyContainer) => container.securityContext?.procMount;
  const isBad = (container: AnyContainer) => mountOf(container) !== undefined && mountOf(container) !== 'Default';
  const names = namesWhere(pod, isBad);
  if (names.length === 0) return undefined;
  const mounts = sortedSet(
    containersOf(pod)
      .filter(isBad)
      .map((container) => mountOf(container)!),
  );
  return {
    reason: 'procMount',
    detail: `${containersText(names)} must not set securityContext.procMount to ${quoted(mounts)}`,
  };
}

const seLinuxOptions: CheckFunction = (pod, minor) => {
  const types = new Set([
    '',
    'container_t',
    'container_init_t',
    'container_kvm_t',
    ...(minor >= 31 ? ['container_engine_t'] : []),
  ]);
  const badType = (options: SeLinuxOptions) => options?.type !== undefined && !types.has(options.type);
  const isBad = (options: SeLinuxOptions) => badType(options) || !!options?.user || !!options?.role;
  const ofPod = pod.spec.securityContext?.seLinuxOptions;
  const all = [ofPod, ...containersOf(pod).map((container) => container.securityContext?.seLinuxOptions)];
  const names = namesWhere(pod, (container) => isBad(container.securityContext?.seLinuxOptions));
  if (!isBad(ofPod) && names.length === 0) return undefined;
  const badTypes = sortedSet(all.filter(badType).map((options) => options!.type!));
  const data = [
    ...(badTypes.length > 0 ? [`${badTypes.length === 1 ? 'type' : 'types'} ${quoted(badTypes)}`] : []),
    ...(all.some((options) => options?.user) ? ['user may not be set'] : []),
    ...(all.some((options) => options?.role) ? ['role may not be set'] : []),
  ];
  const setters = [...(isBad(ofPod) ? ['pod'] : []), ...(names.length > 0 ? [containersText(names)] : [])];
  return {
    reason: 'seLinuxOptions',
    detail: `${andJoin(setters)} set forbidden securityContext.seLinuxOptions: ${data.join('; ')}`,
  };
};

type SeLinuxOptions = NonNullable<PodLike['spec']['securityContext']>['seLinuxOptions'];

/** Before 1.19 the profile was an annotation. */
const seccompProfile: CheckFunction = (pod, minor) => {
  if (minor < 19) return seccompAnnotations(pod);
  return badSeccompProfiles(pod);
};

export function badSeccompProfiles(pod: PodLike): Finding | undefined {
  const isBad = (type: string | undefined) => type !== undefined && !profileTypes.has(type);
  const ofPod = pod.spec.securityContext?.seccompProfile?.type;
  const typeOf = (container: AnyContainer) => container.securityContext?.seccompProfile?.type;
  const names = namesWhere(pod, (container) => isBad(typeOf(container)));
  if (!isBad(ofPod) && names.length === 0) return undefined;
  const values = sortedSet([ofPod, ...containersOf(pod).map(typeOf)].filter(isBad) as string[]);
  const setters = [...(isBad(ofPod) ? ['pod'] : []), ...(names.length > 0 ? [containersText(names)] : [])];
  return {
    reason: 'seccompProfile',
    detail: `${andJoin(setters)} must not set securityContext.seccompProfile.type to ${quoted(values)}`,
  };
}

function seccompAnnotations(pod: PodLike): Finding | undefined {
  const keys = [
    seccompPodAnnotation,
    ...containersOf(pod).map((container) => `${seccompContainerAnnotation}${container.name}`),
  ];
  const forbidden = keys
    .map((key) => [key, pod.metadata?.annotations?.[key]] as const)
    .filter(
      ([, value]) =>
        value !== undefined &&
        value !== 'runtime/default' &&
        value !== 'docker/default' &&
        !value.startsWith('localhost/'),
    )
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  if (forbidden.length === 0) return undefined;
  const what = forbidden.length === 1 ? 'annotation' : 'annotations';
  return { reason: 'seccompProfile', detail: `forbidden ${what} ${sortedSet(forbidden).join(', ')}` };
}

const sysctls: CheckFunction = ({ spec }, minor) => {
  const names = (spec.securityContext?.sysctls ?? [])
    .map((sysctl) => sysctl.name)
    .filter((name) => (safeSysctls.get(name) ?? Number.POSITIVE_INFINITY) > minor || !safeSysctls.has(name));
  return names.length > 0 ? { reason: 'forbidden sysctls', detail: names.join(', ') } : undefined;
};

const windowsHostProcess: CheckFunction = (pod) => {
  const isBad = (
    context: { readonly windowsOptions?: { readonly hostProcess?: boolean | undefined } | undefined } | undefined,
  ) => context?.windowsOptions?.hostProcess === true;
  const names = namesWhere(pod, (container) => isBad(container.securityContext));
  const setters = [
    ...(isBad(pod.spec.securityContext) ? ['pod'] : []),
    ...(names.length > 0 ? [containersText(names)] : []),
  ];
  if (setters.length === 0) return undefined;
  return {
    reason: 'hostProcess',
    detail: `${andJoin(setters)} must not set securityContext.windowsOptions.hostProcess=true`,
  };
};

export const baselineChecks: readonly Check[] = [
  { id: 'appArmorProfile', level: 'baseline', since: 0, run: appArmorProfile },
  { id: 'capabilities_baseline', level: 'baseline', since: 0, run: capabilities },
  { id: 'hostNamespaces', level: 'baseline', since: 0, run: hostNamespaces },
  { id: 'hostPathVolumes', level: 'baseline', since: 0, run: hostPathVolumes },
  { id: 'hostPorts', level: 'baseline', since: 0, run: hostPorts },
  { id: 'hostProbesAndHostLifecycle', level: 'baseline', since: 34, run: hostProbes },
  { id: 'privileged', level: 'baseline', since: 0, run: privileged },
  { id: 'procMount', level: 'baseline', since: 0, run: procMount },
  { id: 'seLinuxOptions', level: 'baseline', since: 0, run: seLinuxOptions },
  { id: 'seccompProfile_baseline', level: 'baseline', since: 0, run: seccompProfile },
  { id: 'sysctls', level: 'baseline', since: 0, run: sysctls },
  { id: 'windowsHostProcess', level: 'baseline', since: 0, run: windowsHostProcess },
];
