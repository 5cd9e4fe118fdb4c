/** The Container Storage Interface v1, as a node speaks it. Derived from facts/node-plugins/csi-v1.json by scripts/generate-grpc.ts: change the facts, not this file. */
import { type GrpcService, WireTable } from '../../grpc/codec.ts';

export type PluginCapabilityServiceType = 'UNKNOWN' | 'CONTROLLER_SERVICE' | 'VOLUME_ACCESSIBILITY_CONSTRAINTS' | 'GROUP_CONTROLLER_SERVICE';

export type PluginCapabilityVolumeExpansionType = 'UNKNOWN' | 'ONLINE' | 'OFFLINE';

export type VolumeCapabilityAccessModeMode = 'UNKNOWN' | 'SINGLE_NODE_WRITER' | 'SINGLE_NODE_READER_ONLY' | 'MULTI_NODE_READER_ONLY' | 'MULTI_NODE_SINGLE_WRITER' | 'MULTI_NODE_MULTI_WRITER' | 'SINGLE_NODE_SINGLE_WRITER' | 'SINGLE_NODE_MULTI_WRITER';

export type VolumeUsageUnit = 'UNKNOWN' | 'BYTES' | 'INODES';

export type NodeServiceCapabilityRPCType = 'UNKNOWN' | 'STAGE_UNSTAGE_VOLUME' | 'GET_VOLUME_STATS' | 'EXPAND_VOLUME' | 'VOLUME_CONDITION' | 'SINGLE_NODE_MULTI_WRITER' | 'VOLUME_MOUNT_GROUP';

export type GetPluginInfoRequest = Readonly<Record<never, never>>;

export interface GetPluginInfoResponse {
  readonly name: string;
  readonly vendorVersion: string;
  readonly manifest: Readonly<Record<string, string>>;
}

export type GetPluginCapabilitiesRequest = Readonly<Record<never, never>>;

export interface GetPluginCapabilitiesResponse {
  readonly capabilities: readonly PluginCapability[];
}

export interface PluginCapability {
  readonly service?: PluginCapabilityService | undefined;
  readonly volumeExpansion?: PluginCapabilityVolumeExpansion | undefined;
}

export interface PluginCapabilityService {
  readonly type: PluginCapabilityServiceType;
}

export interface PluginCapabilityVolumeExpansion {
  readonly type: PluginCapabilityVolumeExpansionType;
}

export type ProbeRequest = Readonly<Record<never, never>>;

export interface ProbeResponse {
  readonly ready?: BoolValue | undefined;
}

export interface VolumeCapability {
  readonly block?: VolumeCapabilityBlockVolume | undefined;
  readonly mount?: VolumeCapabilityMountVolume | undefined;
  readonly accessMode?: VolumeCapabilityAccessMode | undefined;
}

export type VolumeCapabilityBlockVolume = Readonly<Record<never, never>>;

export interface VolumeCapabilityMountVolume {
  readonly fsType: string;
  readonly mountFlags: readonly string[];
  readonly volumeMountGroup: string;
}

export interface VolumeCapabilityAccessMode {
  readonly mode: VolumeCapabilityAccessModeMode;
}

export interface CapacityRange {
  readonly requiredBytes: bigint;
  readonly limitBytes: bigint;
}

export interface Topology {
  readonly segments: Readonly<Record<string, string>>;
}

export interface NodeStageVolumeRequest {
  readonly volumeId: string;
  readonly publishContext: Readonly<Record<string, string>>;
  readonly stagingTargetPath: string;
  readonly volumeCapability?: VolumeCapability | undefined;
  readonly secrets: Readonly<Record<string, string>>;
  readonly volumeContext: Readonly<Record<string, string>>;
}

export type NodeStageVolumeResponse = Readonly<Record<never, never>>;

export interface NodeUnstageVolumeRequest {
  readonly volumeId: string;
  readonly stagingTargetPath: string;
}

export type NodeUnstageVolumeResponse = Readonly<Record<never, never>>;

export interface NodePublishVolumeRequest {
  readonly volumeId: string;
  readonly publishContext: Readonly<Record<string, string>>;
  readonly stagingTargetPath: string;
  readonly targetPath: string;
  readonly volumeCapability?: VolumeCapability | undefined;
  readonly readonly: boolean;
  readonly secrets: Readonly<Record<string, string>>;
  readonly volumeContext: Readonly<Record<string, string>>;
}

export type NodePublishVolumeResponse = Readonly<Record<never, never>>;

export interface NodeUnpublishVolumeRequest {
  readonly volumeId: string;
  readonly targetPath: string;
}

export type NodeUnpublishVolumeResponse = Readonly<Record<never, never>>;

export interface NodeGetVolumeStatsRequest {
  readonly volumeId: string;
  readonly volumePath: string;
  readonly stagingTargetPath: string;
}

export interface NodeGetVolumeStatsResponse {
  readonly usage: readonly VolumeUsage[];
  readonly volumeCondition?: VolumeCondition | undefined;
}

export interface VolumeUsage {
  readonly available: bigint;
  readonly total: bigint;
  readonly used: bigint;
  readonly unit: VolumeUsageUnit;
}

export interface VolumeCondition {
  readonly abnormal: boolean;
  readonly message: string;
}

export type NodeGetCapabilitiesRequest = Readonly<Record<never, never>>;

export interface NodeGetCapabilitiesResponse {
  readonly capabilities: readonly NodeServiceCapability[];
}

export interface NodeServiceCapability {
  readonly rpc?: NodeServiceCapabilityRPC | undefined;
}

export interface NodeServiceCapabilityRPC {
  readonly type: NodeServiceCapabilityRPCType;
}

export type NodeGetInfoRequest = Readonly<Record<never, never>>;

export interface NodeGetInfoResponse {
  readonly nodeId: string;
  readonly maxVolumesPerNode: bigint;
  readonly accessibleTopology?: Topology | undefined;
}

export interface NodeExpandVolumeRequest {
  readonly volumeId: string;
  readonly volumePath: string;
  readonly capacityRange?: CapacityRange | undefined;
  readonly stagingTargetPath: string;
  readonly volumeCapability?: VolumeCapability | undefined;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface NodeExpandVolumeResponse {
  readonly capacityBytes: bigint;
}

export interface BoolValue {
  readonly value: boolean;
}

/** Message type by name, for the codec. */
export interface Messages {
  GetPluginInfoRequest: GetPluginInfoRequest;
  GetPluginInfoResponse: GetPluginInfoResponse;
  GetPluginCapabilitiesRequest: GetPluginCapabilitiesRequest;
  GetPluginCapabilitiesResponse: GetPluginCapabilitiesResponse;
  PluginCapability: PluginCapability;
  PluginCapabilityService: PluginCapabilityService;
  PluginCapabilityVolumeExpansion: PluginCapabilityVolumeExpansion;
  ProbeRequest: ProbeRequest;
  ProbeResponse: ProbeResponse;
  VolumeCapability: VolumeCapability;
  VolumeCapabilityBlockVolume: VolumeCapabilityBlockVolume;
  VolumeCapabilityMountVolume: VolumeCapabilityMountVolume;
  VolumeCapabilityAccessMode: VolumeCapabilityAccessMode;
  CapacityRange: CapacityRange;
  Topology: Topology;
  NodeStageVolumeRequest: NodeStageVolumeRequest;
  NodeStageVolumeResponse: NodeStageVolumeResponse;
  NodeUnstageVolumeRequest: NodeUnstageVolumeRequest;
  NodeUnstageVolumeResponse: NodeUnstageVolumeResponse;
  NodePublishVolumeRequest: NodePublishVolumeRequest;
  NodePublishVolumeResponse: NodePublishVolumeResponse;
  NodeUnpublishVolumeRequest: NodeUnpublishVolumeRequest;
  NodeUnpublishVolumeResponse: NodeUnpublishVolumeResponse;
  NodeGetVolumeStatsRequest: NodeGetVolumeStatsRequest;
  NodeGetVolumeStatsResponse: NodeGetVolumeStatsResponse;
  VolumeUsage: VolumeUsage;
  VolumeCondition: VolumeCondition;
  NodeGetCapabilitiesRequest: NodeGetCapabilitiesRequest;
  NodeGetCapabilitiesResponse: NodeGetCapabilitiesResponse;
  NodeServiceCapability: NodeServiceCapability;
  NodeServiceCapabilityRPC: NodeServiceCapabilityRPC;
  NodeGetInfoRequest: NodeGetInfoRequest;
  NodeGetInfoResponse: NodeGetInfoResponse;
  NodeExpandVolumeRequest: NodeExpandVolumeRequest;
  NodeExpandVolumeResponse: NodeExpandVolumeResponse;
  BoolValue: BoolValue;
}

export const wire = new WireTable<Messages>({
  messages: {
    GetPluginInfoRequest: [],
    GetPluginInfoResponse: [
      [1,"name","string","",0],
      [2,"vendorVersion","string","",0],
      [3,"manifest","map","",0],
    ],
    GetPluginCapabilitiesRequest: [],
    GetPluginCapabilitiesResponse: [
      [1,"capabilities","message","PluginCapability",1],
    ],
    PluginCapability: [
      [1,"service","message","PluginCapabilityService",0],
      [2,"volumeExpansion","message","PluginCapabilityVolumeExpansion",0],
    ],
    PluginCapabilityService: [
      [1,"type","enum","PluginCapabilityServiceType",0],
    ],
    PluginCapabilityVolumeExpansion: [
      [1,"type","enum","PluginCapabilityVolumeExpansionType",0],
    ],
    ProbeRequest: [],
    ProbeResponse: [
      [1,"ready","message","BoolValue",0],
    ],
    VolumeCapability: [
      [1,"block","message","VolumeCapabilityBlockVolume",0],
      [2,"mount","message","VolumeCapabilityMountVolume",0],
      [3,"accessMode","message","VolumeCapabilityAccessMode",0],
    ],
    VolumeCapabilityBlockVolume: [],
    VolumeCapabilityMountVolume: [
      [1,"fsType","string","",0],
      [2,"mountFlags","string","",1],
      [3,"volumeMountGroup","string","",0],
    ],
    VolumeCapabilityAccessMode: [
      [1,"mode","enum","VolumeCapabilityAccessModeMode",0],
    ],
    CapacityRange: [
      [1,"requiredBytes","int64","",0],
      [2,"limitBytes","int64","",0],
    ],
    Topology: [
      [1,"segments","map","",0],
    ],
    NodeStageVolumeRequest: [
      [1,"volumeId","string","",0],
      [2,"publishContext","map","",0],
      [3,"stagingTargetPath","string","",0],
      [4,"volumeCapability","message","VolumeCapability",0],
      [5,"secrets","map","",0],
      [6,"volumeContext","map","",0],
    ],
    NodeStageVolumeResponse: [],
    NodeUnstageVolumeRequest: [
      [1,"volumeId","string","",0],
      [2,"stagingTargetPath","string","",0],
    ],
    NodeUnstageVolumeResponse: [],
    NodePublishVolumeRequest: [
      [1,"volumeId","string","",0],
      [2,"publishContext","map","",0],
      [3,"stagingTargetPath","string","",0],
      [4,"targetPath","string","",0],
      [5,"volumeCapability","message","VolumeCapability",0],
      [6,"readonly","bool","",0],
      [7,"secrets","map","",0],
      [8,"volumeContext","map","",0],
    ],
    NodePublishVolumeResponse: [],
    NodeUnpublishVolumeRequest: [
      [1,"volumeId","string","",0],
      [2,"targetPath","string","",0],
    ],
    NodeUnpublishVolumeResponse: [],
    NodeGetVolumeStatsRequest: [
      [1,"volumeId","string","",0],
      [2,"volumePath","string","",0],
      [3,"stagingTargetPath","string","",0],
    ],
    NodeGetVolumeStatsResponse: [
      [1,"usage","message","VolumeUsage",1],
      [2,"volumeCondition","message","VolumeCondition",0],
    ],
    VolumeUsage: [
      [1,"available","int64","",0],
      [2,"total","int64","",0],
      [3,"used","int64","",0],
      [4,"unit","enum","VolumeUsageUnit",0],
    ],
    VolumeCondition: [
      [1,"abnormal","bool","",0],
      [2,"message","string","",0],
    ],
    NodeGetCapabilitiesRequest: [],
    NodeGetCapabilitiesResponse: [
      [1,"capabilities","message","NodeServiceCapability",1],
    ],
    NodeServiceCapability: [
      [1,"rpc","message","NodeServiceCapabilityRPC",0],
    ],
    NodeServiceCapabilityRPC: [
      [1,"type","enum","NodeServiceCapabilityRPCType",0],
    ],
    NodeGetInfoRequest: [],
    NodeGetInfoResponse: [
      [1,"nodeId","string","",0],
      [2,"maxVolumesPerNode","int64","",0],
      [3,"accessibleTopology","message","Topology",0],
    ],
    NodeExpandVolumeRequest: [
      [1,"volumeId","string","",0],
      [2,"volumePath","string","",0],
      [3,"capacityRange","message","CapacityRange",0],
      [4,"stagingTargetPath","string","",0],
      [5,"volumeCapability","message","VolumeCapability",0],
      [6,"secrets","map","",0],
    ],
    NodeExpandVolumeResponse: [
      [1,"capacityBytes","int64","",0],
    ],
    BoolValue: [
      [1,"value","bool","",0],
    ],
  },
  enums: {
    PluginCapabilityServiceType: ["UNKNOWN","CONTROLLER_SERVICE","VOLUME_ACCESSIBILITY_CONSTRAINTS","GROUP_CONTROLLER_SERVICE"],
    PluginCapabilityVolumeExpansionType: ["UNKNOWN","ONLINE","OFFLINE"],
    VolumeCapabilityAccessModeMode: ["UNKNOWN","SINGLE_NODE_WRITER","SINGLE_NODE_READER_ONLY","MULTI_NODE_READER_ONLY","MULTI_NODE_SINGLE_WRITER","MULTI_NODE_MULTI_WRITER","SINGLE_NODE_SINGLE_WRITER","SINGLE_NODE_MULTI_WRITER"],
    VolumeUsageUnit: ["UNKNOWN","BYTES","INODES"],
    NodeServiceCapabilityRPCType: ["UNKNOWN","STAGE_UNSTAGE_VOLUME","GET_VOLUME_STATS","EXPAND_VOLUME","VOLUME_CONDITION","SINGLE_NODE_MULTI_WRITER","VOLUME_MOUNT_GROUP"],
  },
});

export interface IdentityMethods {
  GetPluginInfo: { request: GetPluginInfoRequest; response: GetPluginInfoResponse };
  GetPluginCapabilities: { request: GetPluginCapabilitiesRequest; response: GetPluginCapabilitiesResponse };
  Probe: { request: ProbeRequest; response: ProbeResponse };
}

export const identityService: GrpcService<IdentityMethods> = {
  name: 'csi.v1.Identity',
  wire,
  methods: {
    GetPluginInfo: { request: 'GetPluginInfoRequest', response: 'GetPluginInfoResponse' },
    GetPluginCapabilities: { request: 'GetPluginCapabilitiesRequest', response: 'GetPluginCapabilitiesResponse' },
    Probe: { request: 'ProbeRequest', response: 'ProbeResponse' },
  },
};

export interface NodeMethods {
  NodeStageVolume: { request: NodeStageVolumeRequest; response: NodeStageVolumeResponse };
  NodeUnstageVolume: { request: NodeUnstageVolumeRequest; response: NodeUnstageVolumeResponse };
  NodePublishVolume: { request: NodePublishVolumeRequest; response: NodePublishVolumeResponse };
  NodeUnpublishVolume: { request: NodeUnpublishVolumeRequest; response: NodeUnpublishVolumeResponse };
  NodeGetVolumeStats: { request: NodeGetVolumeStatsRequest; response: NodeGetVolumeStatsResponse };
  NodeExpandVolume: { request: NodeExpandVolumeRequest; response: NodeExpandVolumeResponse };
  NodeGetCapabilities: { request: NodeGetCapabilitiesRequest; response: NodeGetCapabilitiesResponse };
  NodeGetInfo: { request: NodeGetInfoRequest; response: NodeGetInfoResponse };
}

export const nodeService: GrpcService<NodeMethods> = {
  name: 'csi.v1.Node',
  wire,
  methods: {
    NodeStageVolume: { request: 'NodeStageVolumeRequest', response: 'NodeStageVolumeResponse' },
    NodeUnstageVolume: { request: 'NodeUnstageVolumeRequest', response: 'NodeUnstageVolumeResponse' },
    NodePublishVolume: { request: 'NodePublishVolumeRequest', response: 'NodePublishVolumeResponse' },
    NodeUnpublishVolume: { request: 'NodeUnpublishVolumeRequest', response: 'NodeUnpublishVolumeResponse' },
    NodeGetVolumeStats: { request: 'NodeGetVolumeStatsRequest', response: 'NodeGetVolumeStatsResponse' },
    NodeExpandVolume: { request: 'NodeExpandVolumeRequest', response: 'NodeExpandVolumeResponse' },
    NodeGetCapabilities: { request: 'NodeGetCapabilitiesRequest', response: 'NodeGetCapabilitiesResponse' },
    NodeGetInfo: { request: 'NodeGetInfoRequest', response: 'NodeGetInfoResponse' },
  },
};
