/** ResourceClaims: what devices a Pod wants, and which it was given. */
import { type FieldError, path } from '../../../apimachinery/field-error.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import { type ResourceClaim, resourceClaims } from '../../gen/resource-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { statusKeepsMetadata } from '../../strategy.ts';
import { validateImmutable } from '../../validation.ts';
import { demandOfRequests, demandOfResults } from '../admin-access.ts';
import { claimDefaults, resultDefaults } from '../claim-defaults.ts';
import { validateClaimStatus } from '../claim-status-validation.ts';
import { validateDeviceClaim } from '../claim-validation.ts';

export const resourceClaimBehaviour: KindBehaviour<ResourceClaim> = {
  resource: resourceClaims,
  countsGeneration: false,
  defaults(claim) {
    claimDefaults(partOf(claim, 'spec'));
    resultDefaults(claim.status?.allocation?.devices?.results);
  },
  namespaceDemand: ({ spec }) => demandOfRequests(spec.devices?.requests),
  validate: ({ spec }) => validateDeviceClaim(path('spec', 'devices'), spec.devices),
  validateUpdate: ({ spec }, previous): FieldError[] => validateImmutable(path('spec'), spec, previous.spec),
  subresources: {
    status: {
      prepareForUpdate(claim, previous, context) {
        statusKeepsMetadata.prepareForUpdate?.(claim, previous, context);
        dropReleasedDevices(claim);
      },
      // What was granted stands: an allocation never changes.
      namespaceDemand: ({ status }, previous) =>
        demandOfResults(previous.status?.allocation?.devices?.results)
          ? undefined
          : demandOfResults(status?.allocation?.devices?.results),
      validateUpdate: validateClaimStatus,
    },
  },
  columns: [
    nameColumn,
    text('State', stateText, { description: 'A summary of the current state (allocated, pending, reserved, etc.).' }),
    ageColumn,
  ],
};

/** What drivers say of devices is worth nothing once the claim has them no longer. */
function dropReleasedDevices(claim: Parameters<NonNullable<typeof resourceClaimBehaviour.defaults>>[0]): void {
  const { status } = claim;
  if (!status?.devices) return;
  const held = new Set((status.allocation?.devices?.results ?? []).map(identity));
  const devices = status.devices.filter((device) => held.has(identity(device)));
  if (devices.length > 0) status.devices = devices;
  else delete status.devices;
}

function identity(device: {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly shareID?: string | undefined;
}): string {
  return JSON.stringify([device.driver, device.pool, device.device, device.shareID ?? '']);
}

function stateText({ metadata, status }: ResourceClaim): string {
  const states: string[] = [];
  if (metadata.deletionTimestamp) states.push('deleted');
  else if (!status?.allocation) states.push('pending');
  if (status?.allocation) states.push('allocated');
  if (status?.allocation && status.reservedFor?.length) states.push('reserved');
  return states.join(',');
}
