/** StorageClasses: how volumes are made for those who ask. */
import { duplicate, type FieldError, type FieldPath, path, required } from '../../../apimachinery/field-error.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { defaultStorageClassAnnotations } from '../../default-class.ts';
import { fillAbsent } from '../../defaulting.ts';
import type { TopologySelectorTerm } from '../../gen/core-v1.ts';
import { type StorageClass, storageClasses } from '../../gen/storage-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateEnum, validateImmutable, validateQualifiedName, validateUnique } from '../../validation.ts';
import { validateDriver, validateParameters } from './parameters-validation.ts';

const immutable = ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const;

export const storageClassBehaviour: KindBehaviour<StorageClass> = {
  resource: storageClasses,
  defaults(storageClass) {
    fillAbsent(storageClass, 'reclaimPolicy', 'Delete');
    fillAbsent(storageClass, 'volumeBindingMode', 'Immediate');
  },
  countsGeneration: false,
  validate(storageClass) {
    const { provisioner, parameters, reclaimPolicy, volumeBindingMode } = storageClass;
    const modeAt = path('volumeBindingMode');
    return [
      ...validateDriver(path('provisioner'), provisioner),
      ...validateParameters(path('parameters'), parameters, { mayBeEmpty: true }),
      ...(reclaimPolicy ? validateEnum(path('reclaimPolicy'), reclaimPolicy, ['Delete', 'Retain']) : []),
      ...(volumeBindingMode == null
        ? [required(modeAt)]
        : validateEnum(modeAt, volumeBindingMode, ['Immediate', 'WaitForFirstConsumer'])),
      ...validateTopologies(path('allowedTopologies'), storageClass.allowedTopologies ?? []),
    ];
  },
  validateUpdate: (storageClass, previous) =>
    immutable.flatMap((field) => validateImmutable(path(field), storageClass[field], previous[field])),
  columns: [
    { ...nameColumn, cell: nameText },
    text('Provisioner', ({ provisioner }) => provisioner),
    text('ReclaimPolicy', ({ reclaimPolicy }) => reclaimPolicy ?? 'Delete'),
    text('VolumeBindingMode', ({ volumeBindingMode }) => volumeBindingMode ?? 'Immediate'),
    text('AllowVolumeExpansion', ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false),
    ageColumn,
  ],
};

function isDefaultClass({ metadata }: { readonly metadata: StorageClass['metadata'] }): boolean {
  return defaultStorageClassAnnotations.some((key) => metadata.annotations?.[key] === 'true');
}

function nameText(object: { readonly metadata: StorageClass['metadata'] }): string {
  const name = object.metadata.name ?? '';
  return isDefaultClass(object) ? `${name} (default)` : name;
}

function validateTopologies(at: FieldPath, terms: readonly TopologySelectorTerm[]): FieldError[] {
  const seen = new Set<string>();
  return terms.flatMap(({ matchLabelExpressions = [] }, index) => {
    const here = at.index(index).child('matchLabelExpressions');
    const errors: FieldError[] = [];
    const keys = new Set<string>();
    for (const [i, { key, values = [] }] of matchLabelExpressions.entries()) {
      if (values.length === 0) errors.push(required(here.index(i).child('values')));
      errors.push(...validateUnique(here.index(i).child('values'), values));
      errors.push(...validateQualifiedName(here.index(i).child('key'), key ?? ''));
      if (keys.has(key)) errors.push(duplicate(here.index(i).child('key'), key));
      keys.add(key);
    }
    const identity = JSON.stringify(
      matchLabelExpressions.map(({ key, values = [] }) => [key, values.toSorted()]).sort(),
    );
    if (seen.has(identity)) errors.push(duplicate(here, ''));
    seen.add(identity);
    return errors;
  });
}
