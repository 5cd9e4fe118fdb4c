/** From the kubelet's own types to the messages of the Container Runtime Interface. Pure. */

import type { Outgoing } from '../../grpc/codec.ts';
import type {
  ContainerConfig,
  ContainerFilter,
  ContainerState,
  IdMapping,
  ImageSpec,
  LinuxResources,
  Mount,
  NamespaceMode,
  NamespaceOptions,
  SandboxConfig,
  SandboxFilter,
  SecurityProfile,
} from '../runtime.ts';
import type { CriVersion } from './connection.ts';
import type * as wire from './gen/cri-v1.ts';

const namespaceModes: Record<NamespaceMode, wire.NamespaceMode> = {
  pod: 'POD',
  container: 'CONTAINER',
  node: 'NODE',
  target: 'TARGET',
};

function namespaces(options: NamespaceOptions): Outgoing<wire.NamespaceOption> {
  return {
    network: namespaceModes[options.network],
    pid: namespaceModes[options.pid],
    ipc: namespaceModes[options.ipc],
    targetId: options.targetId,
    usernsOptions: options.users ? { mode: 'POD', uids: [options.users], gids: [options.users] } : { mode: 'NODE' },
  };
}

const boxed = (value: number | undefined) => (value === undefined ? undefined : { value });

export function linuxResources(resources: LinuxResources): Outgoing<wire.LinuxContainerResources> {
  return {
    cpuPeriod: resources.cpuPeriod,
    cpuQuota: resources.cpuQuota,
    cpuShares: resources.cpuShares,
    memoryLimitInBytes: resources.memoryLimitBytes,
    memorySwapLimitInBytes: resources.memorySwapLimitBytes,
    oomScoreAdj: resources.oomScoreAdj,
    cpusetCpus: resources.cpusetCpus,
    cpusetMems: resources.cpusetMems,
    hugepageLimits: resources.hugepageLimits?.map(({ pageSize, limitBytes }) => ({ pageSize, limit: limitBytes })),
    unified: resources.unified,
  };
}

export function sandboxConfig(config: SandboxConfig, version: CriVersion): Outgoing<wire.PodSandboxConfig> {
  const { security } = config;
  return {
    metadata: config.metadata,
    hostname: config.hostname,
    logDirectory: config.logDirectory,
    dnsConfig: config.dns,
    portMappings: config.portMappings,
    labels: config.labels,
    annotations: config.annotations,
    linux: {
      cgroupParent: config.cgroupParent,
      sysctls: config.sysctls,
      resources: config.resources && linuxResources(config.resources),
      overhead: config.overhead && linuxResources(config.overhead),
      securityContext: {
        namespaceOptions: namespaces(security.namespaces),
        privileged: security.privileged,
        readonlyRootfs: security.readonlyRootfs,
        runAsUser: boxed(security.runAsUser),
        runAsGroup: boxed(security.runAsGroup),
        supplementalGroups: security.supplementalGroups,
        supplementalGroupsPolicy: security.supplementalGroupsPolicy,
        seccomp: profile(security.seccomp),
        seccompProfilePath: profileName(security.seccomp, version),
        selinuxOptions: security.selinux,
      },
    },
  };
}

function profile(value: SecurityProfile | undefined): Outgoing<wire.SecurityProfile> | undefined {
  return value && { profileType: value.type, localhostRef: value.localhostRef };
}

/** Runtimes of v1alpha2's day know profiles by a name alone: without it they would confine nothing. */
function profileName(value: SecurityProfile | undefined, version: CriVersion): string | undefined {
  if (!value || version !== 'v1alpha2') return undefined;
  if (value.type === 'Localhost') return `localhost/${value.localhostRef ?? ''}`;
  return value.type === 'Unconfined' ? 'unconfined' : 'runtime/default';
}

export function imageSpec(image: ImageSpec): Outgoing<wire.ImageSpec> {
  return {
    image: image.image,
    annotations: image.annotations,
    userSpecifiedImage: image.userSpecifiedImage,
    runtimeHandler: image.runtimeHandler,
  };
}

const propagations: Record<NonNullable<Mount['propagation']>, wire.MountPropagation> = {
  private: 'PROPAGATION_PRIVATE',
  hostToContainer: 'PROPAGATION_HOST_TO_CONTAINER',
  bidirectional: 'PROPAGATION_BIDIRECTIONAL',
};

/** A mount's files belong to the same users inside as the container's own. */
function mount(from: Mount, users: IdMapping | undefined): Outgoing<wire.Mount> {
  return {
    uidMappings: users && [users],
    gidMappings: users && [users],
    containerPath: from.containerPath,
    hostPath: from.hostPath,
    readonly: from.readonly,
    selinuxRelabel: from.selinuxRelabel,
    recursiveReadOnly: from.recursiveReadonly,
    propagation: propagations[from.propagation ?? 'private'],
    image: from.image && imageSpec(from.image),
    imageSubPath: from.imageSubPath,
  };
}

export function containerConfig(config: ContainerConfig, version: CriVersion): Outgoing<wire.ContainerConfig> {
  const { security } = config;
  return {
    metadata: { name: config.name, attempt: config.attempt },
    image: imageSpec(config.image),
    command: config.command,
    args: config.args,
    workingDir: config.workingDirectory,
    envs: config.environment.map(({ name, value }) => ({ key: name, value: Buffer.from(value) })),
    mounts: config.mounts.map((one) => mount(one, security.namespaces.users)),
    devices: config.devices,
    CDIDevices: config.cdiDevices?.map((name) => ({ name })),
    labels: config.labels,
    annotations: config.annotations,
    logPath: config.logPath,
    stdin: config.stdin,
    stdinOnce: config.stdinOnce,
    tty: config.tty,
    stopSignal: config.stopSignal?.replace('+', 'PLUS').replace('-', 'MINUS') as wire.Signal | undefined,
    linux: {
      resources: linuxResources(config.resources),
      securityContext: {
        capabilities: { addCapabilities: security.addCapabilities, dropCapabilities: security.dropCapabilities },
        privileged: security.privileged,
        namespaceOptions: namespaces(security.namespaces),
        readonlyRootfs: security.readonlyRootfs,
        noNewPrivs: security.noNewPrivileges,
        runAsUser: boxed(security.runAsUser),
        runAsUsername: security.runAsUsername,
        runAsGroup: boxed(security.runAsGroup),
        supplementalGroups: security.supplementalGroups,
        supplementalGroupsPolicy: security.supplementalGroupsPolicy,
        maskedPaths: security.maskedPaths,
        readonlyPaths: security.readonlyPaths,
        seccomp: profile(security.seccomp),
        seccompProfilePath: profileName(security.seccomp, version),
        apparmor: profile(security.apparmor),
        apparmorProfile: profileName(security.apparmor, version),
        selinuxOptions: security.selinux,
      },
    },
  };
}

export function sandboxFilter(filter: SandboxFilter): Outgoing<wire.PodSandboxFilter> {
  return {
    id: filter.id,
    state: filter.state && { state: filter.state === 'ready' ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY' },
    labelSelector: filter.labels,
  };
}

const containerStates: Record<ContainerState, wire.ContainerState> = {
  created: 'CONTAINER_CREATED',
  running: 'CONTAINER_RUNNING',
  exited: 'CONTAINER_EXITED',
  unknown: 'CONTAINER_UNKNOWN',
};

export function containerFilter(filter: ContainerFilter): Outgoing<wire.ContainerFilter> {
  return {
    id: filter.id,
    state: filter.state && { state: containerStates[filter.state] },
    podSandboxId: filter.sandboxId,
    labelSelector: filter.labels,
  };
}
