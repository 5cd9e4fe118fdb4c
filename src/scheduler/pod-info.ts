/** A Pod as the scheduler looks at it: what plugins ask of each Pod again and again, worked out once. */
import { podRequests, type ResourceAmounts } from '../api/core/v1/pod-resources.ts';
import type { ContainerPort, ContainerStatus, Pod, PodAffinityTerm } from '../api/gen/core-v1.ts';

/** Requests that a container without any is counted with when nodes are compared (upstream: 100m and 200Mi). */
const assumedRequests: ResourceAmounts = { cpu: 100, memory: 200 * 1024 * 1024 };

/** A Pod with what is worked out about it once. */
export interface PodInfo {
  /** Its newest version, all of which say the same of what follows. */
  pod: Pod;
  readonly key: string;
  readonly requests: ResourceAmounts;
  /** As `requests`, but at least the assumed ones per container: for scores only. */
  readonly scoredRequests: ResourceAmounts;
  readonly hostPorts: readonly ContainerPort[];
  readonly requiredAffinity: readonly PodAffinityTerm[];
  readonly requiredAntiAffinity: readonly PodAffinityTerm[];
  readonly hasAffinity: boolean;
}

export function podInfoOf(pod: Pod): PodInfo {
  const affinity = pod.spec.affinity;
  const containers = [
    ...pod.spec.containers,
    ...(pod.spec.initContainers ?? []).filter((c) => c.restartPolicy === 'Always'),
  ];
  return {
    pod,
    key: podKeyOf(pod),
    requests: podRequests(pod, { useStatus: true }),
    scoredRequests: podRequests(pod, { useStatus: true, missingRequests: assumedRequests }),
    hostPorts: containers.flatMap((container) => container.ports ?? []).filter((port) => (port.hostPort ?? 0) > 0),
    requiredAffinity: affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [],
    requiredAntiAffinity: affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [],
    hasAffinity: affinity?.podAffinity !== undefined || affinity?.podAntiAffinity !== undefined,
  };
}

/** Whether a version of a Pod leaves all that is worked out about it, and what else places are reckoned by, as the version before had it. */
export function standsAsBefore(pod: Pod, before: Pod): boolean {
  // Versions share what is equal in them, where a server of the same process tells of them.
  return (
    pod.spec === before.spec &&
    pod.metadata.labels === before.metadata.labels &&
    pod.metadata.deletionTimestamp === before.metadata.deletionTimestamp &&
    !tellsResources(pod) &&
    !tellsResources(before)
  );
}

/** Whether its status has a say in what it takes of a node. */
function tellsResources({ status }: Pod): boolean {
  if (!status) return false;
  const { resources, allocatedResources, containerStatuses = [], initContainerStatuses = [] } = status;
  const tells = (one: ContainerStatus) => one.resources !== undefined || one.allocatedResources !== undefined;
  return (
    (resources ?? allocatedResources) !== undefined ||
    containerStatuses.some(tells) ||
    initContainerStatuses.some(tells)
  );
}

export function podKeyOf({ metadata }: Pod): string {
  return metadata.uid ?? `${metadata.namespace}/${metadata.name}`;
}
