/** How many of which extended resources containers ask for: their limits, for these cannot be shared. */
import { amountOf, podLimits } from '../../api/core/v1/pod-resources.ts';
import { isExtendedResource } from '../../api/core/v1/resource-validation.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';

export type DeviceRequests = readonly (readonly [resource: string, count: number])[];

export function deviceRequests({ resources }: Container): DeviceRequests {
  return Object.entries(resources?.limits ?? {})
    .filter(([name]) => isExtendedResource(name))
    .map(([name, quantity]) => [name, amountOf(name, quantity)]);
}

/** The Pod as a whole: its init containers run before the others and give back what they had. */
export function podDeviceRequests(pod: Pod): DeviceRequests {
  return Object.entries(podLimits(pod, { withoutOverhead: true })).filter(([name]) => isExtendedResource(name));
}
