/**
 * What containers of the node hold for themselves, told to monitors and schedulers of devices on a socket: `v1`, and the part of it that was
 * `v1alpha1`. A hundred questions a second, ten at once; more are refused.
 */
import { join } from 'node:path';
import { isSidecar } from '../../api/core/v1/pod-status.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import { GrpcError, grpcCodes, grpcServer } from '../../base/grpc/index.ts';
import { TokenBucket } from '../../reconcile/token-bucket.ts';
import type { NodeDevices } from '../devices/node-devices.ts';
import type { DynamicResources } from '../dynamic-resources/dynamic-resources.ts';
import type { PreparedClaim } from '../dynamic-resources/prepared-claims.ts';
import type { Outgoing } from '../grpc/codec.ts';
import { handleTable } from '../grpc/table-handlers.ts';
import type { SocketFolder } from '../host/host.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { MemoryBlock } from '../resource-managers/memory-allocator.ts';
import type { NodeResources } from '../resource-managers/node-resources.ts';
import {
  type ContainerDevices,
  type ContainerMemory,
  type ContainerResources,
  type DynamicResource,
  type PodResources,
  podResourcesListerService,
} from './gen/pod-resources-v1.ts';

export interface PodResourcesOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly folder: SocketFolder;
  readonly devices?: NodeDevices | undefined;
  readonly dynamicResources?: DynamicResources | undefined;
  readonly resources?: NodeResources | undefined;
  readonly metrics?: KubeletMetrics | undefined;
  /** That run, are about to, or are ending. */
  activePods(): readonly Pod[];
  pod(namespace: string, name: string): Pod | undefined;
}

const socketName = 'kubelet.sock';
const olderName = 'v1alpha1.PodResourcesLister';
const limit = { perSecond: 100, burst: 10 };

/** Resolves when it answers; until the signal is aborted. */
export async function servePodResources(options: PodResourcesOptions): Promise<void> {
  const { activePods, clock, devices, folder, metrics, pod, resources, signal } = options;
  const bucket = new TokenBucket(clock, limit);
  const limited = async <T>(answer: () => T): Promise<T> => {
    if (!bucket.tryTake()) throw new GrpcError(grpcCodes.resourceExhausted, 'rejected by rate limit');
    return answer();
  };
  const counted = (call?: 'list' | 'get_allocatable' | 'get', version = 'v1') => {
    const labels = { server_api_version: version };
    metrics?.count('pod_resources_endpoint_requests_total', labels);
    if (call) metrics?.count(`pod_resources_endpoint_requests_${call}`, labels);
  };
  await folder.clear();
  const server = await grpcServer();
  handleTable(server, podResourcesListerService, {
    List: () =>
      limited(() => {
        counted('list');
        return { podResources: activePods().map((one) => podResources(one, options)) };
      }),
    GetAllocatableResources: () =>
      limited(() => {
        counted('get_allocatable');
        return {
          devices: [...(devices?.allocatable() ?? [])].flatMap(([resourceName, list]) =>
            list.flatMap(({ ID, topology }) =>
              containerDevices(
                resourceName,
                ID,
                topology?.nodes.map((node) => node.ID),
              ),
            ),
          ),
          cpuIds: resources?.allocatableCpus.map(BigInt) ?? [],
          memory: resources?.allocatableMemory.map(containerMemory) ?? [],
        };
      }),
    Get: ({ podName, podNamespace }) =>
      limited(() => {
        counted('get');
        const found = pod(podNamespace, podName);
        if (!found) {
          metrics?.count('pod_resources_endpoint_errors_get', { server_api_version: 'v1' });
          throw new Error(`pod ${podName} in namespace ${podNamespace} not found`);
        }
        return { podResources: podResources(found, options) };
      }),
  });
  const older: typeof podResourcesListerService = { ...podResourcesListerService, name: olderName };
  handleTable(server, older, {
    List: () =>
      limited(() => {
        counted(undefined, 'v1alpha1');
        return { podResources: activePods().map((one) => devicesAlone(one, options)) };
      }),
  });
  await server.listen(`unix://${join(folder.path, socketName)}`);
  if (signal.aborted) server.close();
  else signal.addEventListener('abort', () => server.close(), { once: true });
}

type Holders = Pick<PodResourcesOptions, 'devices' | 'dynamicResources' | 'resources'>;

/** Init containers that have ended hold nothing. */
function podResources(pod: Pod, holders: Holders): Outgoing<PodResources> {
  const { name = '', namespace = '' } = pod.metadata;
  const containers = [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers];
  return { name, namespace, containers: containers.map((container) => containerResources(pod, container, holders)) };
}

function containerResources(
  pod: Pod,
  container: Container,
  { devices, dynamicResources, resources }: Holders,
): Outgoing<ContainerResources> {
  const { uid = '' } = pod.metadata;
  const { name } = container;
  return {
    name,
    devices: heldDevices(uid, name, devices),
    cpuIds: resources?.exclusiveCpus(uid, name).map(BigInt) ?? [],
    memory: resources?.memoryOf(uid, name).map(containerMemory) ?? [],
    dynamicResources: dynamicResources?.claimsOf(pod, container).map(dynamicResource) ?? [],
  };
}

function dynamicResource({ drivers, name, namespace }: PreparedClaim): Outgoing<DynamicResource> {
  return {
    claimName: name,
    claimNamespace: namespace,
    claimResources: [...drivers].flatMap(([driverName, devices]) =>
      devices.map(({ cdiIds, device, pool, shareId }) => ({
        driverName,
        poolName: pool,
        deviceName: device,
        cdiDevices: cdiIds.map((id) => ({ name: id })),
        shareId,
      })),
    ),
  };
}

function devicesAlone(pod: Pod, { devices }: Holders): Outgoing<PodResources> {
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  const containers = pod.spec.containers.map((container) => ({
    name: container.name,
    devices: heldDevices(uid, container.name, devices).map(({ deviceIds, resourceName }) => ({
      resourceName,
      deviceIds,
    })),
  }));
  return { name, namespace, containers };
}

function heldDevices(uid: string, container: string, devices: NodeDevices | undefined): Outgoing<ContainerDevices>[] {
  return [...(devices?.heldBy(uid, container) ?? [])].flatMap(([resourceName, byNode]) =>
    [...byNode].flatMap(([node, ids]) =>
      ids.flatMap((id) => containerDevices(resourceName, id, node < 0 ? [] : [BigInt(node)])),
    ),
  );
}

/** One for each memory node that it is close to; one where it is close to none. */
function containerDevices(
  resourceName: string,
  id: string,
  nodes: readonly bigint[] = [],
): Outgoing<ContainerDevices>[] {
  const alone = { resourceName, deviceIds: [id] };
  return nodes.length === 0 ? [alone] : nodes.map((ID) => ({ ...alone, topology: { nodes: [{ ID }] } }));
}

function containerMemory({ numaAffinity, size, type }: MemoryBlock): Outgoing<ContainerMemory> {
  return { memoryType: type, size: BigInt(size), topology: { nodes: numaAffinity.map((id) => ({ ID: BigInt(id) })) } };
}
