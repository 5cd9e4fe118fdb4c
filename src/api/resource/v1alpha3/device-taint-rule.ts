/** DeviceTaintRules: taints that administrators put on devices, over their drivers' heads. */
import { type FieldError, path, tooMany } from '../../../apimachinery/field-error.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { validateConditions } from '../../condition-validation.ts';
import { validateCsiDriverName } from '../../core/v1/volume-validation.ts';
import { fillAbsent, partOf } from '../../defaulting.ts';
import {
  type DeviceTaintRule,
  type DeviceTaintRuleSpec,
  type DeviceTaintRuleStatus,
  deviceTaintRules,
} from '../../gen/resource-v1alpha3.ts';
import { age } from '../../human-duration.ts';
import type { KindBehaviour } from '../../kind.ts';
import { statusKeepsMetadata } from '../../strategy.ts';
import { validateDnsLabel } from '../../validation.ts';
import { validatePoolName } from '../device-names.ts';
import { validateDeviceTaint } from '../device-taint-validation.ts';

const mostConditions = 8;

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
  validate: ({ spec }) => validateSpec(spec),
  validateUpdate: ({ spec }, previous) => validateSpec(spec, previous.spec),
  subresources: { status: { ...statusKeepsMetadata, validateUpdate: ({ status }) => validateStatus(status) } },
  columns: [
    nameColumn,
    text('Key', ({ spec }) => spec.taint.key),
    text('Value', ({ spec }) => spec.taint.value ?? ''),
    text('Effect', ({ spec }) => spec.taint.effect),
    text('TimeAdded', ({ spec: { taint } }, nowMs) => (taint.timeAdded ? age(taint.timeAdded, nowMs) : '')),
    ageColumn,
  ],
};

function validateSpec({ deviceSelector, taint }: DeviceTaintRuleSpec, previous?: DeviceTaintRuleSpec): FieldError[] {
  const at = path('spec');
  const here = at.child('deviceSelector');
  const { driver, pool, device } = deviceSelector ?? {};
  return [
    ...(driver == null ? [] : validateCsiDriverName(here.child('driver'), driver)),
    ...(pool == null ? [] : validatePoolName(here.child('pool'), pool)),
    ...(device == null ? [] : validateDnsLabel(here.child('device'), device)),
    ...validateDeviceTaint(at.child('taint'), taint, previous?.taint),
  ];
}

function validateStatus({ conditions = [] }: DeviceTaintRuleStatus = {}): FieldError[] {
  const at = path('status', 'conditions');
  const errors = validateConditions(at, conditions);
  return conditions.length > mostConditions ? [...errors, tooMany(at, conditions.length, mostConditions)] : errors;
}
