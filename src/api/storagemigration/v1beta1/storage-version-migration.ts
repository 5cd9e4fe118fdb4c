/** StorageVersionMigrations: an order to write all objects of a resource anew. */
import { path } from '../../../apimachinery/field-error.ts';
import { groupResource } from '../../../apimachinery/resource.ts';
import { nameColumn, text } from '../../columns.ts';
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
  validateUpdate: ({ spec }, previous) => validateImmutable(path('spec'), spec, previous.spec),
  subresources: { status: statusKeepsMetadata },
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
