/** Types of resource/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as coreV1 from './core-v1.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type AllocationConfigSource = 'FromClass' | 'FromClaim';

export type DeviceAllocationMode = 'ExactCount' | 'All';

export type DeviceTaintEffect = 'None' | 'NoSchedule' | 'NoExecute';

export type DeviceTolerationOperator = 'Exists' | 'Equal';

export interface AllocatedDeviceStatus {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly shareID?: string | undefined;
  readonly conditions?: readonly metaV1.Condition[] | undefined;
  readonly data?: unknown | undefined;
  readonly networkData?: NetworkDeviceData | undefined;
}

export interface AllocationResult {
  readonly devices?: DeviceAllocationResult | undefined;
  readonly nodeSelector?: coreV1.NodeSelector | undefined;
  readonly allocationTimestamp?: string | undefined;
}

export interface CELDeviceSelector {
  readonly expression: string;
}

export interface CapacityRequestPolicy {
  readonly default?: string | undefined;
  readonly validValues?: readonly string[] | undefined;
  readonly validRange?: CapacityRequestPolicyRange | undefined;
}

export interface CapacityRequestPolicyRange {
  readonly min: string;
  readonly max?: string | undefined;
  readonly step?: string | undefined;
}

export interface CapacityRequirements {
  readonly requests?: Readonly<Record<string, string>> | undefined;
}

export interface Counter {
  readonly value: string;
}

export interface CounterSet {
  readonly name: string;
  readonly counters: Readonly<Record<string, Counter>>;
}

export interface Device {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, DeviceAttribute>> | undefined;
  readonly capacity?: Readonly<Record<string, DeviceCapacity>> | undefined;
  readonly consumesCounters?: readonly DeviceCounterConsumption[] | undefined;
  readonly nodeName?: string | undefined;
  readonly nodeSelector?: coreV1.NodeSelector | undefined;
  readonly allNodes?: boolean | undefined;
  readonly taints?: readonly DeviceTaint[] | undefined;
  readonly bindsToNode?: boolean | undefined;
  readonly bindingConditions?: readonly string[] | undefined;
  readonly bindingFailureConditions?: readonly string[] | undefined;
  readonly allowMultipleAllocations?: boolean | undefined;
  readonly nodeAllocatableResourceMappings?: Readonly<Record<string, NodeAllocatableResourceMapping>> | undefined;
}

export interface DeviceAllocationConfiguration {
  readonly source: AllocationConfigSource;
  readonly requests?: readonly string[] | undefined;
  readonly opaque?: OpaqueDeviceConfiguration | undefined;
}

export interface DeviceAllocationResult {
  readonly results?: readonly DeviceRequestAllocationResult[] | undefined;
  readonly config?: readonly DeviceAllocationConfiguration[] | undefined;
}

export interface DeviceAttribute {
  readonly int?: number | undefined;
  readonly bool?: boolean | undefined;
  readonly string?: string | undefined;
  readonly version?: string | undefined;
  readonly ints?: readonly number[] | undefined;
  readonly bools?: readonly boolean[] | undefined;
  readonly strings?: readonly string[] | undefined;
  readonly versions?: readonly string[] | undefined;
}

export interface DeviceCapacity {
  readonly value: string;
  readonly requestPolicy?: CapacityRequestPolicy | undefined;
}

export interface DeviceClaim {
  readonly requests?: readonly DeviceRequest[] | undefined;
  readonly constraints?: readonly DeviceConstraint[] | undefined;
  readonly config?: readonly DeviceClaimConfiguration[] | undefined;
}

export interface DeviceClaimConfiguration {
  readonly requests?: readonly string[] | undefined;
  readonly opaque?: OpaqueDeviceConfiguration | undefined;
}

export interface DeviceClass {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: DeviceClassSpec;
}

export interface DeviceClassConfiguration {
  readonly opaque?: OpaqueDeviceConfiguration | undefined;
}

export interface DeviceClassList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly DeviceClass[];
}

export interface DeviceClassSpec {
  readonly selectors?: readonly DeviceSelector[] | undefined;
  readonly config?: readonly DeviceClassConfiguration[] | undefined;
  readonly extendedResourceName?: string | undefined;
}

export interface DeviceConfiguration {
  readonly opaque?: OpaqueDeviceConfiguration | undefined;
}

export interface DeviceConstraint {
  readonly requests?: readonly string[] | undefined;
  readonly matchAttribute?: string | undefined;
  readonly distinctAttribute?: string | undefined;
}

export interface DeviceCounterConsumption {
  readonly counterSet: string;
  readonly counters: Readonly<Record<string, Counter>>;
}

export interface DeviceRequest {
  readonly name: string;
  readonly exactly?: ExactDeviceRequest | undefined;
  readonly firstAvailable?: readonly DeviceSubRequest[] | undefined;
}

export interface DeviceRequestAllocationResult {
  readonly request: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly adminAccess?: boolean | undefined;
  readonly tolerations?: readonly DeviceToleration[] | undefined;
  readonly bindingConditions?: readonly string[] | undefined;
  readonly bindingFailureConditions?: readonly string[] | undefined;
  readonly shareID?: string | undefined;
  readonly consumedCapacity?: Readonly<Record<string, string>> | undefined;
}

export interface DeviceSelector {
  readonly cel?: CELDeviceSelector | undefined;
}

export interface DeviceSubRequest {
  readonly name: string;
  readonly deviceClassName: string;
  readonly selectors?: readonly DeviceSelector[] | undefined;
  readonly allocationMode?: DeviceAllocationMode | undefined;
  readonly count?: number | undefined;
  readonly tolerations?: readonly DeviceToleration[] | undefined;
  readonly capacity?: CapacityRequirements | undefined;
}

export interface DeviceTaint {
  readonly key: string;
  readonly value?: string | undefined;
  readonly effect: DeviceTaintEffect;
  readonly timeAdded?: string | undefined;
}

export interface DeviceToleration {
  readonly key?: string | undefined;
  readonly operator?: DeviceTolerationOperator | undefined;
  readonly value?: string | undefined;
  readonly effect?: DeviceTaintEffect | undefined;
  readonly tolerationSeconds?: number | undefined;
}

export interface ExactDeviceRequest {
  readonly deviceClassName: string;
  readonly selectors?: readonly DeviceSelector[] | undefined;
  readonly allocationMode?: DeviceAllocationMode | undefined;
  readonly count?: number | undefined;
  readonly adminAccess?: boolean | undefined;
  readonly tolerations?: readonly DeviceToleration[] | undefined;
  readonly capacity?: CapacityRequirements | undefined;
}

export interface NetworkDeviceData {
  readonly interfaceName?: string | undefined;
  readonly ips?: readonly string[] | undefined;
  readonly hardwareAddress?: string | undefined;
}

export interface NodeAllocatableResourceMapping {
  readonly capacityKey?: string | undefined;
  readonly allocationMultiplier?: string | undefined;
}

export interface OpaqueDeviceConfiguration {
  readonly driver: string;
  readonly parameters: unknown;
}

export interface ResourceClaim {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ResourceClaimSpec;
  readonly status?: ResourceClaimStatus | undefined;
}

export interface ResourceClaimConsumerReference {
  readonly apiGroup?: string | undefined;
  readonly resource: string;
  readonly name: string;
  readonly uid: string;
}

export interface ResourceClaimList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ResourceClaim[];
}

export interface ResourceClaimSpec {
  readonly devices?: DeviceClaim | undefined;
}

export interface ResourceClaimStatus {
  readonly allocation?: AllocationResult | undefined;
  readonly reservedFor?: readonly ResourceClaimConsumerReference[] | undefined;
  readonly devices?: readonly AllocatedDeviceStatus[] | undefined;
}

export interface ResourceClaimTemplate {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ResourceClaimTemplateSpec;
}

export interface ResourceClaimTemplateList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ResourceClaimTemplate[];
}

export interface ResourceClaimTemplateSpec {
  readonly metadata?: metaV1.ObjectMeta | undefined;
  readonly spec: ResourceClaimSpec;
}

export interface ResourcePool {
  readonly name: string;
  readonly generation: number;
  readonly resourceSliceCount: number;
}

export interface ResourceSlice {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ResourceSliceSpec;
}

export interface ResourceSliceList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ResourceSlice[];
}

export interface ResourceSliceSpec {
  readonly driver: string;
  readonly pool: ResourcePool;
  readonly nodeName?: string | undefined;
  readonly nodeSelector?: coreV1.NodeSelector | undefined;
  readonly allNodes?: boolean | undefined;
  readonly devices?: readonly Device[] | undefined;
  readonly perDeviceNodeSelection?: boolean | undefined;
  readonly sharedCounters?: readonly CounterSet[] | undefined;
}

export const deviceClasses: ResourceType<DeviceClass> = {
  group: 'resource.k8s.io',
  version: 'v1',
  resource: 'deviceclasses',
  kind: 'DeviceClass',
  namespaced: false,
  singular: 'deviceclass',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const resourceClaims: ResourceType<ResourceClaim> = {
  group: 'resource.k8s.io',
  version: 'v1',
  resource: 'resourceclaims',
  kind: 'ResourceClaim',
  namespaced: true,
  singular: 'resourceclaim',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

export const resourceClaimTemplates: ResourceType<ResourceClaimTemplate> = {
  group: 'resource.k8s.io',
  version: 'v1',
  resource: 'resourceclaimtemplates',
  kind: 'ResourceClaimTemplate',
  namespaced: true,
  singular: 'resourceclaimtemplate',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

export const resourceSlices: ResourceType<ResourceSlice> = {
  group: 'resource.k8s.io',
  version: 'v1',
  resource: 'resourceslices',
  kind: 'ResourceSlice',
  namespaced: false,
  singular: 'resourceslice',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};
