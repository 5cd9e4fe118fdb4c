/** Types of resource/v1alpha3. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type DeviceTaintEffect = 'None' | 'NoSchedule' | 'NoExecute';

export interface CELDeviceSelector {
  readonly expression: string;
}

export interface DeviceSelector {
  readonly cel?: CELDeviceSelector | undefined;
}

export interface DeviceTaint {
  readonly key: string;
  readonly value?: string | undefined;
  readonly effect: DeviceTaintEffect;
  readonly timeAdded?: string | undefined;
}

export interface DeviceTaintRule {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: DeviceTaintRuleSpec;
  readonly status?: DeviceTaintRuleStatus | undefined;
}

export interface DeviceTaintRuleList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly DeviceTaintRule[];
}

export interface DeviceTaintRuleSpec {
  readonly deviceSelector?: DeviceTaintSelector | undefined;
  readonly taint: DeviceTaint;
}

export interface DeviceTaintRuleStatus {
  readonly conditions?: readonly metaV1.Condition[] | undefined;
}

export interface DeviceTaintSelector {
  readonly driver?: string | undefined;
  readonly pool?: string | undefined;
  readonly device?: string | undefined;
}

export interface PoolStatus {
  readonly driver: string;
  readonly poolName: string;
  readonly generation: number;
  readonly resourceSliceCount?: number | undefined;
  readonly totalDevices?: number | undefined;
  readonly allocatedDevices?: number | undefined;
  readonly availableDevices?: number | undefined;
  readonly unavailableDevices?: number | undefined;
  readonly nodeName?: string | undefined;
  readonly validationError?: string | undefined;
}

export interface ResourcePoolStatusRequest {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ResourcePoolStatusRequestSpec;
  readonly status?: ResourcePoolStatusRequestStatus | undefined;
}

export interface ResourcePoolStatusRequestList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly ResourcePoolStatusRequest[];
}

export interface ResourcePoolStatusRequestSpec {
  readonly driver: string;
  readonly poolName?: string | undefined;
  readonly limit?: number | undefined;
}

export interface ResourcePoolStatusRequestStatus {
  readonly poolCount: number;
  readonly pools?: readonly PoolStatus[] | undefined;
  readonly conditions?: readonly metaV1.Condition[] | undefined;
}

export const deviceTaintRules: ResourceType<DeviceTaintRule> = {
  group: 'resource.k8s.io',
  version: 'v1alpha3',
  resource: 'devicetaintrules',
  kind: 'DeviceTaintRule',
  namespaced: false,
  singular: 'devicetaintrule',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

export const resourcePoolStatusRequests: ResourceType<ResourcePoolStatusRequest> = {
  group: 'resource.k8s.io',
  version: 'v1alpha3',
  resource: 'resourcepoolstatusrequests',
  kind: 'ResourcePoolStatusRequest',
  namespaced: false,
  singular: 'resourcepoolstatusrequest',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};
