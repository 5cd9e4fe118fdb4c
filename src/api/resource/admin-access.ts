/**
 * Access to devices that others use: whoever may label namespaces says where claims may ask for it. Specs never change, so creation is
 * where requests are looked at; what an allocator grants is looked at when it is written.
 */
import { type FieldPath, path } from '../../apimachinery/field-error.ts';
import type { DeviceRequest, DeviceRequestAllocationResult } from '../gen/resource-v1.ts';
import type { NamespaceDemand } from '../kind.ts';

/** Of the first request for it. Requests that offer alternatives cannot ask for it. */
export function demandOfRequests(requests: readonly DeviceRequest[] = []): NamespaceDemand | undefined {
  const index = requests.findIndex(({ exactly }) => exactly?.adminAccess);
  return index < 0 ? undefined : demandAt(path('spec', 'devices', 'requests').index(index));
}

export function demandOfResults(results: readonly DeviceRequestAllocationResult[] = []): NamespaceDemand | undefined {
  const index = results.findIndex(({ adminAccess }) => adminAccess);
  return index < 0 ? undefined : demandAt(path('status', 'allocation', 'devices', 'results').index(index));
}

function demandAt(at: FieldPath): NamespaceDemand {
  return {
    at: at.child('adminAccess'),
    label: 'resource.kubernetes.io/admin-access',
    value: 'true',
    purpose: 'admin access to devices',
    shortPurpose: 'admin access',
  };
}
