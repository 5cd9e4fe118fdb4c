/** CSIStorageCapacities: how much a class can still give, and where. */
import { type FieldError, path } from '../../../apimachinery/field-error.ts';
import { validateLabelSelector } from '../../../apimachinery/labels.ts';
import { validateResourceQuantity } from '../../core/v1/resource-validation.ts';
import { type CSIStorageCapacity, csiStorageCapacities } from '../../gen/storage-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateDnsSubdomain, validateImmutable } from '../../validation.ts';

export const csiStorageCapacityBehaviour: KindBehaviour<CSIStorageCapacity> = {
  resource: csiStorageCapacities,
  allowUnconditionalUpdate: false,
  countsGeneration: false,
  validate({ nodeTopology, storageClassName, capacity }): FieldError[] {
    return [
      ...validateLabelSelector(nodeTopology, path('nodeTopology')),
      ...validateDnsSubdomain(path('storageClassName'), storageClassName ?? ''),
      ...(capacity == null ? [] : validateResourceQuantity(path('capacity'), 'storage', capacity)),
    ];
  },
  validateUpdate: (next, previous) => [
    ...validateImmutable(path('nodeTopology'), next.nodeTopology, previous.nodeTopology),
    ...validateImmutable(path('storageClassName'), next.storageClassName, previous.storageClassName),
  ],
};
