/** DeviceClasses: what administrators offer under a name. */
import { ageColumn, nameColumn } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import { type DeviceClass, deviceClasses } from '../../gen/resource-v1.ts';
import type { KindBehaviour } from '../../kind.ts';

export const deviceClassBehaviour: KindBehaviour<DeviceClass> = {
  resource: deviceClasses,
  countsGeneration: true,
  defaults(deviceClass) {
    partOf(deviceClass, 'spec');
  },
  columns: [nameColumn, ageColumn],
};
