/**
 * What the API shows of each container: made from what the runtime shows, why the last start did not happen, and what probes
 * found. Pure. A container that the runtime lost is shown as ended for an unknown reason, never as if it had not run.
 */
import { isSidecar, shouldRestart } from '../../api/core/v1/pod-status.ts';
import type {
  Container,
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  Pod,
  ResourceRequirements,
  ResourceStatus,
  VolumeMountStatus,
} from '../../api/gen/core-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { isRestartingAll, restartingReason } from './restart-all.ts';
import type { RuntimeContainer, RuntimePod } from './runtime-pod.ts';

export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

/** What only the kubelet knows about the containers of one Pod. */
export interface ContainerKnowledge {
  /** By container name: why it could not be started the last time. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** `containerd`, the scheme of container ids. */
  readonly runtimeName: string;
  isStarted(containerId: string): boolean;
  isReady(containerId: string): boolean;
  /** What a container runs with; undefined when that is not known. */
  resourcesOf(name: string, containerId: string): ResourceRequirements | undefined;
  /** Devices that a container holds, and whether they are healthy. */
  devicesOf(name: string): readonly ResourceStatus[];
}

export interface StatusInput {
  readonly pod: Pod;
  readonly observed: RuntimePod;
  readonly knowledge: ContainerKnowledge;
}

export interface ContainerStatuses {
  readonly init: readonly ContainerStatus[];
  readonly regular: readonly ContainerStatus[];
  readonly ephemeral: readonly ContainerStatus[];
}

export function containerStatuses(input: StatusInput): ContainerStatuses {
  const { pod } = input;
  const initContainers = pod.spec.initContainers ?? [];
  const init = initContainers.map((container) =>
    statusOf(input, container, pod.status?.initContainerStatuses, 'ContainerCreating'),
  );
  const initialised = initContainers.every((container, i) => hasInitialised(container, init[i]!));
  const notYet = initialised ? 'ContainerCreating' : 'PodInitializing';
  const initWaiting = init.map((status, i) => ({
    ...status,
    ready: initReady(input, initContainers[i]!, status),
    ...waitingAs(status, initContainers.length > 0 ? 'PodInitializing' : notYet),
  }));
  const regular = pod.spec.containers.map((container) => {
    const status = statusOf(input, container, pod.status?.containerStatuses, notYet);
    const devices = input.knowledge.devicesOf(container.name);
    return devices.length > 0 ? { ...status, allocatedResourcesStatus: devices } : status;
  });
  const ephemeral = (pod.spec.ephemeralContainers ?? []).map((container) =>
    statusOf(input, container as Container, pod.status?.ephemeralContainerStatuses, 'ContainerCreating'),
  );
  return { init: initWaiting, regular: regular.sort((a, b) => (a.name < b.name ? -1 : 1)), ephemeral };
}

/** Init containers that have not begun wait for the Pod to initialise, not to be created. */
function waitingAs(status: ContainerStatus, reason: string): { state?: ContainerState } {
  return status.state?.waiting?.reason === 'ContainerCreating' ? { state: { waiting: { reason } } } : {};
}

function hasInitialised(container: Container, status: ContainerStatus): boolean {
  return isSidecar(container) ? status.started === true : status.state?.terminated?.exitCode === 0;
}

/** An init container is ready once it has succeeded, a sidecar as other containers are. */
function initReady(_input: StatusInput, container: Container, status: ContainerStatus): boolean {
  return isSidecar(container) ? status.ready : status.state?.terminated?.exitCode === 0;
}

function statusOf(
  input: StatusInput,
  container: Container,
  before: readonly ContainerStatus[] | undefined,
  notYet: string,
): ContainerStatus {
  const { observed, knowledge, pod } = input;
  const instances = observed.containers.filter(({ name }) => name === container.name);
  const [newest, older] = instances;
  const old = before?.find(({ name }) => name === container.name);
  if (!newest && old && !old.state?.waiting && isRestartingAll(pod, observed)) return removed(container, old);
  if (!newest) return neverSeen(container, old, knowledge.waiting.get(container.name), notYet);
  const started = newest.state === 'running' && knowledge.isStarted(newest.id);
  const id = `${knowledge.runtimeName}://${newest.id}`;
  const base = {
    name: container.name,
    ready: started && knowledge.isReady(newest.id),
    restartCount: newest.restartCount,
    image: newest.image || (container.image ?? ''),
    imageID: newest.imageId,
    containerID: id,
    started,
    ...resourcesOf(container, newest, knowledge.resourcesOf(container.name, newest.id)),
  };
  const lastState = older
    ? lastStateOf(older, knowledge.runtimeName)
    : old?.containerID !== id && old?.state?.terminated
      ? { terminated: old.state.terminated }
      : old?.lastState;
  const state = runtimeState(newest, knowledge.runtimeName);
  const waiting = knowledge.waiting.get(container.name);
  if (newest.state === 'running' || !waiting || !comesBack(pod, container, newest)) {
    return { ...base, state, lastState: lastState ?? {} };
  }
  return { ...base, state: { waiting }, lastState: newest.state === 'exited' ? state : (lastState ?? {}) };
}

function comesBack(pod: Pod, container: Container, newest: RuntimeContainer): boolean {
  if (pod.metadata.deletionTimestamp) return false;
  if (newest.state !== 'exited') return true;
  const isFinishedInit = newest.exitCode === 0 && !isSidecar(container) && pod.spec.initContainers?.includes(container);
  return !isFinishedInit && shouldRestart(container, pod.spec, newest.exitCode);
}

/** It was taken away so that all can begin anew. */
function removed(container: Container, old: ContainerStatus): ContainerStatus {
  const reason = restartingReason;
  const message = 'The container is removed because RestartAllContainers in place';
  return {
    name: container.name,
    ready: false,
    restartCount: old.restartCount + 1,
    image: container.image ?? '',
    imageID: '',
    started: false,
    state: { waiting: { reason, message } },
    lastState: { terminated: { reason, message, exitCode: 137 } },
  };
}

/** Nothing in the runtime: it has not started yet, or was lost with all its traces. */
function neverSeen(
  container: Container,
  old: ContainerStatus | undefined,
  waiting: WaitingReason | undefined,
  notYet: string,
): ContainerStatus {
  const status = {
    name: container.name,
    ready: false,
    restartCount: old?.restartCount ?? 0,
    image: container.image ?? '',
    imageID: '',
    started: false,
  };
  const state = { waiting: waiting ?? { reason: notYet } };
  if (old?.state?.terminated) return { ...old, ready: old.ready && old.state.terminated.exitCode === 0 };
  if (!old?.state?.running) return { ...status, state, lastState: old?.lastState ?? {} };
  return {
    ...status,
    restartCount: old.restartCount + 1,
    state,
    lastState: {
      terminated: {
        exitCode: 137,
        reason: 'ContainerStatusUnknown',
        message: 'The container could not be located when the pod was deleted.  The container used to be Running',
        containerID: old.containerID,
      },
    },
  };
}

function runtimeState(container: RuntimeContainer, runtimeName: string): ContainerState {
  switch (container.state) {
    case 'running':
      return { running: { startedAt: formatTime(container.startedAtMs) } };
    case 'exited':
      return { terminated: terminated(container, runtimeName) };
    case 'created':
      return { waiting: { reason: 'ContainerCreating' } };
    default:
      return { waiting: { reason: 'ContainerStatusUnknown' } };
  }
}

function lastStateOf(container: RuntimeContainer, runtimeName: string): ContainerState {
  return container.state === 'exited' ? { terminated: terminated(container, runtimeName) } : {};
}

function terminated(container: RuntimeContainer, runtimeName: string): ContainerStateTerminated {
  return {
    exitCode: container.exitCode,
    reason: container.reason || (container.exitCode === 0 ? 'Completed' : 'Error'),
    ...(container.message ? { message: container.message } : {}),
    // The runtime gives year 1 for one that never started; upstream shows the zero of Unix time then.
    startedAt: formatTime(Math.max(0, container.startedAtMs)),
    finishedAt: formatTime(Math.max(0, container.finishedAtMs)),
    containerID: `${runtimeName}://${container.id}`,
  };
}

/** What it was given, and what it runs with. */
function resourcesOf(
  container: Container,
  runtime: RuntimeContainer,
  actual: ResourceRequirements = container.resources ?? {},
): Partial<ContainerStatus> {
  const allocated = container.resources?.requests;
  const { limits, requests } = runtime.state === 'running' ? actual : (container.resources ?? {});
  const mounts = mountStatuses(container, runtime);
  return {
    ...(allocated && Object.keys(allocated).length > 0 ? { allocatedResources: allocated } : {}),
    resources: { ...(limits ? { limits } : {}), ...(requests ? { requests } : {}) },
    ...(runtime.stopSignal ? { stopSignal: runtime.stopSignal as ContainerStatus['stopSignal'] } : {}),
    ...(mounts.length > 0 ? { volumeMounts: mounts } : {}),
    ...(runtime.user
      ? {
          user: {
            linux: {
              uid: runtime.user.uid,
              gid: runtime.user.gid,
              supplementalGroups: runtime.user.supplementalGroups,
            },
          },
        }
      : {}),
  };
}

function mountStatuses(container: Container, runtime: RuntimeContainer): VolumeMountStatus[] {
  const isRecursive = (path: string) =>
    runtime.mounts.some(({ containerPath, recursiveReadonly }) => containerPath === path && recursiveReadonly);
  return (container.volumeMounts ?? []).map(({ name, mountPath, readOnly }) => ({
    name,
    mountPath,
    ...(readOnly ? { readOnly, recursiveReadOnly: isRecursive(mountPath) ? 'Enabled' : 'Disabled' } : {}),
  }));
}
