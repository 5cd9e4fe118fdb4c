/** StorageVersionMigrations: an order to write all objects of a resource anew. */
import { type FieldError, invalid, path, required } from '../../../apimachinery/field-error.ts';
import { dns1035Label, dns1123Subdomain, immutableMessage } from '../../../apimachinery/names.ts';
import { groupResource } from '../../../apimachinery/resource.ts';
import { nameColumn, text } from '../../columns.ts';
import { validateConditions } from '../../condition-validation.ts';
import { partOf } from '../../defaulting.ts';
import { type StorageVersionMigration, storageVersionMigrations } from '../../gen/storagemigration-v1beta1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { statusKeepsMetadata } from '../../strategy.ts';
import { validateImmutable } from '../../validation.ts';

const states = ['Running', 'Failed', 'Succeeded'];

export const storageVersionMigrationBehaviour: KindBehaviour<StorageVersionMigration> = {
  resource: storageVersionMigrations,
  allowUnconditionalUpdate: false,
  countsGeneration: false,
  defaults(migration) {
    partOf(partOf(migration, 'spec'), 'resource');
  },
  validate,
  validateUpdate: (migration, previous) => [
    ...validate(migration),
    ...validateImmutable(path('spec'), migration.spec, previous.spec),
  ],
  subresources: { status: { ...statusKeepsMetadata, validateUpdate: validateStatus } },
  columns: [
    text('Name', nameColumn.cell, { description: nameColumn.description! }),
    text('Resource', ({ spec }) => groupResource(spec.resource), { description: 'GroupResource to migrate' }),
    text('Status', stateText, { description: 'Status of the migration' }),
  ],
};

function stateText({ status }: StorageVersionMigration): string {
  const reached = status?.conditions?.findLast(({ type, status: value }) => value === 'True' && states.includes(type));
  return reached?.type ?? 'Unknown';
}

function validate({ spec }: StorageVersionMigration): FieldError[] {
  const at = path('spec', 'resource');
  const { group = '', resource = '' } = spec.resource;
  const errors: FieldError[] = [];
  const ofResource = resource === '' ? [] : dns1035Label(resource);
  if (resource === '') errors.push(required(at.child('resource'), 'resource is required to be set'));
  else if (ofResource.length > 0) errors.push(invalid(at.child('resource'), resource, ofResource.join(',')));
  const ofGroup = group === '' ? [] : dns1123Subdomain(group);
  if (ofGroup.length > 0) errors.push(invalid(at.child('group'), group, ofGroup.join(',')));
  return errors;
}

/** How far it came is told once, and how it ended is final. */
function validateStatus(migration: StorageVersionMigration, previous: StorageVersionMigration): FieldError[] {
  const at = path('status');
  const { resourceVersion = '', conditions = [] } = migration.status ?? {};
  const errors: FieldError[] = [];
  if (resourceVersion !== '' && !/^[1-9][0-9]*$/.test(resourceVersion)) {
    const message = `resource version is not well formed: ${resourceVersion}`;
    errors.push(invalid(at.child('resourceVersion'), resourceVersion, message));
  }
  errors.push(...validateConditions(at.child('conditions'), conditions));
  const reached = previous.status?.resourceVersion;
  if (reached && reached !== resourceVersion) {
    errors.push(invalid(at.child('resourceVersion'), resourceVersion, immutableMessage));
  }
  const here = at.child('conditions');
  if (ended(migration, 'Succeeded') && ended(migration, 'Failed')) {
    const message = 'Both success and failed conditions cannot be true at the same time';
    errors.push(invalid(here, conditions, message));
  }
  for (const [type, name] of [
    ['Succeeded', 'Success'],
    ['Failed', 'Failed'],
  ] as const) {
    if (!ended(previous, type) || ended(migration, type)) continue;
    errors.push(invalid(here, conditions, `${name} condition cannot be set to false once it is true`));
  }
  return errors;
}

function ended({ status }: StorageVersionMigration, type: string): boolean {
  return status?.conditions?.find((condition) => condition.type === type)?.status === 'True';
}
