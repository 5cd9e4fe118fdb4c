/** What containers of a node hold, told to other programs, v1. Derived from facts/node-plugins/pod-resources-v1.json by scripts/generate-grpc.ts: change the facts, not this file. */
import { type GrpcService, WireTable } from '../../grpc/codec.ts';

export type AllocatableResourcesRequest = Readonly<Record<never, never>>;

export interface AllocatableResourcesResponse {
  readonly devices: readonly ContainerDevices[];
  readonly cpuIds: readonly bigint[];
  readonly memory: readonly ContainerMemory[];
}

export type ListPodResourcesRequest = Readonly<Record<never, never>>;

export interface ListPodResourcesResponse {
  readonly podResources: readonly PodResources[];
}

export interface PodResources {
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly ContainerResources[];
}

export interface ContainerResources {
  readonly name: string;
  readonly devices: readonly ContainerDevices[];
  readonly cpuIds: readonly bigint[];
  readonly memory: readonly ContainerMemory[];
  readonly dynamicResources: readonly DynamicResource[];
}

export interface ContainerMemory {
  readonly memoryType: string;
  readonly size: bigint;
  readonly topology?: TopologyInfo | undefined;
}

export interface ContainerDevices {
  readonly resourceName: string;
  readonly deviceIds: readonly string[];
  readonly topology?: TopologyInfo | undefined;
}

export interface TopologyInfo {
  readonly nodes: readonly NUMANode[];
}

export interface NUMANode {
  readonly ID: bigint;
}

export interface DynamicResource {
  readonly claimName: string;
  readonly claimNamespace: string;
  readonly claimResources: readonly ClaimResource[];
}

export interface ClaimResource {
  readonly cdiDevices: readonly CDIDevice[];
  readonly driverName: string;
  readonly poolName: string;
  readonly deviceName: string;
  readonly shareId: string;
}

export interface CDIDevice {
  readonly name: string;
}

export interface GetPodResourcesRequest {
  readonly podName: string;
  readonly podNamespace: string;
}

export interface GetPodResourcesResponse {
  readonly podResources?: PodResources | undefined;
}

/** Message type by name, for the codec. */
export interface Messages {
  AllocatableResourcesRequest: AllocatableResourcesRequest;
  AllocatableResourcesResponse: AllocatableResourcesResponse;
  ListPodResourcesRequest: ListPodResourcesRequest;
  ListPodResourcesResponse: ListPodResourcesResponse;
  PodResources: PodResources;
  ContainerResources: ContainerResources;
  ContainerMemory: ContainerMemory;
  ContainerDevices: ContainerDevices;
  TopologyInfo: TopologyInfo;
  NUMANode: NUMANode;
  DynamicResource: DynamicResource;
  ClaimResource: ClaimResource;
  CDIDevice: CDIDevice;
  GetPodResourcesRequest: GetPodResourcesRequest;
  GetPodResourcesResponse: GetPodResourcesResponse;
}

export const wire = new WireTable<Messages>({
  messages: {
    AllocatableResourcesRequest: [],
    AllocatableResourcesResponse: [
      [1,"devices","message","ContainerDevices",1],
      [2,"cpuIds","int64","",1],
      [3,"memory","message","ContainerMemory",1],
    ],
    ListPodResourcesRequest: [],
    ListPodResourcesResponse: [
      [1,"podResources","message","PodResources",1],
    ],
    PodResources: [
      [1,"name","string","",0],
      [2,"namespace","string","",0],
      [3,"containers","message","ContainerResources",1],
    ],
    ContainerResources: [
      [1,"name","string","",0],
      [2,"devices","message","ContainerDevices",1],
      [3,"cpuIds","int64","",1],
      [4,"memory","message","ContainerMemory",1],
      [5,"dynamicResources","message","DynamicResource",1],
    ],
    ContainerMemory: [
      [1,"memoryType","string","",0],
      [2,"size","uint64","",0],
      [3,"topology","message","TopologyInfo",0],
    ],
    ContainerDevices: [
      [1,"resourceName","string","",0],
      [2,"deviceIds","string","",1],
      [3,"topology","message","TopologyInfo",0],
    ],
    TopologyInfo: [
      [1,"nodes","message","NUMANode",1],
    ],
    NUMANode: [
      [1,"ID","int64","",0],
    ],
    DynamicResource: [
      [2,"claimName","string","",0],
      [3,"claimNamespace","string","",0],
      [4,"claimResources","message","ClaimResource",1],
    ],
    ClaimResource: [
      [1,"cdiDevices","message","CDIDevice",1],
      [2,"driverName","string","",0],
      [3,"poolName","string","",0],
      [4,"deviceName","string","",0],
      [5,"shareId","string","",0],
    ],
    CDIDevice: [
      [1,"name","string","",0],
    ],
    GetPodResourcesRequest: [
      [1,"podName","string","",0],
      [2,"podNamespace","string","",0],
    ],
    GetPodResourcesResponse: [
      [1,"podResources","message","PodResources",0],
    ],
  },
  enums: {
  },
});

export interface PodResourcesListerMethods {
  List: { request: ListPodResourcesRequest; response: ListPodResourcesResponse };
  GetAllocatableResources: { request: AllocatableResourcesRequest; response: AllocatableResourcesResponse };
  Get: { request: GetPodResourcesRequest; response: GetPodResourcesResponse };
}

export const podResourcesListerService: GrpcService<PodResourcesListerMethods> = {
  name: 'v1.PodResourcesLister',
  wire,
  methods: {
    List: { request: 'ListPodResourcesRequest', response: 'ListPodResourcesResponse' },
    GetAllocatableResources: { request: 'AllocatableResourcesRequest', response: 'AllocatableResourcesResponse' },
    Get: { request: 'GetPodResourcesRequest', response: 'GetPodResourcesResponse' },
  },
};
