/** The status that a kubelet posts for its Node, as `kubectl describe node` shows it. Pure; reasons and messages are upstream's. */
import type { ContainerImage, NodeAddress, NodeCondition, NodeStatus } from '../../api/gen/core-v1.ts';
import { aggregate } from '../../apimachinery/go-text.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { isGateOn } from '../../serving/feature-gates.ts';
import type { KubeletConfiguration } from '../configuration.ts';
import type { DeviceCapacity } from '../devices/node-devices.ts';
import type { PressureCondition } from '../eviction/pressure.ts';
import type { MachineFacts } from '../host/host.ts';
import type { Image, RuntimeHandler, RuntimeVersion } from '../runtime/runtime.ts';
import { allocatableOf, capacityOf } from './capacity.ts';

export interface NodeStatusInput {
  readonly configuration: KubeletConfiguration;
  readonly facts: MachineFacts;
  readonly runtime: RuntimeVersion;
  readonly handlers: readonly RuntimeHandler[];
  readonly supplementalGroupsPolicy: boolean;
  readonly images: readonly Image[];
  readonly hostname: string;
  readonly addresses: readonly string[];
  /** Upstream's version that this kubelet is compatible with: `v1.36.0`. */
  readonly kubeletVersion: string;
  /** What keeps the node from being ready. */
  readonly problems: readonly string[];
  readonly pressures: ReadonlySet<PressureCondition>;
  readonly volumesInUse: readonly string[];
  readonly devices?: DeviceCapacity | undefined;
  readonly before: NodeStatus | undefined;
  readonly nowMs: number;
}

export function nodeStatus(input: NodeStatusInput): NodeStatus {
  const { configuration, facts, runtime, before } = input;
  const capacity = {
    ...before?.capacity,
    ...capacityOf(facts, configuration),
    ...asQuantities(input.devices?.capacity),
  };
  return {
    ...before,
    // An empty list takes the last one away; where there was none there need not be one.
    ...(input.volumesInUse.length > 0 || before?.volumesInUse ? { volumesInUse: input.volumesInUse } : {}),
    capacity,
    allocatable: {
      ...before?.allocatable,
      ...allocatableOf(capacity, configuration),
      ...asQuantities(input.devices?.allocatable),
    },
    conditions: conditions(input),
    addresses:
      configuration.cloudProvider === 'external' && before?.addresses?.length ? before.addresses : addresses(input),
    daemonEndpoints: { kubeletEndpoint: { Port: configuration.port } },
    nodeInfo: {
      machineID: facts.machineId,
      systemUUID: facts.systemUuid,
      bootID: facts.bootId,
      kernelVersion: facts.kernelVersion,
      osImage: facts.osImage,
      containerRuntimeVersion: `${runtime.runtimeName}://${runtime.runtimeVersion}`,
      kubeletVersion: input.kubeletVersion,
      kubeProxyVersion: '',
      operatingSystem: facts.operatingSystem,
      architecture: facts.architecture,
      ...(facts.swapBytes > 0 ? { swap: { capacity: facts.swapBytes } } : {}),
    },
    images: images(input),
    ...(input.handlers.length > 0
      ? {
          runtimeHandlers: input.handlers.map(({ name, recursiveReadOnlyMounts, userNamespaces }) => ({
            name,
            features: { recursiveReadOnlyMounts, userNamespaces },
          })),
        }
      : {}),
    features: { supplementalGroupsPolicy: input.supplementalGroupsPolicy },
    declaredFeatures: declaredFeatures.filter((feature) => isGateOn(configuration.featureGates, feature)),
  };
}

/** What Pods and the API server may count on here, by the names of gates. */
const declaredFeatures = ['ExtendWebSocketsToKubelet', 'RestartAllContainersOnContainerExits'];

function asQuantities(amounts: Readonly<Record<string, number>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, String(amount)]));
}

function addresses({ addresses: ips, hostname }: NodeStatusInput): NodeAddress[] {
  return [...ips.map((address) => ({ type: 'InternalIP', address })), { type: 'Hostname', address: hostname }];
}

const maxNamesPerImage = 5;

/** The largest first, digests before tags. */
function images({ images: all, configuration }: NodeStatusInput): ContainerImage[] {
  const limit = configuration.nodeStatusMaxImages;
  return [...all]
    .sort((a, b) => b.sizeBytes - a.sizeBytes || (a.id < b.id ? -1 : 1))
    .slice(0, limit < 0 ? undefined : limit)
    .map(({ repoDigests, repoTags, sizeBytes }) => ({
      names: [...repoDigests, ...repoTags].slice(0, maxNamesPerImage),
      sizeBytes,
    }));
}

type ConditionDraft = Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>;

function conditions(input: NodeStatusInput): readonly NodeCondition[] {
  const now = formatTime(input.nowMs);
  const own = [...pressureConditions(input), readyCondition(input)].map((draft): NodeCondition => {
    const old = input.before?.conditions?.find(({ type }) => type === draft.type);
    return {
      ...draft,
      lastHeartbeatTime: now,
      lastTransitionTime: old?.status === draft.status ? (old.lastTransitionTime ?? now) : now,
    };
  });
  const others = (input.before?.conditions ?? []).filter(
    ({ type }) => !own.some((condition) => condition.type === type),
  );
  // NetworkUnavailable and the like stand before ours, as in upstream.
  return [...others, ...own];
}

function pressureConditions({ pressures }: NodeStatusInput): ConditionDraft[] {
  const condition = (
    type: PressureCondition,
    yes: readonly [string, string],
    no: readonly [string, string],
  ): ConditionDraft => {
    const [reason, message] = pressures.has(type) ? yes : no;
    return { type, status: pressures.has(type) ? 'True' : 'False', reason, message };
  };
  return [
    condition(
      'MemoryPressure',
      ['KubeletHasInsufficientMemory', 'kubelet has insufficient memory available'],
      ['KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
    ),
    condition(
      'DiskPressure',
      ['KubeletHasDiskPressure', 'kubelet has disk pressure'],
      ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
    ),
    condition(
      'PIDPressure',
      ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available'],
      ['KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
    ),
  ];
}

function readyCondition({ problems }: NodeStatusInput): ConditionDraft {
  const type = 'Ready';
  if (problems.length === 0)
    return { type, status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' };
  return { type, status: 'False', reason: 'KubeletNotReady', message: aggregate(problems) };
}

/** Whether two statuses differ in more than the times of their conditions. */
export function withoutHeartbeats(status: NodeStatus): NodeStatus {
  const conditions = status.conditions?.map(({ lastHeartbeatTime: _, ...condition }) => condition);
  return { ...status, conditions };
}
