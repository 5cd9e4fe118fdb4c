/** What may be said of a claim once devices were given to it: whom it is for, and that the decision stands. */
import { type FieldError, type FieldPath, forbidden, path, required } from '../../apimachinery/field-error.ts';
import type { ResourceClaim, ResourceClaimConsumerReference } from '../gen/resource-v1.ts';
import { validateImmutable } from '../validation.ts';
import { validateAllocation, validateDeviceStatuses } from './allocation-validation.ts';
import { requestNames, validateSet } from './claim-validation.ts';

const mostConsumers = 256;

export function validateClaimStatus(
  { metadata, spec, status = {} }: ResourceClaim,
  previous: ResourceClaim,
): FieldError[] {
  const at = path('status');
  const { reservedFor = [], allocation } = status;
  const { reservedFor: reservedBefore = [], allocation: allocatedBefore } = previous.status ?? {};
  const reservedAt = at.child('reservedFor');
  const errors = validateSet(reservedAt, reservedFor, {
    most: mostConsumers,
    key: ({ uid }) => uid,
    validate: validateConsumer,
  });
  errors.push(...validateDeviceStatuses(at.child('devices'), status.devices, allocation));
  if (reservedFor.length > 0 && !allocation) {
    errors.push(forbidden(reservedAt, 'may not be specified when `allocated` is not set'));
  } else if (metadata.deletionTimestamp) {
    const before = new Set(reservedBefore.map(identity));
    const message = 'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set';
    if (reservedFor.some((consumer) => !before.has(identity(consumer)))) errors.push(forbidden(reservedAt, message));
  }
  // Given, or taken back, but never exchanged.
  if (!allocation) return errors;
  const names = requestNames(spec.devices);
  if (!allocatedBefore) return [...errors, ...validateAllocation(at.child('allocation'), allocation, names)];
  return [...errors, ...validateImmutable(at.child('allocation'), allocation, allocatedBefore)];
}

function validateConsumer(at: FieldPath, { resource, name, uid }: ResourceClaimConsumerReference): FieldError[] {
  return Object.entries({ resource, name, uid }).flatMap(([field, value]) =>
    value ? [] : [required(at.child(field))],
  );
}

function identity({ apiGroup = '', resource, name, uid }: ResourceClaimConsumerReference): string {
  return JSON.stringify([apiGroup, resource, name, uid]);
}
