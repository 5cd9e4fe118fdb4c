/** ResourceSlices: the devices that a driver has to give, on a node or on many. */
import { path } from '../../../apimachinery/field-error.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { fillAbsent, partOf } from '../../defaulting.ts';
import { type ResourceSlice, resourceSlices } from '../../gen/resource-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateImmutable } from '../../validation.ts';
import { validateSlice } from '../slice-validation.ts';

export const resourceSliceBehaviour: KindBehaviour<ResourceSlice> = {
  resource: resourceSlices,
  countsGeneration: true,
  defaults(slice) {
    for (const device of partOf(slice, 'spec').devices ?? []) {
      for (const mapping of Object.values(device.nodeAllocatableResourceMappings ?? {})) {
        fillAbsent(mapping, 'allocationMultiplier', '1');
      }
    }
  },
  prepareForCreate: (slice, { now }) => fillTaintTimes(slice, now),
  prepareForUpdate: (slice, _previous, { now }) => fillTaintTimes(slice, now),
  validate: ({ spec }) => validateSlice(path('spec'), spec),
  validateUpdate: ({ spec }, previous) => [
    ...validateSlice(path('spec'), spec, previous.spec),
    ...validateImmutable(path('spec', 'pool', 'name'), spec.pool?.name, previous.spec.pool?.name),
    ...validateImmutable(path('spec', 'driver'), spec.driver, previous.spec.driver),
    ...validateImmutable(path('spec', 'nodeName'), spec.nodeName, previous.spec.nodeName),
  ],
  columns: [
    nameColumn,
    text('Node', ({ spec }) => spec.nodeName ?? ''),
    text('Driver', ({ spec }) => spec.driver),
    text('Pool', ({ spec }) => spec.pool?.name ?? ''),
    ageColumn,
  ],
};

/** A default that depends on the time, and hence is not among the others. */
function fillTaintTimes(slice: Draft<ResourceSlice>, now: string): void {
  for (const taint of (slice.spec.devices ?? []).flatMap(({ taints }) => taints ?? [])) {
    fillAbsent(taint, 'timeAdded', now);
  }
}
