/** From the messages of the Container Runtime Interface to the kubelet's own types. Pure. */
import type {
  Container,
  ContainerEvent,
  ContainerState,
  ContainerStats,
  ContainerStatus,
  CpuUsage,
  FilesystemUsage,
  Image,
  LinuxResources,
  MemoryUsage,
  Mount,
  NamespaceMode,
  NetworkInterfaceUsage,
  RuntimeStatus,
  Sandbox,
  SandboxMetadata,
  SandboxStats,
  SandboxStatus,
} from '../runtime.ts';
import type * as wire from './gen/cri-v1.ts';

export const milliseconds = (nanoseconds: bigint): number => Number(nanoseconds) / 1e6;
const unboxed = (value: { readonly value: bigint } | undefined): number | undefined => value && Number(value.value);
const nonZero = (value: bigint): number | undefined => (value === 0n ? undefined : Number(value));

export function runtimeStatus(answer: wire.StatusResponse): RuntimeStatus {
  return {
    conditions: answer.status?.conditions ?? [],
    handlers: answer.runtimeHandlers.map((handler) => ({
      name: handler.name,
      recursiveReadOnlyMounts: handler.features?.recursiveReadOnlyMounts ?? false,
      userNamespaces: handler.features?.userNamespaces ?? false,
    })),
    supplementalGroupsPolicy: answer.features?.supplementalGroupsPolicy ?? false,
  };
}

function metadata(from: wire.PodSandboxMetadata | undefined): SandboxMetadata {
  return from ?? { name: '', namespace: '', uid: '', attempt: 0 };
}

export function sandbox(from: wire.PodSandbox): Sandbox {
  return {
    id: from.id,
    metadata: metadata(from.metadata),
    state: from.state === 'SANDBOX_READY' ? 'ready' : 'notReady',
    createdAtMs: milliseconds(from.createdAt),
    labels: from.labels,
    annotations: from.annotations,
    runtimeHandler: from.runtimeHandler,
  };
}

const namespaceModes: Record<wire.NamespaceMode, NamespaceMode> = {
  POD: 'pod',
  CONTAINER: 'container',
  NODE: 'node',
  TARGET: 'target',
};

export function sandboxStatus(from: wire.PodSandboxStatus): SandboxStatus {
  const options = from.linux?.namespaces?.options;
  return {
    ...sandbox(from),
    ips: from.network?.ip ? [from.network.ip, ...from.network.additionalIps.map(({ ip }) => ip)] : [],
    namespaces: {
      network: namespaceModes[options?.network ?? 'POD'],
      pid: namespaceModes[options?.pid ?? 'POD'],
      ipc: namespaceModes[options?.ipc ?? 'POD'],
      targetId: options?.targetId || undefined,
    },
  };
}

const containerStates: Record<wire.ContainerState, ContainerState> = {
  CONTAINER_CREATED: 'created',
  CONTAINER_RUNNING: 'running',
  CONTAINER_EXITED: 'exited',
  CONTAINER_UNKNOWN: 'unknown',
};

export function container(from: wire.Container): Container {
  return { ...described(from), sandboxId: from.podSandboxId };
}

/** What is told of a container in a list as when it is asked for. */
function described(from: wire.Container | wire.ContainerStatus) {
  return {
    id: from.id,
    name: from.metadata?.name ?? '',
    attempt: from.metadata?.attempt ?? 0,
    image: from.image?.image ?? '',
    imageRef: from.imageRef,
    imageId: from.imageId || from.imageRef,
    state: containerStates[from.state],
    createdAtMs: milliseconds(from.createdAt),
    labels: from.labels,
    annotations: from.annotations,
  };
}

export function containerStatus(from: wire.ContainerStatus): ContainerStatus {
  const user = from.user?.linux;
  return {
    ...described(from),
    startedAtMs: milliseconds(from.startedAt),
    finishedAtMs: milliseconds(from.finishedAt),
    exitCode: from.exitCode,
    reason: from.reason,
    message: from.message,
    mounts: from.mounts.map(mount),
    logPath: from.logPath,
    resources: from.resources?.linux && linuxResources(from.resources.linux),
    user: user && {
      uid: Number(user.uid),
      gid: Number(user.gid),
      supplementalGroups: user.supplementalGroups.map(Number),
    },
    stopSignal:
      from.stopSignal === 'RUNTIME_DEFAULT' ? undefined : from.stopSignal.replace('PLUS', '+').replace('MINUS', '-'),
  };
}

function linuxResources(from: wire.LinuxContainerResources): LinuxResources {
  return {
    cpuPeriod: nonZero(from.cpuPeriod),
    cpuQuota: nonZero(from.cpuQuota),
    cpuShares: nonZero(from.cpuShares),
    memoryLimitBytes: nonZero(from.memoryLimitInBytes),
    memorySwapLimitBytes: nonZero(from.memorySwapLimitInBytes),
    oomScoreAdj: Number(from.oomScoreAdj),
    cpusetCpus: from.cpusetCpus || undefined,
    cpusetMems: from.cpusetMems || undefined,
  };
}

const propagations = {
  PROPAGATION_PRIVATE: 'private',
  PROPAGATION_HOST_TO_CONTAINER: 'hostToContainer',
  PROPAGATION_BIDIRECTIONAL: 'bidirectional',
} as const;

function mount(from: wire.Mount): Mount {
  return {
    containerPath: from.containerPath,
    hostPath: from.hostPath,
    readonly: from.readonly,
    selinuxRelabel: from.selinuxRelabel,
    recursiveReadonly: from.recursiveReadOnly,
    propagation: propagations[from.propagation],
  };
}

export function filesystemUsage(from: wire.FilesystemUsage): FilesystemUsage {
  return {
    timestampMs: milliseconds(from.timestamp),
    mountpoint: from.fsId?.mountpoint ?? '',
    usedBytes: unboxed(from.usedBytes) ?? 0,
    inodesUsed: unboxed(from.inodesUsed) ?? 0,
  };
}

function cpu(from: wire.CpuUsage | undefined): CpuUsage | undefined {
  return (
    from && {
      timestampMs: milliseconds(from.timestamp),
      coreNanoSeconds: unboxed(from.usageCoreNanoSeconds) ?? 0,
      nanoCores: unboxed(from.usageNanoCores),
    }
  );
}

function memory(from: wire.MemoryUsage | undefined): MemoryUsage | undefined {
  return (
    from && {
      timestampMs: milliseconds(from.timestamp),
      workingSetBytes: unboxed(from.workingSetBytes) ?? 0,
      availableBytes: unboxed(from.availableBytes),
      usageBytes: unboxed(from.usageBytes),
      rssBytes: unboxed(from.rssBytes),
      pageFaults: unboxed(from.pageFaults),
      majorPageFaults: unboxed(from.majorPageFaults),
    }
  );
}

export function containerStats(from: wire.ContainerStats): ContainerStats {
  return {
    id: from.attributes?.id ?? '',
    name: from.attributes?.metadata?.name ?? '',
    labels: from.attributes?.labels ?? {},
    cpu: cpu(from.cpu),
    memory: memory(from.memory),
    writableLayer: from.writableLayer && filesystemUsage(from.writableLayer),
  };
}

function networkInterface(from: wire.NetworkInterfaceUsage): NetworkInterfaceUsage {
  return {
    name: from.name,
    receivedBytes: unboxed(from.rxBytes) ?? 0,
    receiveErrors: unboxed(from.rxErrors) ?? 0,
    sentBytes: unboxed(from.txBytes) ?? 0,
    sendErrors: unboxed(from.txErrors) ?? 0,
  };
}

export function sandboxStats(from: wire.PodSandboxStats): SandboxStats {
  const { linux } = from;
  const interfaces = [linux?.network?.defaultInterface, ...(linux?.network?.interfaces ?? [])];
  return {
    id: from.attributes?.id ?? '',
    metadata: metadata(from.attributes?.metadata),
    labels: from.attributes?.labels ?? {},
    cpu: cpu(linux?.cpu),
    memory: memory(linux?.memory),
    network: linux?.network && {
      timestampMs: milliseconds(linux.network.timestamp),
      interfaces: interfaces.filter((one) => one !== undefined).map(networkInterface),
    },
    processCount: unboxed(linux?.process?.processCount),
    containers: (linux?.containers ?? []).map(containerStats),
  };
}

export function image(from: wire.Image): Image {
  return {
    id: from.id,
    repoTags: from.repoTags,
    repoDigests: from.repoDigests,
    sizeBytes: Number(from.size),
    uid: unboxed(from.uid),
    username: from.username,
    pinned: from.pinned,
  };
}

const eventTypes = {
  CONTAINER_CREATED_EVENT: 'created',
  CONTAINER_STARTED_EVENT: 'started',
  CONTAINER_STOPPED_EVENT: 'stopped',
  CONTAINER_DELETED_EVENT: 'deleted',
} as const;

export const eventType = (from: wire.ContainerEventType): ContainerEvent['type'] => eventTypes[from];
