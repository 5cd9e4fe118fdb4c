/** HorizontalPodAutoscalers: how many replicas a scale target has, within bounds, by what metrics, how fast. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { validateCounts } from '../../apps/v1/replica-counts.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { quantityOrZero } from '../../core/v1/resource-validation.ts';
import { fillAbsent, partOf } from '../../defaulting.ts';
import {
  type HorizontalPodAutoscaler,
  type HPAScalingRules,
  horizontalPodAutoscalers,
} from '../../gen/autoscaling-v2.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validatePositive } from '../../validation.ts';
import { metricsText } from './metric-text.ts';
import { validateMetric, validateReference } from './metric-validation.ts';

const longestPeriodSeconds = 1800;
const longestWindowSeconds = 3600;
const directions = ['scaleUp', 'scaleDown'] as const;
const percentPolicy = { type: 'Percent', value: 100, periodSeconds: 15 };

export const horizontalPodAutoscalerBehaviour: KindBehaviour<HorizontalPodAutoscaler> = {
  resource: horizontalPodAutoscalers,
  countsGeneration: false,
  defaults,
  validate: (autoscaler) => validate(autoscaler),
  validateUpdate: validate,
  subresources: {
    status: {
      validateUpdate: ({ status }) =>
        validateCounts(path('status'), status ?? {}, ['currentReplicas', 'desiredReplicas']),
    },
  },
  columns: [
    nameColumn,
    text(
      'Reference',
      ({
        spec: {
          scaleTargetRef: { kind, name },
        },
      }) => `${kind}/${name}`,
    ),
    text('Targets', ({ spec, status }) => metricsText(spec.metrics, status?.currentMetrics)),
    text('MinPods', ({ spec }) => String(spec.minReplicas ?? '<unset>')),
    text('MaxPods', ({ spec }) => spec.maxReplicas ?? 0),
    text('Replicas', ({ status }) => status?.currentReplicas ?? 0),
    ageColumn,
  ],
};

function defaults(autoscaler: Draft<HorizontalPodAutoscaler>): void {
  const spec = partOf(autoscaler, 'spec');
  partOf(spec, 'scaleTargetRef');
  fillAbsent(spec, 'minReplicas', 1);
  if (!spec.metrics || spec.metrics.length === 0) {
    const target = { type: 'Utilization', averageUtilization: 80 };
    spec.metrics = [{ type: 'Resource', resource: { name: 'cpu', target } }];
  }
  const { behavior } = spec;
  if (!behavior) return;
  const up = partOf(behavior, 'scaleUp');
  fillAbsent(up, 'stabilizationWindowSeconds', 0);
  fillAbsent(up, 'selectPolicy', 'Max');
  fillAbsent(up, 'policies', [{ type: 'Pods', value: 4, periodSeconds: 15 }, { ...percentPolicy }]);
  const down = partOf(behavior, 'scaleDown');
  fillAbsent(down, 'selectPolicy', 'Max');
  fillAbsent(down, 'policies', [{ ...percentPolicy }]);
}

/** Scaling to none is behind a gate that is off; what is stored with it stays valid. */
function validate({ spec }: HorizontalPodAutoscaler, previous?: HorizontalPodAutoscaler): FieldError[] {
  const at = path('spec');
  const { minReplicas, maxReplicas = 0, metrics = [], behavior } = spec;
  const least = previous?.spec.minReplicas === 0 ? 0 : 1;
  const errors: FieldError[] = [];
  if (minReplicas != null && minReplicas < least) {
    errors.push(invalid(at.child('minReplicas'), minReplicas, `must be greater than or equal to ${least}`));
  }
  const most = at.child('maxReplicas');
  if (maxReplicas === 0) errors.push(required(most, 'must be set and greater than 0'));
  else if (maxReplicas < 0) errors.push(invalid(most, maxReplicas, 'must be greater than or equal to 1'));
  if (minReplicas != null && maxReplicas < minReplicas) {
    errors.push(invalid(most, maxReplicas, 'must be greater than or equal to `minReplicas`'));
  }
  const target = at.child('scaleTargetRef');
  const stored = previous?.spec.scaleTargetRef;
  const wasWrong = stored && validateReference(target, stored, { emptyGroup: false }).length > 0;
  errors.push(...validateReference(target, spec.scaleTargetRef, { emptyGroup: Boolean(wasWrong) }));
  for (const [index, metric] of metrics.entries()) {
    errors.push(...validateMetric(at.child('metrics').index(index), metric));
  }
  if (minReplicas === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External')) {
    const message = 'must specify at least one Object or External metric to support scaling to zero replicas';
    errors.push(forbidden(at.child('metrics'), message));
  }
  for (const direction of directions) {
    const rules = behavior?.[direction];
    if (rules) errors.push(...validateRules(at.child('behavior').child(direction), rules));
  }
  return errors;
}

function validateRules(at: FieldPath, rules: HPAScalingRules): FieldError[] {
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [], tolerance } = rules;
  const errors: FieldError[] = [];
  if (window != null && window < 0) {
    errors.push(invalid(at.child('stabilizationWindowSeconds'), window, 'must be greater than or equal to zero'));
  }
  errors.push(...validateMost(at.child('stabilizationWindowSeconds'), window, longestWindowSeconds));
  const choices = ['Disabled', 'Max', 'Min'];
  if (selectPolicy != null && !choices.includes(selectPolicy)) {
    errors.push(notSupported(at.child('selectPolicy'), selectPolicy, choices));
  }
  if (policies.length === 0) errors.push(required(at.child('policies'), 'must specify at least one Policy'));
  for (const [index, { type, value = 0, periodSeconds = 0 }] of policies.entries()) {
    const here = at.child('policies').index(index);
    const types = ['Percent', 'Pods'];
    if (!types.includes(type)) errors.push(notSupported(here.child('type'), type ?? '', types));
    errors.push(...validatePositive(here.child('value'), value));
    errors.push(...validatePositive(here.child('periodSeconds'), periodSeconds));
    errors.push(...validateMost(here.child('periodSeconds'), periodSeconds, longestPeriodSeconds));
  }
  if (tolerance != null && quantityOrZero(tolerance).sign < 0) {
    errors.push(invalid(at.child('tolerance'), tolerance, 'must be greater than or equal to 0'));
  }
  return errors;
}

function validateMost(at: FieldPath, value: number | undefined, most: number): FieldError[] {
  return value != null && value > most ? [invalid(at, value, `must be less than or equal to ${most}`)] : [];
}
