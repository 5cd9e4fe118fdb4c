/** CSIDrivers: what a storage driver can do and wants to know. */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { ageColumn, boolean, nameColumn, text } from '../../columns.ts';
import { fillAbsent, isEmpty, partOf } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import { type CSIDriver, csiDrivers, type TokenRequest } from '../../gen/storage-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { raiseGeneration } from '../../strategy.ts';
import { validateEnum, validateImmutable } from '../../validation.ts';

const specAt = path('spec');

export const csiDriverBehaviour: KindBehaviour<CSIDriver> = {
  resource: csiDrivers,
  defaults(driver) {
    const spec = partOf(driver, 'spec');
    fillAbsent(spec, 'attachRequired', true);
    fillAbsent(spec, 'podInfoOnMount', false);
    fillAbsent(spec, 'storageCapacity', false);
    fillAbsent(spec, 'fsGroupPolicy', 'ReadWriteOnceWithFSType');
    if (isEmpty(spec.volumeLifecycleModes)) spec.volumeLifecycleModes = ['Persistent'];
    fillAbsent(spec, 'requiresRepublish', false);
    fillAbsent(spec, 'seLinuxMount', false);
  },
  allowUnconditionalUpdate: false,
  // Not set at creation, yet raised by updates.
  countsGeneration: false,
  prepareForUpdate(driver, previous) {
    if (!semanticallyEqual(driver.spec, previous.spec)) raiseGeneration(driver, previous);
  },
  validate,
  validateUpdate: (driver, previous) => [
    ...validate(driver),
    // Upstream writes the field's name so.
    ...validateImmutable(specAt.child('attachedRequired'), driver.spec.attachRequired, previous.spec.attachRequired),
    ...validateImmutable(
      specAt.child('volumeLifecycleModes'),
      driver.spec.volumeLifecycleModes,
      previous.spec.volumeLifecycleModes,
    ),
  ],
  columns: [
    nameColumn,
    boolean('AttachRequired', ({ spec }) => spec.attachRequired ?? true),
    boolean('PodInfoOnMount', ({ spec }) => spec.podInfoOnMount ?? false),
    boolean('StorageCapacity', ({ spec }) => spec.storageCapacity ?? false),
    text('TokenRequests', ({ spec }) => spec.tokenRequests?.map(({ audience }) => audience).join(',') ?? '<unset>'),
    boolean('RequiresRepublish', ({ spec }) => spec.requiresRepublish ?? false),
    text('Modes', ({ spec }) => (spec.volumeLifecycleModes ?? []).join(',') || '<none>'),
    ageColumn,
  ],
};

function validate({ spec }: CSIDriver): FieldError[] {
  const errors: FieldError[] = [];
  if (spec.attachRequired == null) errors.push(required(specAt.child('attachedRequired')));
  for (const field of ['podInfoOnMount', 'storageCapacity'] as const) {
    if (spec[field] == null) errors.push(required(specAt.child(field)));
  }
  const policies = ['File', 'None', 'ReadWriteOnceWithFSType'];
  errors.push(...validateEnum(specAt.child('fsGroupPolicy'), spec.fsGroupPolicy, policies));
  errors.push(...validateTokenRequests(specAt.child('tokenRequests'), spec.tokenRequests ?? []));
  for (const mode of spec.volumeLifecycleModes ?? []) {
    const modes = ['Persistent', 'Ephemeral'];
    if (!modes.includes(mode)) errors.push(notSupported(specAt.child('volumeLifecycleModes'), mode, modes));
  }
  if (spec.seLinuxMount == null) errors.push(required(specAt.child('seLinuxMount')));
  const period = spec.nodeAllocatableUpdatePeriodSeconds;
  if (period != null && period < 10) {
    const here = specAt.child('nodeAllocatableUpdatePeriodSeconds');
    errors.push(invalid(here, period, 'must be greater than or equal to 10 seconds'));
  }
  if (spec.serviceAccountTokenInSecrets != null && !spec.tokenRequests?.length) {
    const message = 'serviceAccountTokenInSecrets is set but no tokenRequests are specified';
    errors.push(invalid(specAt.child('serviceAccountTokenInSecrets'), spec.serviceAccountTokenInSecrets, message));
  }
  return errors;
}

function validateTokenRequests(at: FieldPath, requests: readonly TokenRequest[]): FieldError[] {
  const audiences = new Set<string>();
  return requests.flatMap(({ audience, expirationSeconds: seconds }, index) => {
    const here = at.index(index);
    if (audiences.has(audience)) return [duplicate(here.child('audience'), audience)];
    audiences.add(audience);
    if (seconds == null) return [];
    const secondsAt = here.child('expirationSeconds');
    if (seconds < 600) return [invalid(secondsAt, seconds, 'may not specify a duration less than 10 minutes')];
    if (seconds <= 2 ** 32) return [];
    return [invalid(secondsAt, seconds, 'may not specify a duration larger than 2^32 seconds')];
  });
}
