/** Plugins that have devices for containers, v1beta1. Derived from facts/node-plugins/device-plugin-v1beta1.json by scripts/generate-grpc.ts: change the facts, not this file. */
import { type GrpcService, WireTable } from '../../grpc/codec.ts';

export interface DevicePluginOptions {
  readonly preStartRequired: boolean;
  readonly getPreferredAllocationAvailable: boolean;
}

export interface RegisterRequest {
  readonly version: string;
  readonly endpoint: string;
  readonly resourceName: string;
  readonly options?: DevicePluginOptions | undefined;
}

export type Empty = Readonly<Record<never, never>>;

export interface ListAndWatchResponse {
  readonly devices: readonly Device[];
}

export interface TopologyInfo {
  readonly nodes: readonly NUMANode[];
}

export interface NUMANode {
  readonly ID: bigint;
}

export interface Device {
  readonly ID: string;
  readonly health: string;
  readonly topology?: TopologyInfo | undefined;
}

export interface PreStartContainerRequest {
  readonly devicesIds: readonly string[];
}

export type PreStartContainerResponse = Readonly<Record<never, never>>;

export interface PreferredAllocationRequest {
  readonly containerRequests: readonly ContainerPreferredAllocationRequest[];
}

export interface ContainerPreferredAllocationRequest {
  readonly availableDeviceIDs: readonly string[];
  readonly mustIncludeDeviceIDs: readonly string[];
  readonly allocationSize: number;
}

export interface PreferredAllocationResponse {
  readonly containerResponses: readonly ContainerPreferredAllocationResponse[];
}

export interface ContainerPreferredAllocationResponse {
  readonly deviceIDs: readonly string[];
}

export interface AllocateRequest {
  readonly containerRequests: readonly ContainerAllocateRequest[];
}

export interface ContainerAllocateRequest {
  readonly devicesIds: readonly string[];
}

export interface CDIDevice {
  readonly name: string;
}

export interface AllocateResponse {
  readonly containerResponses: readonly ContainerAllocateResponse[];
}

export interface ContainerAllocateResponse {
  readonly envs: Readonly<Record<string, string>>;
  readonly mounts: readonly Mount[];
  readonly devices: readonly DeviceSpec[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly cdiDevices: readonly CDIDevice[];
}

export interface Mount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readOnly: boolean;
}

export interface DeviceSpec {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly permissions: string;
}

/** Message type by name, for the codec. */
export interface Messages {
  DevicePluginOptions: DevicePluginOptions;
  RegisterRequest: RegisterRequest;
  Empty: Empty;
  ListAndWatchResponse: ListAndWatchResponse;
  TopologyInfo: TopologyInfo;
  NUMANode: NUMANode;
  Device: Device;
  PreStartContainerRequest: PreStartContainerRequest;
  PreStartContainerResponse: PreStartContainerResponse;
  PreferredAllocationRequest: PreferredAllocationRequest;
  ContainerPreferredAllocationRequest: ContainerPreferredAllocationRequest;
  PreferredAllocationResponse: PreferredAllocationResponse;
  ContainerPreferredAllocationResponse: ContainerPreferredAllocationResponse;
  AllocateRequest: AllocateRequest;
  ContainerAllocateRequest: ContainerAllocateRequest;
  CDIDevice: CDIDevice;
  AllocateResponse: AllocateResponse;
  ContainerAllocateResponse: ContainerAllocateResponse;
  Mount: Mount;
  DeviceSpec: DeviceSpec;
}

export const wire = new WireTable<Messages>({
  messages: {
    DevicePluginOptions: [
      [1,"preStartRequired","bool","",0],
      [2,"getPreferredAllocationAvailable","bool","",0],
    ],
    RegisterRequest: [
      [1,"version","string","",0],
      [2,"endpoint","string","",0],
      [3,"resourceName","string","",0],
      [4,"options","message","DevicePluginOptions",0],
    ],
    Empty: [],
    ListAndWatchResponse: [
      [1,"devices","message","Device",1],
    ],
    TopologyInfo: [
      [1,"nodes","message","NUMANode",1],
    ],
    NUMANode: [
      [1,"ID","int64","",0],
    ],
    Device: [
      [1,"ID","string","",0],
      [2,"health","string","",0],
      [3,"topology","message","TopologyInfo",0],
    ],
    PreStartContainerRequest: [
      [1,"devicesIds","string","",1],
    ],
    PreStartContainerResponse: [],
    PreferredAllocationRequest: [
      [1,"containerRequests","message","ContainerPreferredAllocationRequest",1],
    ],
    ContainerPreferredAllocationRequest: [
      [1,"availableDeviceIDs","string","",1],
      [2,"mustIncludeDeviceIDs","string","",1],
      [3,"allocationSize","int32","",0],
    ],
    PreferredAllocationResponse: [
      [1,"containerResponses","message","ContainerPreferredAllocationResponse",1],
    ],
    ContainerPreferredAllocationResponse: [
      [1,"deviceIDs","string","",1],
    ],
    AllocateRequest: [
      [1,"containerRequests","message","ContainerAllocateRequest",1],
    ],
    ContainerAllocateRequest: [
      [1,"devicesIds","string","",1],
    ],
    CDIDevice: [
      [1,"name","string","",0],
    ],
    AllocateResponse: [
      [1,"containerResponses","message","ContainerAllocateResponse",1],
    ],
    ContainerAllocateResponse: [
      [1,"envs","map","",0],
      [2,"mounts","message","Mount",1],
      [3,"devices","message","DeviceSpec",1],
      [4,"annotations","map","",0],
      [5,"cdiDevices","message","CDIDevice",1],
    ],
    Mount: [
      [1,"containerPath","string","",0],
      [2,"hostPath","string","",0],
      [3,"readOnly","bool","",0],
    ],
    DeviceSpec: [
      [1,"containerPath","string","",0],
      [2,"hostPath","string","",0],
      [3,"permissions","string","",0],
    ],
  },
  enums: {
  },
});

export interface RegistrationMethods {
  Register: { request: RegisterRequest; response: Empty };
}

export const registrationService: GrpcService<RegistrationMethods> = {
  name: 'v1beta1.Registration',
  wire,
  methods: {
    Register: { request: 'RegisterRequest', response: 'Empty' },
  },
};

export interface DevicePluginMethods {
  GetDevicePluginOptions: { request: Empty; response: DevicePluginOptions };
  ListAndWatch: { request: Empty; response: ListAndWatchResponse };
  GetPreferredAllocation: { request: PreferredAllocationRequest; response: PreferredAllocationResponse };
  Allocate: { request: AllocateRequest; response: AllocateResponse };
  PreStartContainer: { request: PreStartContainerRequest; response: PreStartContainerResponse };
}

export const devicePluginService: GrpcService<DevicePluginMethods> = {
  name: 'v1beta1.DevicePlugin',
  wire,
  methods: {
    GetDevicePluginOptions: { request: 'Empty', response: 'DevicePluginOptions' },
    ListAndWatch: { request: 'Empty', response: 'ListAndWatchResponse', streams: true },
    GetPreferredAllocation: { request: 'PreferredAllocationRequest', response: 'PreferredAllocationResponse' },
    Allocate: { request: 'AllocateRequest', response: 'AllocateResponse' },
    PreStartContainer: { request: 'PreStartContainerRequest', response: 'PreStartContainerResponse' },
  },
};
