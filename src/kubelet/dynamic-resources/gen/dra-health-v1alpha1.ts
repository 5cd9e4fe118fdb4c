/** Drivers that tell how claimed devices fare, v1alpha1. Derived from facts/node-plugins/dra-health-v1alpha1.json by scripts/generate-grpc.ts: change the facts, not this file. */
import { type GrpcService, WireTable } from '../../grpc/codec.ts';

export type HealthStatus = 'UNKNOWN' | 'HEALTHY' | 'UNHEALTHY';

export type NodeWatchResourcesRequest = Readonly<Record<never, never>>;

export interface DeviceIdentifier {
  readonly poolName: string;
  readonly deviceName: string;
}

export interface DeviceHealth {
  readonly device?: DeviceIdentifier | undefined;
  readonly health: HealthStatus;
  readonly lastUpdatedTime: bigint;
  readonly healthCheckTimeoutSeconds: bigint;
  readonly message: string;
}

export interface NodeWatchResourcesResponse {
  readonly devices: readonly DeviceHealth[];
}

/** Message type by name, for the codec. */
export interface Messages {
  NodeWatchResourcesRequest: NodeWatchResourcesRequest;
  DeviceIdentifier: DeviceIdentifier;
  DeviceHealth: DeviceHealth;
  NodeWatchResourcesResponse: NodeWatchResourcesResponse;
}

export const wire = new WireTable<Messages>({
  messages: {
    NodeWatchResourcesRequest: [],
    DeviceIdentifier: [
      [1,"poolName","string","",0],
      [2,"deviceName","string","",0],
    ],
    DeviceHealth: [
      [1,"device","message","DeviceIdentifier",0],
      [2,"health","enum","HealthStatus",0],
      [3,"lastUpdatedTime","int64","",0],
      [4,"healthCheckTimeoutSeconds","int64","",0],
      [5,"message","string","",0],
    ],
    NodeWatchResourcesResponse: [
      [1,"devices","message","DeviceHealth",1],
    ],
  },
  enums: {
    HealthStatus: ["UNKNOWN","HEALTHY","UNHEALTHY"],
  },
});

export interface DRAResourceHealthMethods {
  NodeWatchResources: { request: NodeWatchResourcesRequest; response: NodeWatchResourcesResponse };
}

export const dRAResourceHealthService: GrpcService<DRAResourceHealthMethods> = {
  name: 'v1alpha1.DRAResourceHealth',
  wire,
  methods: {
    NodeWatchResources: { request: 'NodeWatchResourcesRequest', response: 'NodeWatchResourcesResponse', streams: true },
  },
};
