/** PodDisruptionBudgets: how many Pods of a set may be missing of somebody's own will. */
import { type FieldError, invalid, path } from '../../../apimachinery/field-error.ts';
import { validateLabelSelector } from '../../../apimachinery/labels.ts';
import { validateCounts } from '../../apps/v1/replica-counts.ts';
import { ageColumn, integer, nameColumn, text } from '../../columns.ts';
import { validateConditions } from '../../condition-validation.ts';
import { partOf } from '../../defaulting.ts';
import { type PodDisruptionBudget, podDisruptionBudgets } from '../../gen/policy-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { shown, validateAtMostWhole, validateCountOrPercent, validateEnum } from '../../validation.ts';

export const podDisruptionBudgetBehaviour: KindBehaviour<PodDisruptionBudget> = {
  resource: podDisruptionBudgets,
  defaults(budget) {
    partOf(budget, 'spec');
  },
  allowUnconditionalUpdate: false,
  countsGeneration: true,
  validate,
  subresources: {
    status: {
      validateUpdate: ({ status }) => [
        ...validateConditions(path('status', 'conditions'), status?.conditions ?? []),
        ...validateCounts(path('status'), status ?? {}, [
          'disruptionsAllowed',
          'currentHealthy',
          'desiredHealthy',
          'expectedPods',
        ]),
      ],
    },
  },
  columns: [
    nameColumn,
    text('Min Available', ({ spec }) => String(spec?.minAvailable ?? 'N/A'), {
      description: 'The minimum number of pods that must be available.',
    }),
    text('Max Unavailable', ({ spec }) => String(spec?.maxUnavailable ?? 'N/A'), {
      description: 'The maximum number of pods that may be unavailable.',
    }),
    integer('Allowed Disruptions', ({ status }) => status?.disruptionsAllowed ?? 0, {
      description: 'Calculated number of pods that may be disrupted at this time.',
    }),
    ageColumn,
  ],
};

function validate({ spec = {} }: PodDisruptionBudget): FieldError[] {
  const at = path('spec');
  const errors: FieldError[] = [];
  if (spec.minAvailable != null && spec.maxUnavailable != null) {
    const whole = shown({
      MinAvailable: spec.minAvailable,
      Selector: spec.selector,
      MaxUnavailable: spec.maxUnavailable,
      UnhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy,
    });
    errors.push(invalid(at, whole, 'minAvailable and maxUnavailable cannot be both set'));
  }
  for (const field of ['minAvailable', 'maxUnavailable'] as const) {
    const value = spec[field];
    if (value == null) continue;
    errors.push(...validateCountOrPercent(at.child(field), value), ...validateAtMostWhole(at.child(field), value));
  }
  errors.push(...validateLabelSelector(spec.selector, at.child('selector')));
  const policies = ['AlwaysAllow', 'IfHealthyBudget'];
  return [
    ...errors,
    ...validateEnum(at.child('unhealthyPodEvictionPolicy'), spec.unhealthyPodEvictionPolicy, policies),
  ];
}
