/** DeviceTaintRules: taints that administrators put on devices, over their drivers' heads. */
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { fillAbsent, partOf } from '../../defaulting.ts';
import { type DeviceTaintRule, deviceTaintRules } from '../../gen/resource-v1alpha3.ts';
import { age } from '../../human-duration.ts';
import type { KindBehaviour } from '../../kind.ts';
import { statusKeepsMetadata } from '../../strategy.ts';

export const deviceTaintRuleBehaviour: KindBehaviour<DeviceTaintRule> = {
  resource: deviceTaintRules,
  countsGeneration: true,
  defaults(rule) {
    partOf(partOf(rule, 'spec'), 'taint');
  },
  prepareForCreate({ spec }, { now }) {
    fillAbsent(spec.taint, 'timeAdded', now);
  },
  prepareForUpdate({ spec: { taint } }, { spec: { taint: stored } }, { now }) {
    fillAbsent(taint, 'timeAdded', now);
    if (taint.effect !== stored.effect && taint.timeAdded === stored.timeAdded) taint.timeAdded = now;
  },
  subresources: { status: statusKeepsMetadata },
  columns: [
    nameColumn,
    text('Key', ({ spec }) => spec.taint.key),
    text('Value', ({ spec }) => spec.taint.value ?? ''),
    text('Effect', ({ spec }) => spec.taint.effect),
    text('TimeAdded', ({ spec: { taint } }, nowMs) => (taint.timeAdded ? age(taint.timeAdded, nowMs) : '')),
    ageColumn,
  ],
};
