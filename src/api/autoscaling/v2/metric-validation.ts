/** Metrics of a HorizontalPodAutoscaler: each has one source, the one that its type names, and that source a target. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/field-error.ts';
import { dns1123Label, pathSegmentName } from '../../../apimachinery/names.ts';
import { quantityOrZero, validateContainerResourceName } from '../../core/v1/resource-validation.ts';
import type {
  ContainerResourceMetricSource,
  CrossVersionObjectReference,
  MetricIdentifier,
  MetricSpec,
  MetricTarget,
  ResourceMetricSource,
} from '../../gen/autoscaling-v2.ts';
import { refused, validatePathSegment } from '../../validation.ts';

const types = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'];
/** In the order in which sources are looked at: only the first that is there is. */
const sources = ['object', 'external', 'pods', 'resource', 'containerResource'] as const;
type Source = (typeof sources)[number];

export function validateMetric(at: FieldPath, metric: MetricSpec): FieldError[] {
  const { type = '' } = metric;
  const errors: FieldError[] = [];
  if (type === '') errors.push(required(at.child('type'), 'must specify a metric source type'));
  const known = types.includes(type);
  // Upstream looks twice, and says so twice.
  if (!known) errors.push(notSupported(at.child('type'), type, types));
  const present = sources.filter((source) => metric[source] != null);
  if (present[0]) errors.push(...validateSource(at.child(present[0]), metric, present[0]));
  const expected = known ? ((type[0]!.toLowerCase() + type.slice(1)) as Source) : undefined;
  if (!expected) errors.push(notSupported(at.child('type'), type, types));
  else if (metric[expected] == null) {
    errors.push(required(at.child(expected), 'must populate information for the given metric source'));
  }
  if (present.length === 1) return errors;
  for (const source of present) {
    if (source !== expected) errors.push(forbidden(at.child(source), 'must populate the given metric source only'));
  }
  return errors;
}

function validateSource(at: FieldPath, metric: MetricSpec, source: Source): FieldError[] {
  if (source === 'resource') return validateResource(at, metric.resource!);
  if (source === 'containerResource') return validateContainerResource(at, metric.containerResource!);
  const { metric: identifier, target } = metric[source]!;
  const errors: FieldError[] = [];
  if (source === 'object') {
    errors.push(
      ...validateReference(at.child('describedObject'), metric.object!.describedObject, { emptyGroup: true }),
    );
  }
  errors.push(...validateIdentifier(at.child('metric'), identifier), ...validateTarget(at.child('target'), target));
  const { value, averageValue } = target ?? {};
  const average = at.child('target').child('averageValue');
  if (source === 'pods') {
    return averageValue != null
      ? errors
      : [...errors, required(average, 'must specify a positive target averageValue')];
  }
  if (value == null && averageValue == null) {
    const either = source === 'object' ? 'value or averageValue' : 'value for metric or a per-pod target';
    errors.push(required(average, `must set either a target ${either}`));
  }
  if (source === 'external' && value != null && averageValue != null) {
    const message = 'may not set both a target value for metric and a per-pod target';
    errors.push(forbidden(at.child('target').child('value'), message));
  }
  return errors;
}

function validateContainerResource(at: FieldPath, source: ContainerResourceMetricSource): FieldError[] {
  const errors: FieldError[] = [];
  if (source.name) errors.push(...validateContainerResourceName(at.child('name'), source.name));
  if (source.container)
    errors.push(...refused(at.child('container'), source.container, dns1123Label(source.container)));
  const missing: FieldError[] = [];
  if (!source.name) missing.push(required(at.child('name'), 'must specify a resource name'));
  if (!source.container) missing.push(required(at.child('container'), 'must specify a container'));
  return [...missing, ...errors, ...validateUtilization(at.child('target'), source.target)];
}

function validateResource(at: FieldPath, source: ResourceMetricSource): FieldError[] {
  const errors = source.name ? [] : [required(at.child('name'), 'must specify a resource name')];
  return [...errors, ...validateUtilization(at.child('target'), source.target)];
}

function validateUtilization(at: FieldPath, target: MetricTarget): FieldError[] {
  const errors = validateTarget(at, target);
  const { averageUtilization, averageValue } = target ?? {};
  if (averageUtilization == null && averageValue == null) {
    const message = 'must set either a target raw value or a target utilization';
    errors.push(required(at.child('averageUtilization'), message));
  } else if (averageUtilization != null && averageValue != null) {
    const message = 'may not set both a target raw value and a target utilization';
    errors.push(forbidden(at.child('averageValue'), message));
  }
  return errors;
}

function validateTarget(at: FieldPath, target: MetricTarget | undefined): FieldError[] {
  const { type = '', averageUtilization } = target ?? {};
  const errors: FieldError[] = [];
  if (type === '') errors.push(required(at.child('type'), 'must specify a metric target type'));
  if (!['Utilization', 'Value', 'AverageValue'].includes(type)) {
    errors.push(invalid(at.child('type'), type, 'must be either Utilization, Value, or AverageValue'));
  }
  for (const field of ['value', 'averageValue'] as const) {
    const amount = target?.[field];
    if (amount != null && quantityOrZero(amount).sign !== 1) {
      errors.push(invalid(at.child(field), amount, 'must be positive'));
    }
  }
  if (averageUtilization != null && averageUtilization < 1) {
    errors.push(invalid(at.child('averageUtilization'), averageUtilization, 'must be greater than 0'));
  }
  return errors;
}

/** As upstream, which takes any selector: who asks for the metric finds out what it is worth. */
function validateIdentifier(at: FieldPath, { name }: MetricIdentifier): FieldError[] {
  return name
    ? refused(at.child('name'), name, pathSegmentName(name))
    : [required(at.child('name'), 'must specify a metric name')];
}

export interface ReferenceOptions {
  /** Whether the core group, which has no name, will do. */
  readonly emptyGroup: boolean;
}

export function validateReference(
  at: FieldPath,
  { kind, name, apiVersion = '' }: CrossVersionObjectReference,
  { emptyGroup }: ReferenceOptions,
): FieldError[] {
  const errors = [...validatePathSegment(at.child('kind'), kind), ...validatePathSegment(at.child('name'), name)];
  const [group, ...more] = apiVersion.split('/');
  if (more.length > 1) {
    errors.push(invalid(at.child('apiVersion'), apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  } else if (!emptyGroup && (more.length === 0 || group === '')) {
    errors.push(invalid(at.child('apiVersion'), apiVersion, 'apiVersion must specify API group'));
  }
  return errors;
}
