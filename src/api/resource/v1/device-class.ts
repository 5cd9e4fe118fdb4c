/** DeviceClasses: what administrators offer under a name. */
import { invalid, path } from '../../../apimachinery/field-error.ts';
import { ageColumn, nameColumn } from '../../columns.ts';
import { isExtendedResource } from '../../core/v1/resource-validation.ts';
import { partOf } from '../../defaulting.ts';
import { type DeviceClass, deviceClasses } from '../../gen/resource-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateConfigurations, validateSelectors } from '../claim-validation.ts';

export const deviceClassBehaviour: KindBehaviour<DeviceClass> = {
  resource: deviceClasses,
  countsGeneration: true,
  defaults(deviceClass) {
    partOf(deviceClass, 'spec');
  },
  validate({ spec: { selectors, config, extendedResourceName } }) {
    const at = path('spec');
    const errors = [
      ...validateSelectors(at.child('selectors'), selectors),
      ...validateConfigurations(at.child('config'), config),
    ];
    if (extendedResourceName == null || isExtendedResource(extendedResourceName)) return errors;
    const message = 'must be a valid extended resource name';
    return [...errors, invalid(at.child('extendedResourceName'), extendedResourceName, message)];
  },
  columns: [nameColumn, ageColumn],
};
