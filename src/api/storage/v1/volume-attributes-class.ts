/** VolumeAttributesClasses: qualities of a volume that can be changed while it lives. */
import { type FieldError, forbidden, path } from '../../../apimachinery/field-error.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { semanticallyEqual } from '../../equality.ts';
import { type VolumeAttributesClass, volumeAttributesClasses } from '../../gen/storage-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateDriver, validateParameters } from './parameters-validation.ts';

export const volumeAttributesClassBehaviour: KindBehaviour<VolumeAttributesClass> = {
  resource: volumeAttributesClasses,
  countsGeneration: false,
  validate,
  validateUpdate: (next, previous) => [
    ...(['driverName', 'parameters'] as const)
      .filter((field) => !semanticallyEqual(next[field], previous[field]))
      .map((field) => forbidden(path(field), `updates to ${field} are forbidden.`)),
    ...validate(next),
  ],
  columns: [nameColumn, text('DriverName', ({ driverName }) => driverName), ageColumn],
};

function validate({ driverName, parameters }: VolumeAttributesClass): FieldError[] {
  return [
    ...validateDriver(path('driverName'), driverName),
    ...validateParameters(path('parameters'), parameters, { mayBeEmpty: false }),
  ];
}
