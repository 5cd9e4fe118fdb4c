/** A simulated runtime's answers as messages of the Container Runtime Interface, for `cri-server.ts`. What it does not keep is left out. */

import type { Outgoing } from '../kubelet/grpc/codec.ts';
import type * as wire from '../kubelet/runtime/cri/gen/cri-v1.ts';
import type {
  Container,
  ContainerConfig,
  ContainerEvent,
  ContainerState,
  ContainerStats,
  ContainerStatus,
  FilesystemUsage,
  Image,
  NamespaceMode,
  Sandbox,
  SandboxConfig,
} from '../kubelet/runtime/runtime.ts';
import { ordinarySecurity } from '../kubelet/runtime/security.fixture.ts';
import type { SimulatedRuntime } from '../kubelet/runtime/simulated/simulated-runtime.ts';
import type { CriAnswers } from './cri-methods.ts';

const nanoseconds = (ms: number) => BigInt(Math.round(ms * 1e6));
const streamingUrl = (kind: string, id: string) => ({ url: `http://127.0.0.1:1/${kind}/${id}` });

export function simulatedAnswers(runtime: SimulatedRuntime): CriAnswers {
  return { ...sandboxAnswers(runtime), ...containerAnswers(runtime), ...imageAnswers(runtime) };
}

function sandboxAnswers(runtime: SimulatedRuntime): CriAnswers {
  return {
    Version: ({ version }) => ({
      version: '0.1.0',
      runtimeName: 'fake',
      runtimeVersion: '9',
      runtimeApiVersion: version,
    }),
    Status: async () => ({ status: { conditions: (await runtime.status()).conditions } }),
    RunPodSandbox: async ({ config }) => ({ podSandboxId: await runtime.runPodSandbox(sandboxConfig(config)) }),
    StopPodSandbox: ({ podSandboxId }) => done(runtime.stopPodSandbox(podSandboxId)),
    RemovePodSandbox: ({ podSandboxId }) => done(runtime.removePodSandbox(podSandboxId)),
    PodSandboxStatus: async ({ podSandboxId }) => {
      const { ips, namespaces, ...sandbox } = await runtime.podSandboxStatus(podSandboxId);
      const [ip, ...more] = ips;
      const network = namespaces.network === 'node' ? 'NODE' : 'POD';
      return {
        status: {
          ...sandboxMessage(sandbox),
          network: { ip: ip ?? '', additionalIps: more.map((one) => ({ ip: one })) },
          linux: { namespaces: { options: { network } } },
        },
      };
    },
    ListPodSandbox: async ({ filter }) => {
      const state = filter?.state && (filter.state.state === 'SANDBOX_READY' ? 'ready' : 'notReady');
      const found = await runtime.listPodSandboxes({
        id: filter?.id || undefined,
        state,
        labels: filter?.labelSelector,
      });
      return { items: found.map(sandboxMessage) };
    },
    PodSandboxStats: async ({ podSandboxId }) => {
      const { id, labels, metadata, containers } = await runtime.podSandboxStats(podSandboxId);
      return { stats: { attributes: { id, labels, metadata }, linux: { containers: containers.map(statsMessage) } } };
    },
    PortForward: async ({ podSandboxId }) => {
      await runtime.podSandboxStatus(podSandboxId);
      return streamingUrl('portforward', podSandboxId);
    },
  };
}

function containerAnswers(runtime: SimulatedRuntime): CriAnswers {
  const streaming = (kind: string) => async (request: { readonly containerId: string }) => {
    await runtime.containerStatus(request.containerId);
    return streamingUrl(kind, request.containerId);
  };
  return {
    CreateContainer: async ({ podSandboxId, config, sandboxConfig: sandbox }) => ({
      containerId: await runtime.createContainer(podSandboxId, containerConfig(config), sandboxConfig(sandbox)),
    }),
    StartContainer: ({ containerId }) => done(runtime.startContainer(containerId)),
    StopContainer: ({ containerId, timeout }) => done(runtime.stopContainer(containerId, Number(timeout))),
    RemoveContainer: ({ containerId }) => done(runtime.removeContainer(containerId)),
    ListContainers: async ({ filter }) => {
      const found = await runtime.listContainers({
        id: filter?.id || undefined,
        sandboxId: filter?.podSandboxId || undefined,
        labels: filter?.labelSelector,
        state: filter?.state && modelStates[filter.state.state],
      });
      return { containers: found.map((one) => ({ ...containerMessage(one), podSandboxId: one.sandboxId })) };
    },
    ContainerStatus: async ({ containerId }) => ({ status: statusMessage(await runtime.containerStatus(containerId)) }),
    UpdateContainerResources: ({ containerId }) => done(runtime.updateContainerResources(containerId, {})),
    CheckpointContainer: () => done(runtime.checkpointContainer()),
    ReopenContainerLog: ({ containerId }) => done(runtime.reopenContainerLog(containerId)),
    ExecSync: async ({ containerId, cmd, timeout }) =>
      runtime.execSync(containerId, cmd, { timeoutSeconds: Number(timeout) }),
    Exec: streaming('exec'),
    Attach: streaming('attach'),
    ContainerStats: async ({ containerId }) => ({ stats: statsMessage(await runtime.containerStats(containerId)) }),
    ListContainerStats: async ({ filter }) => {
      const sandboxId = filter?.podSandboxId || undefined;
      const found = await runtime.listContainerStats({ sandboxId, labels: filter?.labelSelector });
      return { stats: found.map(statsMessage) };
    },
    GetContainerEvents: () => ({}),
  };
}

function imageAnswers(runtime: SimulatedRuntime): CriAnswers {
  const named = (image: wire.ImageSpec | undefined) => ({ image: image?.image ?? '' });
  return {
    ImageStatus: async ({ image }) => {
      const found = await runtime.imageStatus(named(image));
      return { image: found && imageMessage(found) };
    },
    ListImages: async () => ({ images: (await runtime.listImages()).map(imageMessage) }),
    PullImage: async ({ image }) => ({ imageRef: await runtime.pullImage(named(image)) }),
    RemoveImage: ({ image }) => done(runtime.removeImage(named(image))),
    ImageFsInfo: async () => {
      const { imageFilesystems, containerFilesystems } = await runtime.imageFsInfo();
      return {
        imageFilesystems: imageFilesystems.map(filesystemMessage),
        containerFilesystems: containerFilesystems.map(filesystemMessage),
      };
    },
  };
}

/** Most answers are empty. */
const done = async (work: Promise<void>) => {
  await work;
  return {};
};

const namespaceModes: Record<wire.NamespaceMode, NamespaceMode> = {
  POD: 'pod',
  CONTAINER: 'container',
  NODE: 'node',
  TARGET: 'target',
};

function sandboxConfig(from: wire.PodSandboxConfig | undefined): SandboxConfig {
  const security = from?.linux?.securityContext;
  const options = security?.namespaceOptions;
  return {
    metadata: from?.metadata ?? { name: '', namespace: '', uid: '', attempt: 0 },
    hostname: from?.hostname ?? '',
    logDirectory: from?.logDirectory ?? '',
    portMappings: [],
    labels: from?.labels ?? {},
    annotations: from?.annotations ?? {},
    cgroupParent: from?.linux?.cgroupParent ?? '',
    sysctls: from?.linux?.sysctls ?? {},
    security: {
      namespaces: {
        network: namespaceModes[options?.network ?? 'POD'],
        pid: namespaceModes[options?.pid ?? 'POD'],
        ipc: namespaceModes[options?.ipc ?? 'POD'],
      },
      privileged: security?.privileged ?? false,
    },
  };
}

function containerConfig(from: wire.ContainerConfig | undefined): ContainerConfig {
  return {
    name: from?.metadata?.name ?? '',
    attempt: from?.metadata?.attempt ?? 0,
    image: { image: from?.image?.image ?? '' },
    command: from?.command ?? [],
    args: from?.args ?? [],
    workingDirectory: from?.workingDir ?? '',
    environment: [],
    mounts: [],
    devices: [],
    labels: from?.labels ?? {},
    annotations: from?.annotations ?? {},
    logPath: from?.logPath ?? '',
    stdin: false,
    stdinOnce: false,
    tty: false,
    resources: {},
    security: ordinarySecurity,
  };
}

function sandboxMessage({ createdAtMs, state, ...from }: Sandbox): Outgoing<wire.PodSandbox> {
  return {
    ...from,
    state: state === 'ready' ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
    createdAt: nanoseconds(createdAtMs),
  };
}

const states: Record<ContainerState, wire.ContainerState> = {
  created: 'CONTAINER_CREATED',
  running: 'CONTAINER_RUNNING',
  exited: 'CONTAINER_EXITED',
  unknown: 'CONTAINER_UNKNOWN',
};

const modelStates: Record<wire.ContainerState, ContainerState> = {
  CONTAINER_CREATED: 'created',
  CONTAINER_RUNNING: 'running',
  CONTAINER_EXITED: 'exited',
  CONTAINER_UNKNOWN: 'unknown',
};

function containerMessage(from: Omit<Container, 'sandboxId'>) {
  const { id, imageId, imageRef, labels, annotations } = from;
  return {
    id,
    imageId,
    imageRef,
    labels,
    annotations,
    metadata: { name: from.name, attempt: from.attempt },
    image: { image: from.image },
    state: states[from.state],
    createdAt: nanoseconds(from.createdAtMs),
  } satisfies Outgoing<wire.Container>;
}

function statusMessage(from: ContainerStatus): Outgoing<wire.ContainerStatus> {
  const { exitCode, reason, message, logPath } = from;
  return {
    ...containerMessage(from),
    exitCode,
    reason,
    message,
    logPath,
    startedAt: nanoseconds(from.startedAtMs),
    finishedAt: nanoseconds(from.finishedAtMs),
  };
}

function statsMessage({ id, name, labels, memory }: ContainerStats): Outgoing<wire.ContainerStats> {
  return {
    attributes: { id, labels, metadata: { name } },
    memory: memory && {
      timestamp: nanoseconds(memory.timestampMs),
      workingSetBytes: { value: memory.workingSetBytes },
    },
  };
}

function filesystemMessage({ timestampMs, mountpoint, usedBytes }: FilesystemUsage): Outgoing<wire.FilesystemUsage> {
  return { timestamp: nanoseconds(timestampMs), fsId: { mountpoint }, usedBytes: { value: usedBytes } };
}

function imageMessage({ id, repoTags, repoDigests, sizeBytes, username, pinned }: Image): Outgoing<wire.Image> {
  return { id, repoTags, repoDigests, size: sizeBytes, username, pinned };
}

const eventTypes: Record<ContainerEvent['type'], wire.ContainerEventType> = {
  created: 'CONTAINER_CREATED_EVENT',
  started: 'CONTAINER_STARTED_EVENT',
  stopped: 'CONTAINER_STOPPED_EVENT',
  deleted: 'CONTAINER_DELETED_EVENT',
};

export function containerEvent(event: ContainerEvent): Outgoing<wire.ContainerEventResponse> {
  return {
    containerId: event.containerId,
    containerEventType: eventTypes[event.type],
    createdAt: nanoseconds(event.createdAtMs),
    podSandboxStatus: { metadata: { uid: event.podUid } },
  };
}
