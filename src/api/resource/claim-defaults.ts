/** Defaults of claims on devices, in ResourceClaims and their templates. */
import type { Draft } from '../../apimachinery/meta.ts';
import { fillAbsent, fillEmpty } from '../defaulting.ts';
import type {
  DeviceRequestAllocationResult,
  DeviceSubRequest,
  DeviceToleration,
  ExactDeviceRequest,
  ResourceClaimSpec,
} from '../gen/resource-v1.ts';

type Demand = Draft<Pick<ExactDeviceRequest | DeviceSubRequest, 'allocationMode' | 'count' | 'tolerations'>>;

export function claimDefaults(spec: Draft<ResourceClaimSpec>): void {
  for (const { exactly, firstAvailable } of spec.devices?.requests ?? []) {
    for (const demand of [...(exactly ? [exactly] : []), ...(firstAvailable ?? [])]) demandDefaults(demand);
  }
}

function demandDefaults(demand: Demand): void {
  fillEmpty(demand, 'allocationMode', 'ExactCount');
  if (demand.allocationMode === 'ExactCount') fillEmpty(demand, 'count', 1);
  tolerationDefaults(demand.tolerations);
}

export function resultDefaults(results: readonly Draft<DeviceRequestAllocationResult>[] | undefined): void {
  for (const { tolerations } of results ?? []) tolerationDefaults(tolerations);
}

function tolerationDefaults(tolerations: readonly Draft<DeviceToleration>[] | undefined): void {
  for (const toleration of tolerations ?? []) fillAbsent(toleration, 'operator', 'Equal');
}
