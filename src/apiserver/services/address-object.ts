/** The IPAddress object behind an address of a Service: its name is the address, its parent the Service. */
import type { Service } from '../../api/gen/core-v1.ts';
import type { IPAddress } from '../../api/gen/networking-v1.ts';
import { familyOf } from './address-range.ts';

const familyLabel = 'ipaddress.kubernetes.io/ip-family';
const managedByLabel = 'ipaddress.kubernetes.io/managed-by';
const allocator = 'ipallocator.k8s.io';

export function addressObject(address: string, { metadata }: Pick<Service, 'metadata'>): IPAddress {
  return {
    metadata: { name: address, labels: labelsOf(address) },
    spec: {
      parentRef: { group: '', resource: 'services', namespace: metadata.namespace ?? '', name: metadata.name ?? '' },
    },
  };
}

/** Whether it was made here; others may keep addresses of their own in the same way. */
export function isAllocated({ metadata }: IPAddress): boolean {
  return metadata.labels?.[managedByLabel] === allocator;
}

/** Whether its labels say what `addressObject` would. */
export function isLabelled({ metadata }: IPAddress): boolean {
  const wanted = labelsOf(metadata.name ?? '');
  return Object.entries(wanted).every(([key, value]) => metadata.labels?.[key] === value);
}

/** Canonical addresses that a Service has; none when it is headless or a name of outside. */
export function clusterIPsOf({ spec }: Service): readonly string[] {
  if (spec.type === 'ExternalName') return [];
  const all = spec.clusterIPs?.length ? spec.clusterIPs : spec.clusterIP ? [spec.clusterIP] : [];
  return all.filter((text) => text !== 'None' && text !== '');
}

function labelsOf(address: string): Record<string, string> {
  return { [familyLabel]: familyOf(address) ?? '', [managedByLabel]: allocator };
}
