/** ResourceQuotas: how much of everything a namespace may use. */
import { type FieldError, type FieldPath, invalid, path, required } from '../../../apimachinery/field-error.ts';
import { immutableMessage } from '../../../apimachinery/names.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import {
  type ResourceQuota,
  type ResourceQuotaSpec,
  resourceQuotas,
  type ScopedResourceSelectorRequirement,
} from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { entriesOf } from '../../validation.ts';
import { roundToMilli } from './resource-defaults.ts';
import {
  isStandardQuotaResource,
  quantityOrZero,
  validateQuotaResourceName,
  validateResourceQuantity,
} from './resource-validation.ts';

const podResources = ['pods', 'cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];
/** What each scope can count. */
const scopes: ReadonlyMap<string, readonly string[]> = new Map([
  ['Terminating', podResources],
  ['NotTerminating', podResources],
  ['NotBestEffort', podResources],
  ['PriorityClass', podResources],
  ['CrossNamespacePodAffinity', podResources],
  ['BestEffort', ['pods']],
  ['VolumeAttributesClass', ['persistentvolumeclaims', 'requests.storage']],
]);
const conflicting = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;
const onlyExists = ['BestEffort', 'NotBestEffort', 'Terminating', 'NotTerminating', 'CrossNamespacePodAffinity'];

export const resourceQuotaBehaviour: KindBehaviour<ResourceQuota> = {
  resource: resourceQuotas,
  defaults({ spec, status }) {
    roundToMilli(spec?.hard);
    roundToMilli(status?.hard);
    roundToMilli(status?.used);
  },
  countsGeneration: false,
  validate: (quota) => [...validateSpec(path('spec'), quota.spec ?? {}), ...validateStatus(quota)],
  validateUpdate: ({ spec = {} }, { spec: stored = {} }) => {
    const errors = validateSpec(path('spec'), spec);
    const [next, before] = [new Set(spec.scopes), new Set(stored.scopes)];
    if (next.symmetricDifference(before).size > 0) {
      errors.push(invalid(path('spec', 'scopes'), spec.scopes ?? null, immutableMessage));
    }
    return errors;
  },
  subresources: { status: { validateUpdate: validateStatus } },
  columns: [
    nameColumn,
    text('Request', (quota) => usageText(quota, (name) => !name.startsWith('limits.')), {
      description: 'Request represents a minimum amount of cpu/memory that a container may consume.',
    }),
    text('Limit', (quota) => usageText(quota, (name) => name.startsWith('limits.')), {
      description:
        'Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.',
    }),
    ageColumn,
  ],
};

/** Every scope a quota names, in either of the two ways to name one; it counts only what is in all of them. */
export function scopeRequirements({ spec }: ResourceQuota): readonly ScopedResourceSelectorRequirement[] {
  const plain = (spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' }) as const);
  return [...plain, ...(spec.scopeSelector?.matchExpressions ?? [])];
}

function validateAmounts(at: FieldPath, amounts: Readonly<Record<string, string>> | undefined): FieldError[] {
  return entriesOf(amounts).flatMap(([name, quantity]) => [
    ...validateQuotaResourceName(at.key(name), name),
    ...validateResourceQuantity(at.key(name), name, quantity),
  ]);
}

function validateStatus({ status }: ResourceQuota): FieldError[] {
  return (['hard', 'used'] as const).flatMap((list) => validateAmounts(path('status', list), status?.[list]));
}

function validateSpec(at: FieldPath, spec: ResourceQuotaSpec): FieldError[] {
  return [
    ...validateAmounts(at.child('hard'), spec.hard),
    ...validateScopes(at.child('scopes'), spec),
    ...validateScopeSelector(at.child('scopeSelector', 'matchExpressions'), spec),
  ];
}

/** Resources among the limits that the scope cannot count. */
function uncounted(scope: string, { hard }: ResourceQuotaSpec): string[] {
  const counted = scopes.get(scope);
  return Object.keys(hard ?? {}).filter((name) => isStandardQuotaResource(name) && counted && !counted.includes(name));
}

function validateScopes(at: FieldPath, spec: ResourceQuotaSpec): FieldError[] {
  const list = spec.scopes ?? [];
  const errors: FieldError[] = [];
  for (const scope of list) {
    if (!scopes.has(scope)) errors.push(invalid(at, list, 'unsupported scope'));
    for (const _ of uncounted(scope, spec)) errors.push(invalid(at, list, 'unsupported scope applied to resource'));
  }
  return [...errors, ...validateConflicts(at, new Set(list), list)];
}

function validateConflicts(at: FieldPath, set: ReadonlySet<string>, shown: unknown): FieldError[] {
  return conflicting
    .filter(([one, other]) => set.has(one) && set.has(other))
    .map(() => invalid(at, shown, 'conflicting scopes'));
}

function validateScopeSelector(at: FieldPath, spec: ResourceQuotaSpec): FieldError[] {
  const errors: FieldError[] = [];
  const set = new Set<string>();
  for (const { scopeName, operator, values = [] } of spec.scopeSelector?.matchExpressions ?? []) {
    if (!scopes.has(scopeName)) errors.push(invalid(at.child('scopeName'), scopeName ?? '', 'unsupported scope'));
    for (const _ of uncounted(scopeName, spec)) {
      errors.push(invalid(at, spec.scopeSelector, 'unsupported scope applied to resource'));
    }
    if (onlyExists.includes(scopeName) && operator !== 'Exists') {
      const names =
        'ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity';
      errors.push(invalid(at.child('operator'), operator ?? '', `must be 'Exists' when scope is any of ${names}`));
    }
    if (operator === 'In' || operator === 'NotIn') {
      const message = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
      if (values.length === 0) errors.push(required(at.child('values'), message));
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      const message = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
      if (values.length > 0) errors.push(invalid(at.child('values'), values, message));
    } else errors.push(invalid(at.child('operator'), operator ?? '', 'not a valid selector operator'));
    set.add(scopeName);
  }
  return [...errors, ...validateConflicts(at, set, spec.scopes ?? null)];
}

function usageText({ status }: ResourceQuota, wanted: (name: string) => boolean): string {
  const amount = (list: 'used' | 'hard', name: string) => quantityOrZero(status?.[list]?.[name]).toString();
  const names = Object.keys(status?.hard ?? {})
    .filter(wanted)
    .sort();
  return names.map((name) => `${name}: ${amount('used', name)}/${amount('hard', name)}`).join(', ');
}
