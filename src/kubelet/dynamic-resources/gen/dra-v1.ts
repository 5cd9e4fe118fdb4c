/** Drivers that make claimed devices ready, v1. Derived from facts/node-plugins/dra-v1.json by scripts/generate-grpc.ts: change the facts, not this file. */
import { type GrpcService, WireTable } from '../../grpc/codec.ts';

export interface NodePrepareResourcesRequest {
  readonly claims: readonly Claim[];
}

export interface NodePrepareResourcesResponse {
  readonly claims: readonly PreparedEntry[];
}

export interface PreparedEntry {
  readonly key: string;
  readonly value?: NodePrepareResourceResponse | undefined;
}

export interface NodePrepareResourceResponse {
  readonly devices: readonly Device[];
  readonly error: string;
}

export interface Device {
  readonly requestNames: readonly string[];
  readonly poolName: string;
  readonly deviceName: string;
  readonly cdiDeviceIds: readonly string[];
  readonly shareId: string;
}

export interface NodeUnprepareResourcesRequest {
  readonly claims: readonly Claim[];
}

export interface NodeUnprepareResourcesResponse {
  readonly claims: readonly UnpreparedEntry[];
}

export interface UnpreparedEntry {
  readonly key: string;
  readonly value?: NodeUnprepareResourceResponse | undefined;
}

export interface NodeUnprepareResourceResponse {
  readonly error: string;
}

export interface Claim {
  readonly namespace: string;
  readonly uid: string;
  readonly name: string;
}

/** Message type by name, for the codec. */
export interface Messages {
  NodePrepareResourcesRequest: NodePrepareResourcesRequest;
  NodePrepareResourcesResponse: NodePrepareResourcesResponse;
  PreparedEntry: PreparedEntry;
  NodePrepareResourceResponse: NodePrepareResourceResponse;
  Device: Device;
  NodeUnprepareResourcesRequest: NodeUnprepareResourcesRequest;
  NodeUnprepareResourcesResponse: NodeUnprepareResourcesResponse;
  UnpreparedEntry: UnpreparedEntry;
  NodeUnprepareResourceResponse: NodeUnprepareResourceResponse;
  Claim: Claim;
}

export const wire = new WireTable<Messages>({
  messages: {
    NodePrepareResourcesRequest: [
      [1,"claims","message","Claim",1],
    ],
    NodePrepareResourcesResponse: [
      [1,"claims","message","PreparedEntry",1],
    ],
    PreparedEntry: [
      [1,"key","string","",0],
      [2,"value","message","NodePrepareResourceResponse",0],
    ],
    NodePrepareResourceResponse: [
      [1,"devices","message","Device",1],
      [2,"error","string","",0],
    ],
    Device: [
      [1,"requestNames","string","",1],
      [2,"poolName","string","",0],
      [3,"deviceName","string","",0],
      [4,"cdiDeviceIds","string","",1],
      [5,"shareId","string","",0],
    ],
    NodeUnprepareResourcesRequest: [
      [1,"claims","message","Claim",1],
    ],
    NodeUnprepareResourcesResponse: [
      [1,"claims","message","UnpreparedEntry",1],
    ],
    UnpreparedEntry: [
      [1,"key","string","",0],
      [2,"value","message","NodeUnprepareResourceResponse",0],
    ],
    NodeUnprepareResourceResponse: [
      [1,"error","string","",0],
    ],
    Claim: [
      [1,"namespace","string","",0],
      [2,"uid","string","",0],
      [3,"name","string","",0],
    ],
  },
  enums: {
  },
});

export interface DRAPluginMethods {
  NodePrepareResources: { request: NodePrepareResourcesRequest; response: NodePrepareResourcesResponse };
  NodeUnprepareResources: { request: NodeUnprepareResourcesRequest; response: NodeUnprepareResourcesResponse };
}

export const dRAPluginService: GrpcService<DRAPluginMethods> = {
  name: 'k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin',
  wire,
  methods: {
    NodePrepareResources: { request: 'NodePrepareResourcesRequest', response: 'NodePrepareResourcesResponse' },
    NodeUnprepareResources: { request: 'NodeUnprepareResourcesRequest', response: 'NodeUnprepareResourcesResponse' },
  },
};
